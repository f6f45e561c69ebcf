"""The graphical lasso of Friedman, Hastie and Tibshirani (2008), compiled.

Block coordinate descent on the covariance W: for each region the lasso problem

    minimise  b·W b / 2 - s·b + penalty ‖b‖₁

over the other regions (s: column of the empirical covariance) is solved by coordinate descent,
and row and column of W become W b. The fit stops when the duality gap of the whole problem is
below a tolerance that is loose (1e-4), so its value depends on the start and on the inner
stopping rules. Those follow scikit-learn's documented behaviour: start from the empirical
covariance with off-diagonal entries scaled by 0.95, inner duality gap at most
1e-4 ‖s‖² checked when no coefficient moves by more than 1e-4 of the largest, and gap-safe
screening (Ndiaye et al. 2017) of coefficients that must be zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.context import Array
from sclcs.spi.families._jit import reducing_kernel

__all__ = ["START_SCALE", "graphical_lasso"]

START_SCALE = 0.95
_PENALTY = 0.01
_TOLERANCE = 1e-4
_MOST_ITERATIONS = 100
_TINY = 1000 * np.finfo(np.float64).eps


def graphical_lasso(empirical: Array, start_precision: Array) -> tuple[Array, Array]:
    """Fit the l1-penalised precision matrix with penalty 0.01 off the diagonal.

    Parameters
    ----------
    empirical : array, shape (region, region)
        Empirical covariance.
    start_precision : array, shape (region, region)
        Inverse of the empirical covariance with its off-diagonal entries times `START_SCALE`.

    Returns
    -------
    covariance, precision : array, shape (region, region)
        NaN if the iteration breaks down (scikit-learn raises there).
    """
    covariance = START_SCALE * empirical
    np.fill_diagonal(covariance, np.diagonal(empirical))
    precision = start_precision.copy()
    if not _fit(empirical, covariance, precision):
        covariance[:] = np.nan
        precision[:] = np.nan
    return covariance, precision


@reducing_kernel
def _fit(empirical: Array, covariance: Array, precision: Array) -> bool:
    """Refine covariance and precision in place; tell whether that went well."""
    n = empirical.shape[0]
    coefficients, product = np.empty(n), np.empty(n)
    active = np.empty(n, dtype=np.bool_)
    for iteration in range(_MOST_ITERATIONS):
        for region in range(n):
            for j in range(n):
                coefficients[j] = -precision[j, region] / (precision[region, region] + _TINY)
            coefficients[region] = 0.0
            _solve_lasso(covariance, empirical[region], region, coefficients, product, active)
            _update(covariance, precision, region, coefficients, product)
        gap = _duality_gap(empirical, precision)
        if not np.isfinite(gap):
            return False
        if abs(gap) < _TOLERANCE:
            return True
        if iteration > 0 and not _has_positive_determinant(precision):
            return False
    return True


@reducing_kernel
def _update(
    covariance: Array, precision: Array, region: int, coefficients: Array, product: Array
) -> None:
    n = coefficients.size
    explained = 0.0
    for j in range(n):
        explained += covariance[region, j] * coefficients[j]
    diagonal = 1.0 / (covariance[region, region] - explained)
    for j in range(n):
        if j != region:
            precision[j, region] = precision[region, j] = -diagonal * coefficients[j]
            covariance[j, region] = covariance[region, j] = product[j]
    precision[region, region] = diagonal


@reducing_kernel
def _duality_gap(empirical: Array, precision: Array) -> float:
    n = empirical.shape[0]
    gap = -float(n)
    for i in range(n):
        for j in range(n):
            gap += empirical[i, j] * precision[i, j]
            if i != j:
                gap += _PENALTY * abs(precision[i, j])
    return gap


@reducing_kernel
def _solve_lasso(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    quadratic: Array,
    linear: Array,
    excluded: int,
    coefficients: Array,
    product: Array,
    active: NDArray[np.bool_],
) -> None:
    """Solve one region's lasso in place; leave quadratic @ coefficients in `product`.

    Vectors have one entry per region; that of the region itself (`excluded`) is zero in
    `coefficients` and meaningless elsewhere, so no row has to be cut out of the matrix.
    """
    n = linear.size
    product[:] = 0.0
    for j in range(n):
        _add_row(product, quadratic[j], coefficients[j])
        active[j] = j != excluded
    scale = _dot(linear, linear) - linear[excluded] ** 2
    target = _TOLERANCE * scale
    gap, steepest = _lasso_gap(linear, excluded, scale, coefficients, product)
    if 0.0 <= gap <= target:
        return
    _screen(quadratic, linear, gap, steepest, coefficients, product, active)
    for sweep in range(_MOST_ITERATIONS):
        largest, largest_step = _sweep(quadratic, linear, coefficients, product, active)
        settled = largest == 0.0 or largest_step / largest <= _TOLERANCE
        if settled or sweep == _MOST_ITERATIONS - 1:
            gap, steepest = _lasso_gap(linear, excluded, scale, coefficients, product)
            if gap <= target:
                return
            _screen(quadratic, linear, gap, steepest, coefficients, product, active)


@reducing_kernel
def _sweep(
    quadratic: Array,
    linear: Array,
    coefficients: Array,
    product: Array,
    active: NDArray[np.bool_],
) -> tuple[float, float]:
    """Update every active coefficient once; return the largest one and the largest step."""
    largest = largest_step = 0.0
    for j in range(linear.size):
        if not active[j]:
            continue
        old = coefficients[j]
        pull = linear[j] - product[j] + old * quadratic[j, j]
        new = np.sign(pull) * max(abs(pull) - _PENALTY, 0.0) / quadratic[j, j]
        if new != old:
            coefficients[j] = new
            _add_row(product, quadratic[j], new - old)
        largest_step = max(largest_step, abs(new - old))
        largest = max(largest, abs(new))
    return largest, largest_step


@reducing_kernel
def _lasso_gap(
    linear: Array, excluded: int, scale: float, coefficients: Array, product: Array
) -> tuple[float, float]:
    """Return the duality gap and the largest abs(gradient).

    `scale` stands for the squared norm of a response that the problem does not have; it cancels
    at the solution and only shifts the gap on the way there.
    """
    steepest = 0.0
    for j in range(linear.size):
        if j != excluded:
            steepest = max(steepest, abs(linear[j] - product[j]))
    fit = _dot(coefficients, linear)
    residual = scale + _dot(coefficients, product) - 2.0 * fit
    size = 0.0
    for j in range(linear.size):
        size += abs(coefficients[j])
    shrink = _PENALTY / steepest if steepest > _PENALTY else 1.0
    primal = 0.5 * residual + _PENALTY * size
    dual = shrink * (scale - fit) - 0.5 * shrink * shrink * residual
    return primal - dual, steepest


@reducing_kernel
def _screen(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    quadratic: Array,
    linear: Array,
    gap: float,
    steepest: float,
    coefficients: Array,
    product: Array,
    active: NDArray[np.bool_],
) -> None:
    """Set coefficients that the duality gap proves to be zero to zero, for good."""
    radius = np.sqrt(2.0 * abs(gap)) / _PENALTY
    # Gradients as of the gap: `product` changes below while coefficients are removed.
    bound = max(_PENALTY, steepest)
    gradients = linear - product
    for j in range(linear.size):
        if not active[j]:
            continue
        slack = (1.0 - abs(gradients[j] / bound)) / np.sqrt(quadratic[j, j])
        if slack > radius:
            active[j] = False
            if coefficients[j] != 0.0:
                _add_row(product, quadratic[j], -coefficients[j])
                coefficients[j] = 0.0


@reducing_kernel
def _add_row(product: Array, row: Array, factor: float) -> None:
    for j in range(product.size):
        product[j] += factor * row[j]


@reducing_kernel
def _dot(x: Array, y: Array) -> float:
    total = 0.0
    for t in range(x.size):
        total += x[t] * y[t]
    return total


@reducing_kernel
def _has_positive_determinant(matrix: Array) -> bool:
    """Tell the sign of a determinant by elimination with row pivots."""
    work = matrix.copy()
    n = work.shape[0]
    positive = True
    for k in range(n):
        pivot = k + np.argmax(np.abs(work[k:, k]))
        if work[pivot, k] == 0.0:
            return False
        if pivot != k:
            for j in range(k, n):
                work[k, j], work[pivot, j] = work[pivot, j], work[k, j]
            positive = not positive
        if work[k, k] < 0.0:
            positive = not positive
        for i in range(k + 1, n):
            factor = work[i, k] / work[k, k]
            for j in range(k + 1, n):
                work[i, j] -= factor * work[k, j]
    return positive
