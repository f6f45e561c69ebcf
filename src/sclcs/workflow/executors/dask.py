"""Tasks on a Dask cluster: any number of machines that see the same files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from sclcs.core.errors import InputError, WorkerDiedError
from sclcs.core.optional import import_extra

__all__ = ["run_dask"]

Item = TypeVar("Item")
Result = TypeVar("Result")

SECONDS_TO_CONNECT = 30
FEWEST_IN_FLIGHT = 64
IN_FLIGHT_PER_THREAD = 4


def run_dask(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    scheduler: str,
    before: Callable[[], None],
) -> Iterator[Result]:
    """Run tasks on the workers of a Dask scheduler.

    A task whose worker dies is run again by another one. Only a bounded number of tasks is
    on the cluster at any moment, so that millions of them are no burden to the scheduler.

    Parameters
    ----------
    function : callable
        What to do with an item; importable by the workers.
    items : iterable
        The inputs.
    scheduler : str
        Address, for example ``tcp://10.0.0.1:8786``.
    before : callable
        Called once on every machine, before the first task: it compiles the kernels.

    Yields
    ------
    object
        Results, in the order in which they are ready.
    """
    distributed = import_extra("distributed", "dask")
    client = _connect(distributed, scheduler)
    try:
        _once_per_machine(distributed, client, before)
        yield from _bounded(distributed, client, function, iter(items))
    except distributed.KilledWorker as error:
        raise WorkerDiedError(
            f"A task outlived several Dask workers, most often because they ran out of memory "
            f"({error}); no finished work is lost. Give the workers more memory and run the same "
            "command again."
        ) from error
    except ImportError as error:
        raise InputError(
            f"The Dask workers cannot import what they need ({error}); install the same sclcs "
            "in their environment."
        ) from error
    finally:
        client.close()


def _connect(distributed: Any, scheduler: str) -> Any:  # noqa: ANN401 (optional package)
    try:
        client = distributed.Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No Dask scheduler answers at {scheduler} ({error}); start one with `dask scheduler` "
            "and give its address, for example tcp://127.0.0.1:8786."
        ) from error
    try:
        client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
    except TimeoutError as error:
        client.close()
        raise InputError(
            f"The Dask scheduler at {scheduler} has no workers; start some with "
            f"`dask worker {scheduler} --nthreads 1`."
        ) from error
    return client


def _once_per_machine(distributed: Any, client: Any, before: Callable[[], None]) -> None:  # noqa: ANN401
    """Compile on one worker of each machine; the others find the kernels on its disk."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    by_host = {facts["host"]: address for address, facts in workers.items()}
    futures = [
        client.submit(before, pure=False, workers=[address], allow_other_workers=True)
        for address in by_host.values()
    ]
    distributed.wait(futures)
    for future in futures:
        future.result()


def _bounded(
    distributed: Any,  # noqa: ANN401
    client: Any,  # noqa: ANN401
    function: Callable[[Item], Result],
    items: Iterator[Item],
) -> Iterator[Result]:
    limit = max(FEWEST_IN_FLIGHT, IN_FLIGHT_PER_THREAD * sum(client.nthreads().values()))
    in_flight = {client.submit(function, item, pure=False) for item in islice(items, limit)}
    finished = distributed.as_completed(in_flight)
    try:
        for future in finished:
            in_flight.discard(future)
            yield future.result()
            for item in islice(items, 1):
                following = client.submit(function, item, pure=False)
                in_flight.add(following)
                finished.add(following)
    finally:
        if in_flight:
            client.cancel(list(in_flight))
