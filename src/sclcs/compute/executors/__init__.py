"""Who does the work: processes of this machine, a Dask cluster, a batch system.

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
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from sclcs.core.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from sclcs.compute.batch import BatchSystem
    from sclcs.compute.shares import Work

__all__ = [
    "DEFAULT",
    "Executor",
    "ExecutorChoice",
    "ExecutorKind",
    "Handover",
    "choose_executor",
    "executor_kinds",
    "find_executor",
]

Item = TypeVar("Item")
Result = TypeVar("Result")

DEFAULT = "local:1"


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
class Handover:
    """Work that was written down for somebody else to start.

    Parameters
    ----------
    facts : mapping
        For a program.
    sentences : sequence of str
        For a person.
    """

    facts: Mapping[str, Any]
    sentences: Sequence[str]


HandOver = Callable[[str, "Work", Sequence[str], Path], Handover]


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
    option : str
        An older option of the command line, and key of configuration files, that means the same.
    start : callable, optional
        From the argument to an executor that works while we wait.
    hand_over : callable, optional
        From the argument, the work, the command and a folder to files that say what to do.
    batch : callable, optional
        From the argument to a batch system, which can do whole runs while nobody waits.
    check : callable
        Raises if the argument cannot be used.
    processes : callable
        From the argument to the number of processes of *this* machine that may be used.
    elsewhere : bool
        Whether workers may be other machines, which see nothing but files.
    reach : callable
        Raises if nobody answers; called before anything is made.
    reach_batch : callable
        The same, before jobs are sent.
    from_anywhere : callable
        From the argument to one that means the same in every folder.
    """

    name: str
    argument: str
    example: str
    option: str = ""
    start: Callable[[str], Executor] | None = None
    hand_over: HandOver | None = None
    batch: Callable[[str], BatchSystem] | None = None
    check: Callable[[str], object] = str
    processes: Callable[[str], int] = field(default=lambda _argument: 1)
    elsewhere: bool = False
    reach: Callable[[str], object] = str
    reach_batch: Callable[[str], object] = str
    from_anywhere: Callable[[str], str] = str


@dataclass(frozen=True)
class ExecutorChoice:
    """An executor with its argument, as the user wrote it.

    Parameters
    ----------
    kind : ExecutorKind
    argument : str
    """

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

    def batch(self) -> BatchSystem | None:
        """Return the batch system that does whole runs; None if we wait for the work here."""
        return None if self.kind.batch is None else self.kind.batch(self.argument)

    def start(self) -> Executor:
        """Return the executor; one that cannot be waited for is an error."""
        if self.kind.start is None:
            waiting = [
                known.example for known in executor_kinds().values() if known.start is not None
            ]
            raise InputError(
                f"Work on {self.kind.name} is started by somebody else and cannot be waited for "
                f"here; choose --on {' or '.join(waiting)}."
            )
        return self.kind.start(self.argument)


@cache
def executor_kinds() -> Mapping[str, ExecutorKind]:
    """Return all executors by name: the modules of this folder."""
    names = sorted(module.name for module in iter_modules(__path__))
    kinds = [import_module(f"{__name__}.{name}").KIND for name in names]
    return {kind.name: kind for kind in kinds}


def find_executor(text: str) -> ExecutorChoice:
    """Return the executor that a text such as ``local:4`` names."""
    name, colon, argument = text.partition(":")
    if name not in executor_kinds():
        raise UnknownNameError(
            f"Unknown executor {name!r}; the known ones are {', '.join(_examples())}."
        )
    kind = executor_kinds()[name]
    if not colon or not argument:
        raise InputError(f"Expected {kind.argument} after {name}:, for example {kind.example}.")
    kind.check(argument)
    return ExecutorChoice(kind, argument)


def _examples() -> list[str]:
    return [kind.example for kind in executor_kinds().values()]


def choose_executor(on: str | None = None, **older: object) -> ExecutorChoice:
    """Return the executor that was asked for, in the new way or an older one.

    Parameters
    ----------
    on : str, optional
        For example ``"local:4"``.
    **older : object
        By the name of an older option, for example ``jobs=4``; None if it was not given.

    Returns
    -------
    ExecutorChoice
        This machine with one process if nothing was asked for.
    """
    given = {name: value for name, value in older.items() if value is not None}
    if on is not None:
        given["on"] = on
    if len(given) > 1:
        names = " and ".join(f"--{name}" for name in given)
        raise InputError(f"Choose one of {names}: each says who does the work.")
    for kind in executor_kinds().values():
        if kind.option in given:
            return find_executor(f"{kind.name}:{given[kind.option]}")
    return find_executor(str(given.get("on", DEFAULT)))
