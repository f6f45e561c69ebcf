"""The array that all kernels work on, how they are compiled, and where the result is kept."""

from __future__ import annotations

import gc
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sclcs._core import bytes_digest

__all__ = [
    "ZERO",
    "Array",
    "fused_kernel",
    "garbage_left_alone",
    "kernel",
    "kernels_kept_for",
    "raising_kernel",
    "reducing_kernel",
    "sources_of",
]


Array = NDArray[np.float64]

#: For the arguments of kernels: numba compiles a kernel once more for a literal 0.
ZERO = cast("int", np.int64(0))


#: A folder that nobody used for so long, and that is not among the newest, is removed.
KEPT_FOLDERS = 3
KEPT_SECONDS = 30 * 24 * 3600.0
_lock = threading.Lock()


@contextmanager
def kernels_kept_for(source: Path) -> Iterator[bool]:
    """Let what numba is asked to compile here be kept in the folder of its sources.

    Parameters
    ----------
    source : Path
        The file that the kernel stands in.

    Yields
    ------
    bool
        Whether kernels can be kept; not where the user's cache folder cannot be written to.
    """
    import numba

    config: Any = numba.config
    with _lock:
        users = config.CACHE_DIR
        folder = _folder(source.parent, users)
        config.CACHE_DIR = users if folder is None else str(folder)
        try:
            yield folder is not None
        finally:
            config.CACHE_DIR = users


def sources_of(source: Path) -> list[Path]:
    """Return the files that a kernel in a file may be made from."""
    return _sources(source.parent)


def _sources(package: Path) -> list[Path]:
    folders = sorted({package, Path(__file__).parent})
    return [file for folder in folders for file in sorted(folder.glob("*.py"))]


@cache
def _folder(package: Path, users: str) -> Path | None:
    """Return the folder of a package's kernels, made and known to be writable, or None."""
    digest = bytes_digest(b"\0".join(f.read_bytes() for f in _sources(package)))
    home = (Path(users) if users else _user_folder()) / f"sclcs-{package.name}"
    folder = home / digest
    try:
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)  # when it was last used
        (folder / f".{os.getpid()}").touch()
        (folder / f".{os.getpid()}").unlink()
    except OSError:
        return None
    if made:
        _remove_unused(home)
    return folder


def _user_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("sclcs", appauthor=False)) / "kernels"


def _remove_unused(home: Path) -> None:
    """Remove folders of sources that are gone; another process may do the same."""
    try:
        used = sorted(((path.stat().st_mtime, path) for path in home.iterdir()), reverse=True)
    except OSError:
        return
    for seconds, path in used[KEPT_FOLDERS:]:
        if seconds < time.time() - KEPT_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def garbage_left_alone() -> Iterator[None]:
    """Pause the garbage collector, for a block in which kernels may be compiled.

    The compiler makes millions of objects that live until it is done, and each collection walks
    them all in vain: a seventh of the time of compiling.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_Function = TypeVar("_Function", bound=Callable[..., object])


def kernel(function: _Function) -> _Function:
    """Compile a loop with strict IEEE arithmetic."""
    return _compiled(function, error_model="numpy")


def raising_kernel(function: _Function) -> _Function:
    """Compile a loop with strict IEEE arithmetic in which division by zero is an error.

    For searches, where a NaN would compare as "not worse" and be kept.
    """
    return _compiled(function)


def reducing_kernel(function: _Function) -> _Function:
    """Compile a loop whose sums may be re-associated.

    Re-association lets LLVM keep several partial sums in one vector register, which is worth a
    factor of about four for dot products. NaN, infinities and signed zeros keep their meaning.
    """
    return _compiled(function, error_model="numpy", fastmath={"reassoc", "contract"})


def fused_kernel(function: _Function) -> _Function:
    """Compile a loop in which a product and a sum may be rounded once, in their given order.

    For arithmetic that depends on the order of its operations (splitting an exponent off a
    number, say), where re-association would be wrong.
    """
    return _compiled(function, error_model="numpy", fastmath={"contract"})


def _compiled(function: _Function, **flags: Any) -> _Function:  # noqa: ANN401
    from numba import njit  # here, so that reading the catalogue does not load a compiler

    flags |= {"nogil": True, "no_cfunc_wrapper": True}  # nobody calls them from C
    with kernels_kept_for(Path(function.__code__.co_filename)) as kept:
        return cast("_Function", njit(cache=kept, **flags)(function))
