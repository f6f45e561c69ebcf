"""Inverses of symmetric matrices."""

from __future__ import annotations

from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.ordered import add_four_rows, dot, factorise, inverse, products_of_rows

__all__ = [
    "MOST_ITERATIONS",
    "START_SCALE",
    "cross_validated_graphical_lasso",
    "graphical_lasso",
    "inverse_from_spectrum",
    "on_grid",
    "pseudo_inverse",
    "stable_inverse",
]


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


# ruff: noqa: C901, PLR0912, PLR0917 - compiled loops: parts are compiled anew in every caller


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
    work = np.empty((n_regions, n_regions))
    for iteration in range(most_iterations):
        for region in range(n_regions):
            scale = -1.0 / (precision[region, region] + _TINY)
            for j in range(n):
                coefficients[j] = scale * precision[region, j]
                active[j] = j < n_regions
            coefficients[region] = 0.0
            active[region] = False
            sweeps = max(most_iterations, _FEWEST_SWEEPS)
            row = empirical[region]
            _solve_lasso(covariance, row, region, penalty, sweeps, coefficients, product, active)
            left = covariance[region, region] - dot(covariance[region], coefficients)
            diagonal = 1.0 / left
            for j in range(n):
                if j != region:
                    precision[j, region] = precision[region, j] = -diagonal * coefficients[j]
                    covariance[j, region] = covariance[region, j] = product[j]
            precision[region, region] = diagonal
        gap = -float(n_regions)
        for i in range(n_regions):
            gap += dot(empirical[i], precision[i])
            for j in range(n_regions):
                if i != j:
                    gap += penalty * abs(precision[i, j])
        if not np.isfinite(gap):
            return False
        if abs(gap) < _TOLERANCE:
            return True
        if iteration > 0 and not _has_positive_determinant(precision, work):
            return False
    return True


@kernel
def _has_positive_determinant(matrix: Array, work: Array) -> bool:
    """Eliminate by rows, the largest entry of a column first."""
    n = work.shape[0]
    for i in range(n):
        for j in range(n):
            work[i, j] = matrix[i, j]
    positive = True
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(work[i, k]) > abs(work[best, k]):
                best = i
        if work[best, k] == 0.0:
            return False
        if (work[best, k] < 0.0) != (best != k):
            positive = not positive
        for j in range(k, n):
            work[best, j], work[k, j] = work[k, j], work[best, j]
        for i in range(k + 1, n):
            factor = work[i, k] / work[k, k]
            for j in range(k + 1, n):
                work[i, j] -= factor * work[k, j]
    return positive


@kernel
def _solve_lasso(
    quadratic: Array,
    linear: Array,
    excluded: int,
    penalty: float,
    most_iterations: int,
    coefficients: Array,
    product: Array,
    active: NDArray[np.bool_],
) -> None:
    """Solve one region's lasso in place; leave quadratic @ coefficients in `product`.

    Vectors have one entry per region; that of the region itself (`excluded`) is zero in
    `coefficients` and meaningless elsewhere, so no row has to be cut out of the matrix.
    """
    n = linear.size
    for j in range(n):
        product[j] = 0.0
    # The first sweep moves nothing yet: it makes the products of the coefficients given.
    scale = dot(linear, linear) - linear[excluded] ** 2
    for sweep in range(most_iterations + 1):
        largest = largest_step = 0.0
        for j in range(0, n, _BLOCK):
            if sweep == 0:
                s0, s1 = coefficients[j], coefficients[j + 1]
                s2, s3 = coefficients[j + 2], coefficients[j + 3]
            else:
                q0, q1, q2 = quadratic[j], quadratic[j + 1], quadratic[j + 2]
                pull = linear[j] - product[j]
                s0 = _step(quadratic, penalty, coefficients, active, j, pull)
                pull = linear[j + 1] - product[j + 1] - s0 * q0[j + 1]
                s1 = _step(quadratic, penalty, coefficients, active, j + 1, pull)
                pull = linear[j + 2] - product[j + 2] - s0 * q0[j + 2] - s1 * q1[j + 2]
                s2 = _step(quadratic, penalty, coefficients, active, j + 2, pull)
                pull = linear[j + 3] - product[j + 3] - s0 * q0[j + 3] - s1 * q1[j + 3]
                s3 = _step(quadratic, penalty, coefficients, active, j + 3, pull - s2 * q2[j + 3])
            if s0 == 0.0 and s1 == 0.0 and s2 == 0.0 and s3 == 0.0:
                continue  # most coefficients of many regions are zero, and stay so
            add_four_rows(product, quadratic, j, s0, s1, s2, s3)
            largest_step = max(largest_step, abs(s0), abs(s1), abs(s2), abs(s3))
        for j in range(n):
            largest = max(largest, abs(coefficients[j]))
        settled = largest == 0.0 or largest_step / largest <= _TOLERANCE
        if not (settled or sweep in (0, most_iterations)):
            continue
        # The duality gap. `scale` stands for the squared norm of a response that the problem does
        # not have; it cancels at the solution and only shifts the gap on the way there.
        steepest = size = 0.0
        for j in range(n):
            size += abs(coefficients[j])
            if j != excluded:
                steepest = max(steepest, abs(linear[j] - product[j]))
        fit = dot(coefficients, linear)
        residual = scale + dot(coefficients, product) - 2.0 * fit
        shrink = penalty / steepest if steepest > penalty else 1.0
        primal = 0.5 * residual + penalty * size
        gap = primal - (shrink * (scale - fit) - 0.5 * shrink * shrink * residual)
        if gap <= _TOLERANCE * scale and (sweep > 0 or gap >= 0.0):
            return
        # Set coefficients that the gap proves to be zero to zero, for good.
        bound = max(penalty, steepest)
        squared_radius = 2.0 * abs(gap) * (bound / penalty) ** 2
        for j in range(n):
            slack = bound - abs(linear[j] - product[j])  # never negative: bound is the largest
            active[j] = active[j] and not slack * slack > squared_radius * quadratic[j, j]
        # Only now may the products change: above, they are the gradients that belong to the gap.
        for j in range(n):
            if not active[j] and coefficients[j] != 0.0:
                for k in range(n):
                    product[k] -= coefficients[j] * quadratic[j, k]
                coefficients[j] = 0.0


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


