"""One message for files that a parser chokes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sclcs.core.errors import SclcsError, UnreadableFileError

__all__ = ["explain_damage"]


@contextmanager
def explain_damage(path: Path, expected: str) -> Iterator[None]:
    """Turn whatever a parser raises into an :class:`UnreadableFileError` that names the file.

    Parameters
    ----------
    path : Path
        The file being parsed.
    expected : str
        What it should be, for example ``"a MATLAB file"``.
    """
    try:
        yield
    except SclcsError:
        raise
    # Fed with damaged bytes, the parsers of zip, xml, HDF5 and MATLAB files raise anything, from
    # zlib.error to UnboundLocalError; so the block must hold calls of a parser only.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise UnreadableFileError(
            f"Expected {expected} in {path}, but it is truncated, damaged or of another format "
            f"({reason}); fetch or save it again."
        ) from error
