"""The package's errors.

Every error is a :class:`SclcsError` *and* the builtin that a caller would catch. A message says
what was expected, what was found (the first offenders by name) and what to do next. The command
line prints it on one line and exits with :attr:`SclcsError.exit_code`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType

SHOWN_OFFENDERS = 5


class SclcsError(Exception):
    """Base class of all errors raised on purpose by sclcs."""

    exit_code = 2


class InputError(SclcsError, ValueError):
    """The data or a parameter cannot be used as given."""


class UnknownNameError(InputError, KeyError):
    """A name (region set, column, operator, ...) is not one of the known ones."""

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0]) if self.args else ""


class NotFoundError(SclcsError, FileNotFoundError):
    """A file or folder does not exist."""


class UnreadableFileError(InputError, OSError):
    """A file exists but is truncated, damaged or of another format."""


class DamagedStoreError(UnreadableFileError):
    """A store's content does not match its checksum."""


class StoreInUseError(SclcsError, RuntimeError):
    """Another process is working on the same store."""


class WorkerDiedError(SclcsError, RuntimeError):
    """A process that was working for us ended without an answer."""


class OutputExistsError(SclcsError, FileExistsError):
    """The output is already there and would be overwritten."""


class WriteError(SclcsError, OSError):
    """An output could not be written (disk full, no permission)."""


class MissingDependencyError(SclcsError, ImportError):
    """An optional package is needed and not installed."""


class AxesWarning(UserWarning):
    """The axes of signals look swapped: there are more regions than time points."""


def import_extra(module: str, extra: str) -> ModuleType:
    """Import a module of an optional extra (``"nilearn.maskers"`` of ``"nifti"``).

    Raises
    ------
    MissingDependencyError
        If the package is not installed; it says how to install the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # the package is there, but something it needs is broken
        raise MissingDependencyError(
            f"{package} is needed here but not installed; install it with "
            f"`pip install 'sclcs[{extra}]'`."
        ) from error


def did_you_mean(name: str, known: Iterable[object]) -> str:
    """Return a question after the nearest known name, or nothing; case does not matter.

    Examples
    --------
    >>> did_you_mean("Diagnosys", ["age", "diagnosis"])
    ' Did you mean diagnosis?'
    """
    from difflib import get_close_matches

    by_lower = {str(one).lower(): str(one) for one in known}
    near = get_close_matches(name.lower(), list(by_lower), n=1)
    return f" Did you mean {by_lower[near[0]]}?" if near else ""


def name_first(offenders: Iterable[object], limit: int = SHOWN_OFFENDERS) -> str:
    """Name the first offenders (ids, files, regions) and count the rest.

    Examples
    --------
    >>> name_first(["s1", "s2"])
    's1, s2'
    >>> name_first(range(7), limit=2)
    '0, 1 and 5 more'
    """
    names = [str(offender) for offender in offenders]
    shown = ", ".join(names[:limit])
    hidden = len(names) - limit
    return f"{shown} and {hidden} more" if hidden > 0 else shown
