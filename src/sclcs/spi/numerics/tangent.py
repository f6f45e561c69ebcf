"""Tangent-space connectivity: how a scan's covariance differs from the mean of a group.

The covariances of a group lie on a curved space; in the tangent space at their geometric mean G,
a covariance S is log(G^-1/2 S G^-1/2) (Varoquaux et al. 2010; Dadi et al. 2019; Pervaiz et al.
2020). G is learned from training scans, without labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError

__all__ = ["Tangent", "covariances", "geometric_mean", "ledoit_wolf"]

Floats = NDArray[np.float64]
MOST_STEPS = 50
TOLERANCE = 1e-10  # of the mean gradient; nilearn stops one step after 1e-7


def ledoit_wolf(series: Floats) -> Floats:
    """Return the shrunk covariance of a scan (time, region), as scikit-learn's ``LedoitWolf``.

    Ledoit & Wolf 2004, J Multivariate Anal 88:365.
    """
    n_times, n_regions = series.shape
    centred = series - series.mean(axis=0)
    empirical = centred.T @ centred / n_times
    level = float(np.trace(empirical)) / n_regions
    away = float((empirical**2).sum()) / n_regions - level**2
    squares = centred**2
    noise = float((squares.T @ squares).sum()) / n_times - float((empirical**2).sum())
    noise /= n_regions * n_times
    shrinkage = 0.0 if away <= 0 or noise <= 0 else min(noise, away) / away
    shrunk = (1 - shrinkage) * empirical
    shrunk.flat[:: n_regions + 1] += shrinkage * level
    return np.asarray(shrunk, dtype=np.float64)


def covariances(scans: Sequence[Floats]) -> Floats:
    """Return the Ledoit-Wolf covariances (scan, region, region) of scans (time, region)."""
    return np.stack([ledoit_wolf(np.asarray(scan, dtype=np.float64)) for scan in scans])


def _apply(matrices: Floats, function: Callable[[Floats], Floats]) -> Floats:
    """Apply a function to the eigenvalues of symmetric matrices."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray((vectors * function(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def geometric_mean(matrices: Floats) -> Floats:
    """Return the geometric mean of positive definite matrices (scan, region, region).

    The matrix whose logarithms of whitened matrices sum to zero; gradient descent with a step
    that is halved when it overshoots (Fletcher & Joshi 2007, as in Varoquaux et al. 2010).
    """
    mean, step, before = matrices.mean(axis=0), 1.0, np.inf
    for _ in range(MOST_STEPS):
        values, vectors = np.linalg.eigh(mean)
        root = (vectors * np.sqrt(values)) @ vectors.T
        white = (vectors / np.sqrt(values)) @ vectors.T
        gradient = _apply(white @ matrices @ white, np.log).mean(axis=0)
        size = float(np.linalg.norm(gradient))
        if size < TOLERANCE * mean.size:
            break
        if size > before:
            step /= 2.0
        before = size
        mean = np.asarray(root @ _apply(step * gradient, np.exp) @ root)
        mean = (mean + mean.T) / 2
    return np.asarray(mean, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Tangent:
    """The tangent space at the geometric mean of training scans.

    Parameters
    ----------
    mean : array, shape (region, region)
        The geometric mean; the reference.
    """

    mean: Floats

    @classmethod
    def fit(cls, matrices: Floats) -> Tangent:
        """Learn the reference from the covariances of training scans."""
        if len(matrices) < 2:
            raise InputError(
                "Tangent space needs at least 2 training scans to learn its reference from, "
                f"got {len(matrices)}."
            )
        return cls(geometric_mean(matrices))

    def transform(self, matrices: Floats) -> Floats:
        """Return covariances (scan, region, region) in the tangent space."""
        white = _apply(self.mean, _inverse_root)
        return _apply(white @ matrices @ white, np.log)

    def features(self, matrices: Floats) -> NDArray[np.float32]:
        """Return rows whose products are those of the tangent matrices.

        The lower triangle with the diagonal; entries off the diagonal count twice, as they
        stand in the matrix twice.
        """
        rows, columns = np.tril_indices(matrices.shape[-1])
        scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
        return (self.transform(matrices)[:, rows, columns] * scale).astype(np.float32)


def _inverse_root(values: Floats) -> Floats:
    return np.asarray(1.0 / np.sqrt(values))
