"""Workers that share blocks of samples; each does its arithmetic on one thread.

torch's own threads share every single operation, wait for each other after each, and burn
processor time while they wait: more than the work itself for operations as small as ours.
Blocks of samples are independent, so here each worker takes whole blocks. Blocks are the
same for any number of workers and their results are added in order, so the bits do not
depend on the number of workers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

from sclcs.encoder.attention import Workspace

__all__ = ["Crew", "crew_of"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Crew:
    """Some workers with working memory of their own.

    Parameters
    ----------
    n_workers : int
        How many; one works without any thread.
    """

    def __init__(self, n_workers: int = 1) -> None:
        self._pool = ThreadPoolExecutor(n_workers) if n_workers > 1 else None
        self._local = threading.local()
        self._kept: dict[int, Workspace] = {}

    @property
    def workspace(self) -> Workspace:
        """The working memory of the worker that asks."""
        if not hasattr(self._local, "workspace"):
            self._local.workspace = Workspace()
        found: Workspace = self._local.workspace
        return found

    def kept(self, block: int) -> Workspace:
        """Return memory whose content stays until the same block of the next batch.

        The backward pass of a batch must come before the forward pass of the next.
        """
        return self._kept.setdefault(block, Workspace())

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Do the work for every item without gradients; results are in the items' order."""

        def quietly(item: Item) -> Result:
            with torch.no_grad():  # a new thread would record gradients
                return work(item)

        mapper = map if self._pool is None else self._pool.map
        return list(mapper(quietly, items))

    def close(self) -> None:
        """Send the workers home."""
        if self._pool is not None:
            self._pool.shutdown()


@contextmanager
def crew_of(n_workers: int) -> Iterator[Crew]:
    """Give a crew, and let torch use one thread per operation inside the block."""
    threads = torch.get_num_threads()
    crew = Crew(n_workers)
    torch.set_num_threads(1)
    try:
        yield crew
    finally:
        crew.close()
        torch.set_num_threads(threads)
