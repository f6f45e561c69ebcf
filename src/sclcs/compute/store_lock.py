"""Who may write to a store at the same time.

One computation at a time, or several shares of the same one (:class:`Share`), which own
disjoint pieces. The locks belong to the operating system: they vanish with the process that holds
them, however it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from sclcs.core.arguments import checked, checked_methods, checked_record
from sclcs.core.errors import InputError, StoreInUseError
from sclcs.core.files import explain_write_errors
from sclcs.core.identity import Identity

__all__ = ["Share", "StoreLock"]

FOLDER = ".lock"
SECONDS_FOR_A_START = 60  # shares start together and prepare the store one after another
MOST_SHARES = 100_000  # more than any batch system takes in one array


@checked_methods
@checked_record
@dataclass(frozen=True)
class Share:
    """One of several equal parts of the pieces of a computation.

    Parameters
    ----------
    number : int
        From 1 to `count`.
    count : int
        Number of parts.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InputError(
                f"Expected a share from 1/{self.count} to {self.count}/{self.count}, "
                f"got {self.number}/{self.count}."
            )
        if self.count > MOST_SHARES:
            raise InputError(f"Expected at most {MOST_SHARES} shares, got {self.count}.")

    @classmethod
    @checked
    def parse(cls, text: str) -> Share:
        """Read a share as written on the command line, for example ``3/8``."""
        number, slash, count = text.partition("/")
        if not (slash and number.strip().isdecimal() and count.strip().isdecimal()):
            raise InputError(
                f"Expected a share of the tasks as i/n, for example 3/8, got {text!r}."
            )
        return cls(int(number), int(count))


class StoreLock:
    """The right to write to a store.

    Parameters
    ----------
    store : Path
        The store's folder.
    share : Share, optional
        Which part of the work; None for all of it.
    identity : Identity
        Of the computation: shares cooperate only if they agree on it.
    """

    def __init__(self, store: Path, share: Share | None, identity: Identity) -> None:
        self._store = store
        self._share = share
        digits = identity.digest(8)
        self._suffix = "" if share is None else f"-of-{share.count}-{digits}"
        self._folder = store / FOLDER
        self._whole = FileLock(self._folder / "whole")
        self._own = (
            self._whole
            if share is None
            else FileLock(self._folder / f"share-{share.number}{self._suffix}")
        )

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Hold the store alone, then hold what the work needs until :meth:`release`."""
        with explain_write_errors(self._store):
            self._folder.mkdir(exist_ok=True)
        self._acquire(self._whole, 0 if self._share is None else SECONDS_FOR_A_START)
        try:
            self._refuse_others()
            if self._share is not None:
                self._acquire(self._own, 0)
            yield
        except BaseException:
            self.release()
            raise
        finally:
            if self._share is not None:
                self._whole.release()

    def release(self) -> None:
        """Let others in."""
        self._own.release()

    def _refuse_others(self) -> None:
        """Refuse if shares of another computation are at work; new ones cannot start meanwhile."""
        for path in sorted(self._folder.glob("share-*")):
            if self._share is not None and path.name.endswith(self._suffix):
                continue
            lock = FileLock(path)
            self._acquire(lock, 0)
            lock.release()

    def _acquire(self, lock: FileLock, seconds: float) -> None:
        try:
            lock.acquire(timeout=seconds)
        except Timeout as error:
            raise StoreInUseError(
                f"Another process is computing into {self._store} right now (it holds "
                f"{Path(lock.lock_file).name}); wait until it ends, or stop it. Several processes "
                "may share one run with --task-range i/n."
            ) from error
