"""Minimisation of many functions of very few variables inside a box.

The algorithm is L-BFGS-B (Byrd, Lu, Nocedal and Zhu 1995; Morales and Nocedal 2011): generalised
Cauchy point of a quasi-Newton model, minimisation over the free variables, line search. Gaussian
processes have several local optima, and which one scikit-learn reports depends on the steps of
its optimiser, so those are repeated here. With two or three variables the limited-memory matrix
is formed densely (`box_model`), which is the same matrix at a fraction of the cost.

All problems advance together, one evaluation at a time, so that the minimiser and the functions
are compiled apart from each other.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.box_model import (
    N_PAIRS,
    N_SCALARS,
    SCALE,
    cauchy_point,
    longest_step,
    minimise_free,
    quasi_newton,
    remember,
)
from sclcs.numerics.jit import kernel
from sclcs.numerics.line_search import FIRST_SLOPE, STATE_SIZE, next_step, start_search

__all__ = ["MOST_PAIRS", "minimise"]

SMALLEST_REDUCTION = 1e7 * float(np.finfo(np.float64).eps)
SMALLEST_GRADIENT = 1e-5
MOST_PAIRS = 10
MOST_TRIALS = 20
ORIGIN, GRADIENT, GOAL, FIRST_STEP = 0, 1, 2, 3  # rows of a problem's memory
FIRST_CHANGE = FIRST_STEP + MOST_PAIRS
VALUE, STEP, ITERATION, TRIALS = range(2, 6)  # further scalars
GO_ON, BEGIN, DONE = range(3)

Integers = NDArray[np.int64]
Evaluate = Callable[[Array, Integers, Array, Array], None]


def minimise(evaluate: Evaluate, n_problems: int, bounds: Array) -> Array:
    """Minimise functions from the origin.

    Parameters
    ----------
    evaluate : callable
        Called with points (problem, variable), the indices of the problems to evaluate, and
        arrays for values (problem,) and gradients (problem, variable) to fill.
    n_problems : int
        Number of functions.
    bounds : array, shape (variable,)
        Largest absolute value of each variable.

    Returns
    -------
    array, shape (problem, variable)
        Local minima.
    """
    n_variables = bounds.size
    points = np.zeros((n_problems, n_variables))
    values, gradients = np.empty(n_problems), np.empty((n_problems, n_variables))
    vectors = np.zeros((n_problems, FIRST_CHANGE + MOST_PAIRS, n_variables))
    numbers = np.zeros((n_problems, STATE_SIZE))
    scalars = np.zeros((n_problems, N_SCALARS))
    scalars[:, SCALE] = 1.0
    active = np.arange(n_problems)
    is_first = True
    while active.size:
        evaluate(points, active, values, gradients)
        going = _advance(
            active, is_first, bounds, points, values, gradients, vectors, numbers, scalars
        )
        active = active[going]
        is_first = False
    return points


@kernel
def _advance(
    active: Integers,
    is_first: bool,
    bounds: Array,
    points: Array,
    values: Array,
    gradients: Array,
    vectors: Array,
    numbers: Array,
    scalars: Array,
) -> NDArray[np.bool_]:
    """Take in evaluations; write the next points; return which problems go on."""
    going = np.ones(active.size, dtype=np.bool_)
    for place in range(active.size):
        k = active[place]
        x, gradient = points[k], gradients[k]
        if is_first:
            steep = _projected_size(x, gradient, bounds) > SMALLEST_GRADIENT
            status = BEGIN if steep else DONE
        else:
            status = _search(x, values[k], gradient, bounds, vectors[k], numbers[k], scalars[k])
        if status == BEGIN:
            began = _begin(x, bounds, values[k], gradient, vectors[k], numbers[k], scalars[k])
            status = GO_ON if began else DONE
        going[place] = status == GO_ON
    return going


@kernel
def _search(
    x: Array,
    value: float,
    gradient: Array,
    bounds: Array,
    vectors: Array,
    numbers: Array,
    scalars: Array,
) -> int:
    """Take in a trial of the line search."""
    slope = 0.0
    for i in range(x.size):
        slope += gradient[i] * (vectors[GOAL, i] - vectors[ORIGIN, i])
    step, accepted = next_step(numbers, scalars[STEP], value, slope)
    if accepted:
        old = scalars[VALUE]
        scalars[ITERATION] += 1.0
        if _projected_size(x, gradient, bounds) <= SMALLEST_GRADIENT:
            return DONE
        if old - value <= SMALLEST_REDUCTION * max(abs(old), abs(value), 1.0):
            return DONE
        first_slope = numbers[FIRST_SLOPE]
        remember(vectors, gradient, scalars, scalars[STEP], slope - first_slope, -first_slope)
        return BEGIN
    scalars[TRIALS] += 1.0
    if scalars[TRIALS] < MOST_TRIALS and np.isfinite(step):
        _go(x, vectors, scalars, step)
        return GO_ON
    # Give this direction up: start again from steepest descent, unless this was it.
    scalars[TRIALS] = MOST_TRIALS
    for i in range(x.size):
        x[i], gradient[i] = vectors[ORIGIN, i], vectors[GRADIENT, i]
    if scalars[N_PAIRS] == 0.0:
        return DONE
    scalars[N_PAIRS], scalars[SCALE] = 0.0, 1.0
    return BEGIN


@kernel
def _go(x: Array, vectors: Array, scalars: Array, step: float) -> None:
    scalars[STEP] = step
    for i in range(x.size):
        whole = vectors[GOAL, i] - vectors[ORIGIN, i]
        x[i] = vectors[GOAL, i] if step == 1.0 else vectors[ORIGIN, i] + step * whole


@kernel
def _begin(
    x: Array,
    bounds: Array,
    value: float,
    gradient: Array,
    vectors: Array,
    numbers: Array,
    scalars: Array,
) -> bool:
    """Start a line search from x and put its first trial there; False if there is no descent."""
    if scalars[TRIALS] < MOST_TRIALS:
        scalars[VALUE] = value  # else x is back where the last search began
    value = scalars[VALUE]
    scalars[TRIALS] = 0.0
    for i in range(x.size):
        vectors[ORIGIN, i], vectors[GRADIENT, i] = x[i], gradient[i]
    model = np.empty((x.size, x.size))
    while True:
        quasi_newton(vectors[FIRST_STEP:], scalars, model)
        free = cauchy_point(x, gradient, bounds, model, vectors[GOAL])
        if scalars[N_PAIRS] > 0.0 and free.any():
            minimise_free(x, gradient, bounds, model, free, vectors[GOAL])
        slope = 0.0
        for i in range(x.size):
            slope += gradient[i] * (vectors[GOAL, i] - x[i])
        if slope < 0.0:
            break
        if not scalars[N_PAIRS] > 0.0:
            return False
        scalars[N_PAIRS], scalars[SCALE] = 0.0, 1.0
    limit = longest_step(x, vectors[GOAL], bounds) if scalars[ITERATION] > 0.0 else 1.0
    step = min(1.0, limit)
    start_search(numbers, step, value, slope, limit)
    _go(x, vectors, scalars, step)
    return True


@kernel
def _projected_size(x: Array, gradient: Array, bounds: Array) -> float:
    largest = 0.0
    for i in range(x.size):
        if gradient[i] < 0.0:
            part = max(x[i] - bounds[i], gradient[i])
        else:
            part = min(x[i] + bounds[i], gradient[i])
        largest = max(largest, abs(part))
    return largest
