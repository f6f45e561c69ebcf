"""Work on a Dask cluster: any number of machines that see the same files."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import islice
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from sclcs._core import InputError, WorkerDiedError, import_extra
from sclcs.store.executors import ExecutorKind

Item = TypeVar("Item")
Result = TypeVar("Result")

SECONDS_TO_CONNECT = 30
SECONDS_TO_REACH = 5
SECONDS_TO_CLOSE = 5
FEWEST_IN_FLIGHT = 64
IN_FLIGHT_PER_THREAD = 4
BATCHES_PER_THREAD = 8  # so many at least, for the threads to end together
LARGEST_BATCH = 16


class DaskExecutor:
    """Do the work on the workers of a Dask scheduler.

    What a worker was doing when it died is done again by another one. Many small pieces travel
    together, and only a bounded number of such batches is on the cluster at any moment, so that
    any number of pieces is no burden to the scheduler.
    """

    def __init__(self, scheduler: str) -> None:
        self._distributed = import_extra("distributed", "dask")
        self._scheduler = scheduler
        self._client: Any = None

    def __enter__(self) -> Self:
        try:
            self._client = self._distributed.Client(
                self._scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False
            )
        except (OSError, ValueError) as error:
            raise InputError(_silent(self._scheduler, error)) from error
        try:
            self._client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
        except TimeoutError as error:
            self._client.close()
            raise InputError(
                f"The Dask scheduler at {self._scheduler} has no workers; start some with "
                f"`dask worker {self._scheduler} --nthreads 1`."
            ) from error
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._client.close(timeout=SECONDS_TO_CLOSE)
        if isinstance(error, CancelledError | self._distributed.comm.core.CommClosedError):
            raise WorkerDiedError(
                f"The Dask scheduler at {self._scheduler} was lost; no finished work is. Start "
                "it and its workers again, and run the same command."
            ) from error
        if isinstance(error, self._distributed.KilledWorker):
            raise WorkerDiedError(
                "A piece of work outlived several Dask workers, most often because they ran out of "
                f"memory ({error}); no finished work is lost. Give the workers more memory and "
                "run the same command again."
            ) from error
        if isinstance(error, ImportError):
            raise InputError(
                f"The Dask workers cannot import what they need ({error}); install the same "
                "sclcs in their environment."
            ) from error

    def prepare(self, functions: Sequence[Callable[[], None]]) -> None:
        """Compile on one worker of each machine; the others find the kernels on its disk."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        one_per_host = {worker["host"]: address for address, worker in workers.items()}
        futures = [
            self._client.submit(
                _call_all, list(functions), pure=False, workers=[address], allow_other_workers=True
            )
            for address in one_per_host.values()
        ]
        self._client.gather(futures)

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Call a function on every item; the results come in any order."""
        threads = max(1, sum(self._client.nthreads().values()))
        waiting = _batches(list(items), threads)
        limit = max(FEWEST_IN_FLIGHT, IN_FLIGHT_PER_THREAD * threads)
        in_flight = {self._submit(function, batch) for batch in islice(waiting, limit)}
        finished = self._distributed.as_completed(in_flight, loop=self._client.loop)
        try:
            for future in finished:
                in_flight.discard(future)
                yield from future.result()
                for batch in islice(waiting, 1):
                    following = self._submit(function, batch)
                    in_flight.add(following)
                    finished.add(following)
        finally:
            if in_flight and self._client.status == "running":
                self._client.cancel(list(in_flight))

    def _submit(self, function: Callable[[Item], Result], batch: list[Item]) -> Any:  # noqa: ANN401
        return self._client.submit(_call_each, function, batch, pure=False)


def _call_all(functions: Sequence[Callable[[], None]]) -> None:
    for function in functions:
        function()


def _batches(items: list[Item], threads: int) -> Iterator[list[Item]]:
    """Cut items into batches: none so large that some threads would wait for others."""
    size = min(LARGEST_BATCH, max(1, len(items) // (BATCHES_PER_THREAD * threads)))
    return (items[start : start + size] for start in range(0, len(items), size))


def _call_each(function: Callable[[Item], Result], batch: list[Item]) -> list[Result]:
    return [function(item) for item in batch]


def reach_scheduler(address: str) -> None:
    """Raise if nothing listens at an address; Dask itself would try for half a minute."""
    url = urlsplit(address if "//" in address else f"tcp://{address}")
    if url.scheme not in {"tcp", "tls"}:
        return  # other transports are Dask's own business
    try:
        where = url.hostname or "", url.port or 0
        socket.create_connection(where, SECONDS_TO_REACH).close()
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(_silent(address, error)) from error


def _silent(address: str, error: Exception) -> str:
    return (
        f"No Dask scheduler answers at {address} ({error}); start one with `dask scheduler` and "
        "give its address, for example tcp://127.0.0.1:8786."
    )


KIND = ExecutorKind(
    name="dask",
    argument="the address of a Dask scheduler",
    example="dask:tcp://10.0.0.1:8786",
    start=lambda argument, _store: DaskExecutor(argument),
    elsewhere=True,
    reach=reach_scheduler,
)
