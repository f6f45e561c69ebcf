"""Inverses of symmetric matrices."""

from __future__ import annotations

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.ordered import inverse

__all__ = ["inverse_from_spectrum", "pseudo_inverse", "stable_inverse"]


def inverse_from_spectrum(values: Array, vectors: Array) -> Array:
    """Invert V diag(values) Vᵀ, leaving out what is zero up to rounding.

    Eigenvalues not above n · eps times the largest (in absolute value) count as zero, so a
    singular matrix gets its pseudo-inverse.

    Parameters
    ----------
    values : array, shape (n,)
        Eigenvalues.
    vectors : array, shape (n, n)
        Eigenvectors, in columns.

    Returns
    -------
    array, shape (n, n)
    """
    sizes = np.abs(values)
    kept = sizes > sizes.max() * values.size * np.finfo(np.float64).eps
    basis = vectors[:, kept]
    product: Array = (basis / values[kept]) @ basis.T
    return (product + product.T) / 2.0


def pseudo_inverse(matrix: Array) -> Array:
    """Return the pseudo-inverse of a symmetric matrix (NaN if an entry is not finite)."""
    if not np.isfinite(matrix).all():
        return np.full_like(matrix, np.nan)
    values, vectors = np.linalg.eigh(matrix)
    return inverse_from_spectrum(values, vectors)


def stable_inverse(matrix: Array) -> Array:
    """Return the inverse with the same digits on every processor, if it is positive definite."""
    found = inverse(np.ascontiguousarray(matrix))
    return found if np.isfinite(found).all() else pseudo_inverse(matrix)
