"""How every kernel of the project is compiled: the one place with flags.

Every kernel is compiled on first use (never at import), cached on disk and releases the GIL.
Division follows IEEE (``1 / 0`` is infinite) but in a `raising_kernel`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from sclcs.numerics.kernel_cache import stamp_with_sources

__all__ = ["fused_kernel", "kernel", "raising_kernel", "reducing_kernel"]

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
    compiled = njit(nogil=True, cache=True, **flags)(function)
    stamp_with_sources(compiled)
    return cast("_Function", compiled)
