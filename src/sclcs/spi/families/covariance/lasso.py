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

With these rules the fit often ends at the iteration limit, cycling, and every iteration magnifies
the last digits of what it begins with: scikit-learn's own result moves by 5e-4 (precision of 90
regions, 50 time points) from one processor to another. Therefore all sums are taken in a fixed
order (`sclcs.numerics.ordered`), and covariances are rounded to a grid first (`on_grid`), so that
signals in other units, which differ in the last digit after z-scoring, give the same fit.

Most of the time goes into coordinate steps, each of which adds a row to W b. Four steps are taken
between such updates (the three corrections they owe each other are done by hand), and
matrices are padded to a multiple of four so that the vector loops have no remainder.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.ordered import add_four_rows, dot, factorise

__all__ = ["MOST_ITERATIONS", "START_SCALE", "graphical_lasso", "on_grid"]

START_SCALE = 0.95
PENALTY = 0.01
MOST_ITERATIONS = 100
_TOLERANCE = 1e-4
_TINY = 1000 * np.finfo(np.float64).eps
_FEWEST_SWEEPS = 20  # scikit-learn never cuts a lasso shorter
_BLOCK = 4
_STEPS = 2.0**36  # of the grid of covariances in 1: far above rounding, far below the tolerance


def on_grid(covariance: Array) -> Array:
    """Round covariances of z-scored signals, so that the last digits of these do not matter."""
    rounded: Array = np.rint(covariance * _STEPS) / _STEPS
    return rounded


def graphical_lasso(
    empirical: Array,
    start: tuple[Array, Array],
    penalty: float = PENALTY,
    most_iterations: int = MOST_ITERATIONS,
) -> tuple[Array, Array] | None:
    """Fit the l1-penalised precision matrix, with no penalty on the diagonal.

    Parameters
    ----------
    empirical : array, shape (region, region)
        Empirical covariance.
    start : tuple of two arrays, shape (region, region)
        A covariance to start from (its off-diagonal entries are multiplied by `START_SCALE`, its
        diagonal is replaced by that of `empirical`) and the inverse of what that gives.
    penalty : float
        Weight of the absolute off-diagonal entries of the precision.
    most_iterations : int
        Limit of the sweeps over regions, and (but at least 20) of those inside each lasso.

    Returns
    -------
    covariance, precision : array, shape (region, region)
        None if the iteration breaks down (scikit-learn raises there).
    """
    n_regions = empirical.shape[0]
    target, precision = _padded(empirical), _padded(start[1])
    covariance = START_SCALE * _padded(start[0])
    np.fill_diagonal(covariance, 1.0)  # of the padding, which no step ever touches
    inside = np.arange(n_regions)
    covariance[inside, inside] = np.diagonal(empirical)
    if not _fit(target, covariance, precision, n_regions, penalty, most_iterations):
        return None
    return covariance[:n_regions, :n_regions], precision[:n_regions, :n_regions]


def _padded(matrix: Array) -> Array:
    n = matrix.shape[0]
    padding = -n % _BLOCK
    return np.pad(matrix, (0, padding))


@kernel
def _fit(
    empirical: Array,
    covariance: Array,
    precision: Array,
    n_regions: int,
    penalty: float,
    most_iterations: int,
) -> bool:
    """Refine covariance and precision in place; tell whether that went well."""
    n = empirical.shape[0]
    coefficients, product = np.empty(n), np.empty(n)
    active = np.empty(n, dtype=np.bool_)
    for iteration in range(most_iterations):
        for region in range(n_regions):
            scale = -1.0 / (precision[region, region] + _TINY)
            for j in range(n):
                coefficients[j] = scale * precision[region, j]
                active[j] = j < n_regions
            coefficients[region] = 0.0
            active[region] = False
            limits = (penalty, max(most_iterations, _FEWEST_SWEEPS))
            row = empirical[region]
            _solve_lasso(covariance, row, region, limits, coefficients, product, active)
            _update(covariance, precision, region, coefficients, product)
        gap = _duality_gap(empirical, precision, n_regions, penalty)
        if not np.isfinite(gap):
            return False
        if abs(gap) < _TOLERANCE:
            return True
        if iteration > 0 and not _has_positive_determinant(precision[:n_regions, :n_regions]):
            return False
    return True


@kernel
def _update(
    covariance: Array, precision: Array, region: int, coefficients: Array, product: Array
) -> None:
    diagonal = 1.0 / (covariance[region, region] - dot(covariance[region], coefficients))
    for j in range(coefficients.size):
        if j != region:
            precision[j, region] = precision[region, j] = -diagonal * coefficients[j]
            covariance[j, region] = covariance[region, j] = product[j]
    precision[region, region] = diagonal


@kernel
def _duality_gap(empirical: Array, precision: Array, n_regions: int, penalty: float) -> float:
    gap = -float(n_regions)
    for i in range(n_regions):
        gap += dot(empirical[i], precision[i])
        for j in range(n_regions):
            if i != j:
                gap += penalty * abs(precision[i, j])
    return gap


