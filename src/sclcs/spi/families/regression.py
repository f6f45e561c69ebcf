"""Mean squared errors of one-regressor linear models, as scikit-learn's defaults fit them.

Signals are centred and have equal sums of squares, so each fit needs three numbers: the sums of
squares e of the source and v of the target, and their sum of products p. These are summed in a
fixed order: BLAS rounds a product of matrices by its number of rows, and an error of a pair must
not depend on which other regions are there. Only stochastic gradient descent sees the time points
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics import gaussian_process as process
from sclcs.spi.numerics.compiling import ZERO, Array, kernel
from sclcs.spi.numerics.ordered import products_of_rows
from sclcs.spi.own import FamilyContext

__all__ = [
    "MEMBERS",
    "bayesian_ridge",
    "compute",
    "elastic_net",
    "gradient_descent",
    "lasso",
    "ridge",
]


_EPS = float(np.finfo(np.float64).eps)
# The first draw below 2^31 - 1 of numpy's RandomState(42): the seed of scikit-learn's shuffling.
SHUFFLE_SEED = 1608637542
RATE, DECAY, SHRINKAGE = 0.01, 0.25, 1e-4
MOST_EPOCHS, PATIENCE, LEAST_IMPROVEMENT = 1000, 5, 1e-3


def _mean_squared_error(weights: Array, products: Array, n_times: int) -> Array:
    squares = np.diagonal(products)
    error: Array = squares - 2.0 * weights * products + weights**2 * squares[:, np.newaxis]
    return error / n_times


def ridge(rows: Array) -> Array:
    """Ridge regression with penalty 1."""
    products = products_of_rows(rows)
    weights = products / (np.diagonal(products)[:, np.newaxis] + 1.0)
    return _mean_squared_error(weights, products, rows.shape[1])


def _soft_threshold(rows: Array, absolute: float, square: float) -> Array:
    n_times = rows.shape[1]
    products = products_of_rows(rows)
    pull = np.sign(products) * np.maximum(np.abs(products) / n_times - absolute, 0.0)
    weights = pull / (np.diagonal(products)[:, np.newaxis] / n_times + square)
    return _mean_squared_error(weights, products, n_times)


def lasso(rows: Array) -> Array:
    """Lasso with penalty 1: on z-scored signals its weight is always zero."""
    return _soft_threshold(rows, 1.0, 0.0)


def elastic_net(rows: Array) -> Array:
    """Elastic net with penalty 1, half of it on the square."""
    return _soft_threshold(rows, 0.5, 0.5)


def bayesian_ridge(rows: Array) -> Array:
    """Ridge regression with both precisions estimated by evidence maximisation."""
    return _bayesian_ridge(products_of_rows(rows), rows.shape[1])


@kernel
def _bayesian_ridge(products: Array, n_times: int) -> Array:
    n_regions = products.shape[0]
    out = np.empty((n_regions, n_regions))
    for i in range(n_regions):
        for j in range(n_regions):
            out[i, j] = _evidence_error(products[i, i], products[j, j], products[i, j], n_times)
    return out


@kernel
def _evidence_error(e: float, v: float, p: float, n_times: int) -> float:
    """Iterate MacKay's updates with flat gamma priors (1e-6) until the weight settles."""
    noise, prior = 1.0 / (v / n_times + _EPS), 1.0
    before = 0.0
    for iteration in range(300):
        weight = p / (e + prior / noise)
        error = v - 2.0 * weight * p + weight * weight * e
        effective = noise * e / (prior + noise * e)
        prior = (effective + 2e-6) / (weight * weight + 2e-6)
        noise = (n_times - effective + 2e-6) / (error + 2e-6)
        if iteration > 0 and abs(weight - before) < 1e-3:
            break
        before = weight
    weight = p / (e + prior / noise)
    return (v - 2.0 * weight * p + weight * weight * e) / n_times


def gradient_descent(rows: Array) -> Array:
    """Stochastic gradient descent with scikit-learn's shuffling, seed 42."""
    return _gradient_descent(np.ascontiguousarray(rows))


@kernel
def _gradient_descent(rows: Array) -> Array:
    n_regions, n_times = rows.shape
    orders = np.empty((MOST_EPOCHS, n_times), dtype=np.int64)
    rates = np.empty((MOST_EPOCHS, n_times))
    n_known = ZERO
    out = np.full((n_regions, n_regions), np.nan)
    for i in range(n_regions):
        for j in range(n_regions):
            if i != j:
                out[i, j], n_known = _descend(rows[i], rows[j], orders, rates, n_known)
    return out


@kernel
def _descend(
    x: Array, y: Array, orders: NDArray[np.int64], rates: Array, n_known: int
) -> tuple[float, int]:
    """Return the error of one pair, and how many epochs of `orders` and `rates` are filled."""
    weight = intercept = 0.0
    best = np.inf
    patience = PATIENCE
    for epoch in range(MOST_EPOCHS):
        if epoch == n_known:
            _prepare_epoch(orders, rates, epoch)
            n_known += 1
        loss = 0.0
        for place in range(x.size):
            t = orders[epoch, place]
            error = weight * x[t] + intercept - y[t]
            loss += 0.5 * error * error
            rate = rates[epoch, place]
            weight = weight * (1.0 - rate * SHRINKAGE) - rate * error * x[t]
            intercept -= rate * error
        patience = patience - 1 if loss > best - LEAST_IMPROVEMENT * x.size else PATIENCE
        best = min(best, loss)
        if patience == 0:
            break
    total = 0.0
    for t in range(x.size):
        total += (y[t] - weight * x[t] - intercept) ** 2
    return total / x.size, n_known


@kernel
def _prepare_epoch(orders: NDArray[np.int64], rates: Array, epoch: int) -> None:
    """Shuffle the order of the epoch before (Fisher and Yates, 32-bit xorshift) once more."""
    n_times = orders.shape[1]
    order = orders[epoch]
    for place in range(n_times):
        order[place] = orders[epoch - 1, place] if epoch > 0 else place
        rates[epoch, place] = RATE / (1.0 + epoch * n_times + place) ** DECAY
    state = SHUFFLE_SEED
    for place in range(n_times - 1):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        other = place + (state % 2147483648) % (n_times - place)
        order[place], order[other] = order[other], order[place]


MEMBERS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "lmfit_Ridge": ridge,
        "lmfit_Lasso": lasso,
        "lmfit_SGDRegressor": gradient_descent,
        "lmfit_ElasticNet": elastic_net,
        "lmfit_BayesianRidge": bayesian_ridge,
        "gpfit_DotProduct": process.linear_errors,
        "gpfit_RBF": process.squared_exponential_errors,
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute regression errors, row on column.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Not needed: pairs are fitted one after the other.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    return {
        name: np.stack([MEMBERS[name](np.ascontiguousarray(rows)) for rows in signals])
        for name in members
    }
