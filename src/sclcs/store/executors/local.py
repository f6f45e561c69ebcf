"""Work on the processors of this machine."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any, Self, TypeVar

from sclcs._core import InputError, WorkerDiedError, ctrl_c_blocked
from sclcs.store.executors import ExecutorKind

Item = TypeVar("Item")
Result = TypeVar("Result")

WAITING_PER_PROCESS = 2  # pieces handed over before they are needed
SECONDS_BETWEEN_LOOKS = 1.0  # of a worker at its parent
#: More are a slip of the hand: starting them alone would take longer than any work. Plans and
#: configurations may be made on a smaller machine than the one that works.
MOST_PROCESSES, MOST_PER_PROCESSOR = 1024, 16


def process_count(text: str | int) -> int:
    """Return a number of processes as the user wrote it; -1 means one per processor."""
    import joblib

    try:
        number = int(text)
    except ValueError:
        number = 0
    processors = int(joblib.cpu_count())
    if number == -1:
        return processors
    if number < 1:
        raise InputError(
            f"The number of processes must be positive, or -1 for one per processor, got {text!s}."
        )
    most = max(MOST_PROCESSES, MOST_PER_PROCESSOR * processors)
    if number > most:
        raise InputError(
            f"{number} processes are too many for this machine with {processors} processors; ask "
            f"for at most {most}, or for -1: one per processor."
        )
    return number


class LocalExecutor:
    """Do the work in this process (one job) or in several.

    The processes are the only level of parallelism: BLAS and numba use one thread in each.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = process_count(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def prepare(self, functions: Sequence[Callable[[], None]]) -> None:
        """Let the processes compile and fill the cache on disk, each something else."""
        if self._jobs == 1:
            for function in functions:
                function()
            return
        for _ in self.run(_call, functions):
            pass

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Call a function on every item; the results come in any order."""
        if self._jobs == 1:
            yield from map(function, items)
            return
        import joblib
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        with _workers_ignore_ctrl_c():
            results = self._pool(joblib.delayed(_undisturbed)(function, item) for item in items)
        try:
            yield from results
        except TerminatedWorkerError as error:
            raise WorkerDiedError(
                "A worker process was killed, most often because memory ran out; no finished "
                "work is lost. Run the same command again, with fewer processes (--on local:N) if "
                "it happens again."
            ) from error
        finally:
            results.close()  # after an interruption this ends the workers

    @cached_property
    def _pool(self) -> Any:  # noqa: ANN401 (joblib has no types)
        import joblib

        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            return joblib.Parallel(
                n_jobs=self._jobs,
                return_as="generator_unordered",
                batch_size=1,
                pre_dispatch=WAITING_PER_PROCESS * self._jobs,
            )


@contextmanager
def _workers_ignore_ctrl_c() -> Iterator[None]:
    """Start processes that never see Ctrl-C, else each of them would show a traceback.

    They inherit what is blocked here. The trackers of shared memory undo that when they start,
    so they are started first.
    """
    if os.name == "posix":
        from multiprocessing import resource_tracker

        from joblib.externals.loky.backend import resource_tracker as loky_tracker

        resource_tracker.ensure_running()
        loky_tracker.ensure_running()
    with ctrl_c_blocked():
        yield


def _call(function: Callable[[], None]) -> None:
    function()


@cache
def _end_with_the_parent() -> None:
    """Let a worker end soon after the process that it works for, even if that one was killed.

    Else workers of a killed command would wait for minutes, with its output held open.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)  # whatever is written is written whole or not at all

    threading.Thread(target=watch, daemon=True).start()


def _undisturbed(function: Callable[[Item], Result], item: Item) -> Result:
    _end_with_the_parent()
    # Ctrl-C reaches every process of a terminal; the parent alone decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return function(item)


KIND = ExecutorKind(
    name="local",
    argument="the number of processes (-1 for one per processor)",
    example="local:4",
    start=lambda argument, _store: LocalExecutor(process_count(argument)),
    check=process_count,
    processes=process_count,
)
