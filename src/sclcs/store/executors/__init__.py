"""Who does the work: processes of this machine, a Dask cluster, array jobs of SLURM.

Pieces of work are idempotent and write their own results, so an executor needs no memory of its
own. A file of this folder is an executor: its ``KIND`` says what the user writes (``--on
NAME:ARGUMENT``) and how to begin. Nothing else in the package names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol, Self, TypeVar

from sclcs._core import InputError, UnknownNameError
from sclcs.settings import DEFAULT_EXECUTOR

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(AbstractContextManager["Executor"], Protocol):
    """What does work while we wait; used in a ``with`` block.

    It prepares every machine once, then calls a function on every item and yields what it
    returns as it comes, in any order.
    """

    def __enter__(self) -> Self:
        """Make contact with the workers."""

    def prepare(self, functions: Sequence[Callable[[], None]]) -> None:
        """Call functions once on every machine, in any order; they compile the kernels."""

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Call a function on every item; the results come in any order."""


@dataclass(frozen=True)
class ExecutorKind:
    """A row of the list of executors.

    Parameters
    ----------
    name : str
        What the user writes before the colon.
    argument : str
        What comes after it, in words.
    example : str
        Of what the user writes.
    start : callable
        From the argument and the folder of the FC store to an executor.
    check : callable
        Raises if the argument cannot be used.
    processes : callable
        From the argument to the number of processes of *this* machine that may be used.
    elsewhere : bool
        Whether workers may be other machines, which see nothing but files.
    reach : callable
        Raises if nobody answers; called before anything is made.
    from_anywhere : callable
        From the argument to one that means the same in every folder.
    """

    name: str
    argument: str
    example: str
    start: Callable[[str, Path], Executor]
    check: Callable[[str], object] = str
    processes: Callable[[str], int] = field(default=lambda _argument: 1)
    elsewhere: bool = False
    reach: Callable[[str], object] = str
    from_anywhere: Callable[[str], str] = str


@dataclass(frozen=True)
class ExecutorChoice:
    """An executor with its argument, as the user wrote it."""

    kind: ExecutorKind
    argument: str

    def __str__(self) -> str:
        return f"{self.kind.name}:{self.argument}"

    @property
    def processes(self) -> int:
        """How many processes (or threads) may be used here."""
        return self.kind.processes(self.argument)

    def reach(self) -> None:
        """Raise if nobody answers there."""
        self.kind.reach(self.argument)

    def from_anywhere(self) -> ExecutorChoice:
        """Return the same choice, to be read in any folder."""
        return ExecutorChoice(self.kind, self.kind.from_anywhere(self.argument))

    def start(self, store: Path) -> Executor:
        """Return the executor that fills a store."""
        return self.kind.start(self.argument, store)


@cache
def executor_kinds() -> Mapping[str, ExecutorKind]:
    """Return all executors by name: the modules of this folder."""
    names = sorted(module.name for module in iter_modules(__path__))
    kinds = [import_module(f"{__name__}.{name}").KIND for name in names]
    return {kind.name: kind for kind in kinds}


def find_executor(on: str | None = None) -> ExecutorChoice:
    """Return the executor that a string such as ``local:4`` names; one process if None."""
    name, colon, argument = (DEFAULT_EXECUTOR if on is None else on).partition(":")
    kinds = executor_kinds()
    if name not in kinds:
        examples = ", ".join(kind.example for kind in kinds.values())
        raise UnknownNameError(f"Unknown executor {name!r}; the known ones are {examples}.")
    kind = kinds[name]
    if not colon or not argument:
        raise InputError(f"Expected {kind.argument} after {name}:, for example {kind.example}.")
    kind.check(argument)
    return ExecutorChoice(kind, argument)
