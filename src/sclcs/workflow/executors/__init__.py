"""Ways to run independent tasks: on this machine, or on a Dask cluster.

Tasks are idempotent and write their own results, so an executor needs no memory of its own:
it prepares every machine once, then calls a function on every item and yields what it
returns as it comes, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol, Self, TypeVar

__all__ = ["Executor"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(AbstractContextManager["Executor"], Protocol):
    """What runs tasks; used in a ``with`` block."""

    def __enter__(self) -> Self:
        """Make contact with the workers."""

    def prepare(self, function: Callable[[], None]) -> None:
        """Call a function once on every machine; it compiles the kernels."""

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Call a function on every item; the results come in any order."""
