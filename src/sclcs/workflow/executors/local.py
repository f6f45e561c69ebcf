"""Tasks on the processors of this machine."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sclcs.core.errors import InputError, WorkerDiedError

__all__ = ["count_processes", "run_local"]

Item = TypeVar("Item")
Result = TypeVar("Result")

WAITING_PER_PROCESS = 2  # tasks handed over before they are needed


def count_processes(jobs: int) -> int:
    """Return the number of processes; -1 means one per processor."""
    if jobs == -1:
        import joblib

        return int(joblib.cpu_count())
    if jobs < 1:
        raise InputError(f"The number of jobs must be positive, or -1 for all processors: {jobs}.")
    return jobs


def run_local(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    jobs: int,
    before: Callable[[], None],
) -> Iterator[Result]:
    """Run tasks in this process (one job) or in several.

    The processes are the only level of parallelism: BLAS and numba use one thread in each.

    Parameters
    ----------
    function : callable
        What to do with an item; importable.
    items : iterable
        The inputs.
    jobs : int
        Number of processes; -1 for one per processor.
    before : callable
        Called once, before the first task: it compiles the kernels.

    Yields
    ------
    object
        Results, in the order in which they are ready.
    """
    processes = count_processes(jobs)
    if processes == 1:
        before()
        yield from map(function, items)
    else:
        yield from _run_processes(function, items, processes, before)


def _run_processes(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    processes: int,
    before: Callable[[], None],
) -> Generator[Result, None, None]:
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        pool = joblib.Parallel(
            n_jobs=processes,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=WAITING_PER_PROCESS * processes,
        )
        try:
            # One process compiles and fills the cache on disk, then all of them read it.
            list(pool([joblib.delayed(_undisturbed)(before)]))
            results = pool(joblib.delayed(_undisturbed)(function, item) for item in items)
            with _closed_at_the_end(results):
                yield from results
        except TerminatedWorkerError as error:
            raise WorkerDiedError(
                "A worker process was killed, most often because memory ran out; no finished "
                "work is lost. Run the same command again, with fewer --jobs if it happens again."
            ) from error


@contextmanager
def _closed_at_the_end(results: Generator[Any, None, None]) -> Iterator[None]:
    try:
        yield
    finally:
        results.close()  # after an interruption this ends the workers


def _undisturbed(function: Callable[..., Result], *arguments: object) -> Result:
    # Ctrl-C reaches every process of a terminal; the parent alone decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return function(*arguments)