@kernel
def _solve_lasso(
    quadratic: Array,
    linear: Array,
    excluded: int,
    limits: tuple[float, int],
    coefficients: Array,
    product: Array,
    active: NDArray[np.bool_],
) -> None:
    """Solve one region's lasso in place; leave quadratic @ coefficients in `product`.

    Vectors have one entry per region; that of the region itself (`excluded`) is zero in
    `coefficients` and meaningless elsewhere, so no row has to be cut out of the matrix.
    """
    penalty, most_iterations = limits
    n = linear.size
    product[:] = 0.0
    for j in range(0, n, _BLOCK):
        b = coefficients[j : j + _BLOCK]
        if b[0] != 0.0 or b[1] != 0.0 or b[2] != 0.0 or b[3] != 0.0:
            add_four_rows(product, quadratic, j, b[0], b[1], b[2], b[3])
    scale = dot(linear, linear) - linear[excluded] ** 2
    target = _TOLERANCE * scale
    gap, steepest = _lasso_gap(linear, excluded, scale, penalty, coefficients, product)
    if 0.0 <= gap <= target:
        return
    _screen(quadratic, linear, penalty, gap, steepest, coefficients, product, active)
    for sweep in range(most_iterations):
        largest, largest_step = _sweep(quadratic, linear, penalty, coefficients, product, active)
        settled = largest == 0.0 or largest_step / largest <= _TOLERANCE
        if settled or sweep == most_iterations - 1:
            gap, steepest = _lasso_gap(linear, excluded, scale, penalty, coefficients, product)
            if gap <= target:
                return
            _screen(quadratic, linear, penalty, gap, steepest, coefficients, product, active)


@kernel
def _sweep(
    quadratic: Array,
    linear: Array,
    penalty: float,
    coefficients: Array,
    product: Array,
    active: NDArray[np.bool_],
) -> tuple[float, float]:
    """Update every active coefficient once; return the largest one and the largest step."""
    largest = largest_step = 0.0
    for j in range(0, linear.size, _BLOCK):
        q0, q1, q2 = quadratic[j], quadratic[j + 1], quadratic[j + 2]
        pull = linear[j] - product[j]
        s0 = _step(quadratic, penalty, coefficients, active, j, pull)
        pull = linear[j + 1] - product[j + 1] - s0 * q0[j + 1]
        s1 = _step(quadratic, penalty, coefficients, active, j + 1, pull)
        pull = linear[j + 2] - product[j + 2] - s0 * q0[j + 2] - s1 * q1[j + 2]
        s2 = _step(quadratic, penalty, coefficients, active, j + 2, pull)
        pull = linear[j + 3] - product[j + 3] - s0 * q0[j + 3] - s1 * q1[j + 3] - s2 * q2[j + 3]
        s3 = _step(quadratic, penalty, coefficients, active, j + 3, pull)
        if s0 == 0.0 and s1 == 0.0 and s2 == 0.0 and s3 == 0.0:
            continue  # most coefficients of many regions are zero, and stay so
        add_four_rows(product, quadratic, j, s0, s1, s2, s3)
        largest_step = max(largest_step, abs(s0), abs(s1), abs(s2), abs(s3))
    for j in range(linear.size):
        largest = max(largest, abs(coefficients[j]))
    return largest, largest_step


@kernel
def _step(
    quadratic: Array,
    penalty: float,
    coefficients: Array,
    active: NDArray[np.bool_],
    j: int,
    pull: float,
) -> float:
    """Move one coefficient to its optimum given the others; return the change."""
    if not active[j]:
        return 0.0
    # Steps follow one another, so what counts is the way from pull to step: the reciprocal does
    # not wait for the pull, and comparisons in this form compile to one instruction each.
    inverse = 1.0 / quadratic[j, j]
    old = coefficients[j]
    pull += old * quadratic[j, j]
    clipped = pull if pull > -penalty else -penalty  # noqa: FURB136
    clipped = clipped if clipped < penalty else penalty  # noqa: FURB136
    step: float = (pull - clipped) * inverse - old
    coefficients[j] = old + step
    return step


@kernel
def _lasso_gap(
    linear: Array,
    excluded: int,
    scale: float,
    penalty: float,
    coefficients: Array,
    product: Array,
) -> tuple[float, float]:
    """Return the duality gap and the largest abs(gradient).

    `scale` stands for the squared norm of a response that the problem does not have; it cancels
    at the solution and only shifts the gap on the way there.
    """
    steepest = 0.0
    for j in range(linear.size):
        if j != excluded:
            steepest = max(steepest, abs(linear[j] - product[j]))
    fit = dot(coefficients, linear)
    residual = scale + dot(coefficients, product) - 2.0 * fit
    size = 0.0
    for j in range(linear.size):
        size += abs(coefficients[j])
    shrink = penalty / steepest if steepest > penalty else 1.0
    primal = 0.5 * residual + penalty * size
    dual = shrink * (scale - fit) - 0.5 * shrink * shrink * residual
    return primal - dual, steepest


@kernel
def _screen(
    quadratic: Array,
    linear: Array,
    penalty: float,
    gap: float,
    steepest: float,
    coefficients: Array,
    product: Array,
    active: NDArray[np.bool_],
) -> None:
    """Set coefficients that the duality gap proves to be zero to zero, for good."""
    n = linear.size
    bound = max(penalty, steepest)
    squared_radius = 2.0 * abs(gap) * (bound / penalty) ** 2
    n_removed = 0
    for j in range(n):
        slack = bound - abs(linear[j] - product[j])  # never negative: bound is the largest
        if active[j] and slack * slack > squared_radius * quadratic[j, j]:
            active[j] = False
            n_removed += coefficients[j] != 0.0
    if n_removed == 0:
        return
    # Only now may the products change: above, they are the gradients that belong to the gap.
    for j in range(n):
        if not active[j] and coefficients[j] != 0.0:
            for k in range(n):
                product[k] -= coefficients[j] * quadratic[j, k]
            coefficients[j] = 0.0


@kernel
def _has_positive_determinant(matrix: Array) -> bool:
    work = matrix.copy()
    if factorise(work) > -np.inf:
        return True
    sign, _ = np.linalg.slogdet(matrix.copy())
    return bool(sign > 0.0)