N_FOLDS = 5
N_PENALTIES = 4
N_REFINEMENTS = 4
SMALLEST_SHARE = 0.01
_LARGEST_SCORE = 0.1 / float(np.finfo(np.float64).eps)  # above, the fit is degenerate


def cross_validated_graphical_lasso(rows: Array) -> tuple[Array, Array] | None:
    """Fit covariance and precision of one sample.

    Parameters
    ----------
    rows : array, shape (region, time)
        Signals.

    Returns
    -------
    covariance, precision : array, shape (region, region)
        None if the last fit breaks down, or there are fewer time points than folds.
    """
    n_times = rows.shape[1]
    if n_times < N_FOLDS:
        return None
    folds = _folds(rows)
    empirical = _covariance(rows)
    largest = float(np.abs(empirical - np.diag(np.diagonal(empirical))).max())
    if not largest > 0.0:
        return None
    penalties = np.logspace(np.log10(SMALLEST_SHARE * largest), np.log10(largest), N_PENALTIES)[
        ::-1
    ]
    scores: list[tuple[float, float]] = []
    for _ in range(N_REFINEMENTS):
        found = np.mean([_path_scores(*fold, penalties) for fold in folds], axis=0)
        # A refined grid may meet a penalty again, from another start: both scores are kept.
        scores += zip(penalties.tolist(), found.tolist(), strict=True)
        scores.sort(key=itemgetter(0), reverse=True)
        best, lower, upper = _neighbourhood(scores)
        penalties = np.logspace(np.log10(upper), np.log10(lower), N_PENALTIES + 2)[1:-1]
    return _lasso_cv_fit(empirical, empirical, best, MOST_ITERATIONS)


def _folds(rows: Array) -> list[tuple[Array, Array]]:
    """Return the covariances with and of each fold of consecutive time points."""
    blocks = np.array_split(np.arange(rows.shape[1]), N_FOLDS)
    return [
        (_covariance(np.delete(rows, block, axis=1)), _covariance(rows[:, block]))
        for block in blocks
    ]


def _covariance(rows: Array) -> Array:
    centred = rows - rows.mean(axis=1, keepdims=True)
    return on_grid(products_of_rows(np.ascontiguousarray(centred)) / rows.shape[1])


def _lasso_cv_fit(
    empirical: Array, start: Array, penalty: float, most_iterations: int
) -> tuple[Array, Array] | None:
    shrunk = START_SCALE * start
    np.fill_diagonal(shrunk, np.diagonal(empirical))
    return graphical_lasso(empirical, (start, stable_inverse(shrunk)), penalty, most_iterations)


def _path_scores(train: Array, test: Array, penalties: Array) -> list[float]:
    """Return the log-likelihood of the left-out fold for decreasing penalties."""
    scores = []
    covariance = train
    for penalty in penalties:
        fit = _lasso_cv_fit(train, covariance, float(penalty), MOST_ITERATIONS // 10)
        if fit is None:
            scores.append(-np.inf)
        else:
            covariance = fit[0]
            scores.append(_log_likelihood(test, fit[1]))
    return scores


def _log_likelihood(covariance: Array, precision: Array) -> float:
    log_determinant = factorise(precision.copy())
    if log_determinant == -np.inf:
        sign, log_determinant = np.linalg.slogdet(precision)
        if sign <= 0:
            return -np.inf
    value = log_determinant - float((covariance * precision).sum())
    value -= len(covariance) * np.log(2.0 * np.pi)
    return value / 2.0 if np.isfinite(value) else -np.inf


def _neighbourhood(scores: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Return the best penalty so far and the range in which to look for a better one.

    The scores are given as (penalty, score), by falling penalty.
    """
    penalties, values = [penalty for penalty, _ in scores], np.array([v for _, v in scores])
    values[values >= _LARGEST_SCORE] = np.nan
    usable = np.flatnonzero(np.isfinite(values))
    last_usable = int(usable[-1]) if usable.size else 0
    best = 0
    best_value = -np.inf
    for index, value in enumerate(values):
        if value >= best_value:  # of equal scores the smaller penalty
            best, best_value = index, value
    last = len(penalties) - 1
    if best == 0:
        return penalties[0], penalties[1], penalties[0]
    if best == last_usable and best != last:
        return penalties[best], penalties[best + 1], penalties[best]
    if best == last:
        return penalties[best], SMALLEST_SHARE * penalties[best], penalties[best]
    return penalties[best], penalties[best + 1], penalties[best - 1]
