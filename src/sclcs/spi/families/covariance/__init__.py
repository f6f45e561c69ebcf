"""Covariance and precision matrices (``cov``, ``cov-sq``, ``prec``, ``prec-sq``).

Time points are observations, regions are variables. S is the empirical covariance with divisor T.
The shrunk estimators (1 - a) S + a tr(S)/N I share one eigendecomposition: only its eigenvalues
differ. EllipticEnvelope is MinCovDet (it only adds an outlier threshold that no one reads), so
with the same seed the two are the same matrix, computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType

import numpy as np
import scipy.linalg.lapack

from sclcs.spi.families.covariance.determinant import minimum_covariance_determinant
from sclcs.spi.families.covariance.lasso import (
    START_SCALE,
    cross_validated_graphical_lasso,
    graphical_lasso,
    inverse_from_spectrum,
    on_grid,
    pseudo_inverse,
    stable_inverse,
)
from sclcs.spi.numerics.compiling import Array
from sclcs.spi.numerics.ordered import products_of_rows
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "CovarianceParameters", "compute"]

_SHRINKAGE = 0.1
#: The least ratio of eigenvalues at which a covariance is inverted by its Cholesky factor; below,
#: what is zero up to rounding must be told from what is small.
_WELL_CONDITIONED = 1e-6


@dataclass(frozen=True)
class CovarianceParameters:
    """Which estimator, and what of it.

    Parameters
    ----------
    estimator : str
        Name of the estimator, a key of `_ESTIMATORS`.
    inverse : bool
        The precision instead of the covariance.
    squared : bool
        Square each entry.
    correlation : bool
        Divide by the square roots of the diagonal; of the precision, with the sign turned:
        partial correlation. Regions keep the scale that they have in the scan, as nilearn's.
    """

    estimator: str
    inverse: bool
    squared: bool
    correlation: bool = False


@dataclass(frozen=True)
class _Sample:
    """One sample, with the intermediates that the estimators share."""

    rows: Array
    seed: int

    @cached_property
    def empirical(self) -> Array:
        """Mean products: rows have no mean. BLAS makes it exactly symmetric."""
        covariance: Array = self.rows @ self.rows.T
        covariance /= self.rows.shape[-1]
        return covariance

    @cached_property
    def stable(self) -> Array:
        """The same with the same digits on every processor, for what magnifies the last one."""
        centred = self.rows - self.rows.mean(axis=-1, keepdims=True)
        return on_grid(products_of_rows(centred) / self.rows.shape[-1])

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.empirical)
        return values, vectors

    def inverse(self, scale: float = 1.0, shift: float = 0.0) -> Array:
        """Invert scale · S + shift · I."""
        if shift > _WELL_CONDITIONED * self.mean_variance * len(self.rows):
            return _positive_inverse(scale * self.empirical, shift)
        values, vectors = self.spectrum
        return inverse_from_spectrum(scale * values + shift, vectors)

    @property
    def mean_variance(self) -> float:
        return float(np.diagonal(self.empirical).mean())


def _positive_inverse(matrix: Array, shift: float) -> Array:
    """Return the inverse of matrix + shift · I, which is well conditioned; `matrix` is lost."""
    matrix.ravel()[:: len(matrix) + 1] += shift
    factor, _ = scipy.linalg.lapack.dpotrf(matrix.T, lower=True, overwrite_a=True)
    found, _ = scipy.linalg.lapack.dpotri(factor, lower=True, overwrite_c=True)
    lower: Array = np.tril(found, -1)
    return lower + lower.T + np.diag(np.diagonal(found))


@dataclass(frozen=True)
class _Fit:
    """A covariance, and how to get its inverse if someone asks for it."""

    covariance: Array
    invert: Callable[[], Array]

    @cached_property
    def precision(self) -> Array:
        return self.invert()


def _shrunk(sample: _Sample, shrinkage: float) -> _Fit:
    """Shrink the empirical covariance towards a multiple of the identity."""
    target = shrinkage * sample.mean_variance
    covariance = (1.0 - shrinkage) * sample.empirical
    covariance[np.diag_indices_from(covariance)] += target
    return _Fit(covariance, partial(sample.inverse, 1.0 - shrinkage, target))


def _fixed_shrinkage(sample: _Sample) -> _Fit:
    return _shrunk(sample, _SHRINKAGE)


def _empirical(sample: _Sample) -> _Fit:
    return _Fit(sample.empirical, sample.inverse)


def _ledoit_wolf(sample: _Sample) -> _Fit:
    n_regions, n_times = sample.rows.shape
    mu = sample.mean_variance
    norm = float(np.vdot(sample.empirical, sample.empirical))
    # The sum over all pairs of regions of z_k² z_l² is the square of the sum over regions.
    squares = np.einsum("it,it->t", sample.rows, sample.rows)
    fourth = float(squares @ squares) / n_times
    noise = (fourth - norm) / (n_regions * n_times)
    spread = (norm - n_regions * mu * mu) / n_regions
    noise = min(noise, spread)
    return _shrunk(sample, 0.0 if noise == 0.0 else noise / spread)


def _oracle_approximating(sample: _Sample) -> _Fit:
    n_regions, n_times = sample.rows.shape
    mean_square = float((sample.empirical**2).mean())
    mu_squared = sample.mean_variance**2
    excess = (n_times + 1.0) * (mean_square - mu_squared / n_regions)
    if excess == 0.0:
        return _shrunk(sample, 1.0)
    return _shrunk(sample, min((mean_square + mu_squared) / excess, 1.0))


def _graphical_lasso(sample: _Sample) -> _Fit:
    empirical = sample.stable
    shrunk = START_SCALE * empirical
    np.fill_diagonal(shrunk, np.diagonal(empirical))
    return _penalised(graphical_lasso(empirical, (empirical, stable_inverse(shrunk))), sample)


def _graphical_lasso_cv(sample: _Sample) -> _Fit:
    return _penalised(cross_validated_graphical_lasso(sample.rows), sample)


def _penalised(fit: tuple[Array, Array] | None, sample: _Sample) -> _Fit:
    lost = np.full_like(sample.empirical, np.nan)
    covariance, precision = fit or (lost, lost)
    return _Fit(covariance, lambda: precision)


def _minimum_covariance_determinant(sample: _Sample) -> _Fit:
    covariance = minimum_covariance_determinant(sample.rows, sample.seed)
    return _Fit(covariance, partial(pseudo_inverse, covariance))


_ESTIMATORS: Mapping[str, Callable[[_Sample], _Fit]] = MappingProxyType(
    {
        "EmpiricalCovariance": _empirical,
        "ShrunkCovariance": _fixed_shrinkage,
        "LedoitWolf": _ledoit_wolf,
        "OAS": _oracle_approximating,
        "GraphicalLasso": _graphical_lasso,
        "GraphicalLassoCV": _graphical_lasso_cv,
        "MinCovDet": _minimum_covariance_determinant,
        "EllipticEnvelope": _minimum_covariance_determinant,
    }
)

MEMBERS: Mapping[str, CovarianceParameters] = MappingProxyType(
    {
        f"{kind}{'-sq' if squared else ''}_{estimator}": CovarianceParameters(
            estimator, inverse=kind == "prec", squared=squared
        )
        for kind in ("cov", "prec")
        for squared in (False, True)
        for estimator in _ESTIMATORS
    }
    | {
        "pearson": CovarianceParameters("EmpiricalCovariance", False, False, True),
        "partial": CovarianceParameters("LedoitWolf", True, False, True),
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the requested covariance and precision matrices.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Its sample seeds drive the random starts of MinCovDet and EllipticEnvelope.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    n_samples, n_regions, _ = signals.shape
    out = {name: np.empty((n_samples, n_regions, n_regions)) for name in members}
    for index, rows in enumerate(signals):
        sample = _Sample(np.ascontiguousarray(rows), int(context.sample_seeds[index]))
        fits: dict[Callable[[_Sample], _Fit], _Fit] = {}
        for name in members:
            parameters = MEMBERS[name]
            estimator = _ESTIMATORS[parameters.estimator]
            if parameters.correlation:
                scales = None if context.scales is None else context.scales[index]
                out[name][index] = _correlation(sample, scales, estimator, parameters.inverse)
                continue
            if estimator not in fits:
                fits[estimator] = estimator(sample)
            fit = fits[estimator]
            matrix = fit.precision if parameters.inverse else fit.covariance
            out[name][index] = matrix * matrix if parameters.squared else matrix
    return out


def _correlation(
    sample: _Sample, scales: Array | None, estimator: Callable[[_Sample], _Fit], inverse: bool
) -> Array:
    """Return the correlation, or the partial correlation, of an estimate in the scan's scale."""
    if scales is not None and inverse:  # relative to the largest, so that no square overflows
        sample = _Sample(sample.rows * (scales / scales.max())[:, None], sample.seed)
    fit = estimator(sample)
    matrix = fit.precision if inverse else fit.covariance
    factors = 1.0 / np.sqrt(np.diagonal(matrix))
    found: Array = matrix * factors
    found *= -factors[:, None] if inverse else factors[:, None]
    return found
