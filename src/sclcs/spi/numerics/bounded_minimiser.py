"""The quadratic model of the bounded minimiser: its matrix and where it leads inside the box."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.quasi_newton import FIRST_SLOPE, STATE_SIZE, next_step, start_search

__all__ = [
    "MOST_PAIRS",
    "N_PAIRS",
    "N_SCALARS",
    "SCALE",
    "cauchy_point",
    "longest_step",
    "minimise",
    "minimise_free",
    "quasi_newton",
    "remember",
]


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


EPS = float(np.finfo(np.float64).eps)
N_PAIRS, SCALE = 0, 1
N_SCALARS = 6
HEADER = 3  # rows before the steps in a problem's memory: origin, gradient, goal

Flags = NDArray[np.bool_]


@kernel
def remember(
    vectors: Array, gradient: Array, scalars: Array, step: float, bend: float, descent: float
) -> None:
    """Keep the last step and its change of gradient, if the function curved upwards along it.

    `bend` is the change and `descent` minus the start of the slope along the whole direction.
    """
    curvature = bend * step
    if not curvature > EPS * descent * step:
        return
    n_kept = (vectors.shape[0] - HEADER) // 2
    steps, changes = vectors[HEADER : HEADER + n_kept], vectors[HEADER + n_kept :]
    count = int(scalars[N_PAIRS])
    if count == n_kept:
        count -= 1
        for k in range(count):
            for i in range(gradient.size):
                steps[k, i], changes[k, i] = steps[k + 1, i], changes[k + 1, i]
    total = 0.0
    for i in range(gradient.size):
        steps[count, i] = step * (vectors[2, i] - vectors[0, i])
        changes[count, i] = gradient[i] - vectors[1, i]
        total += changes[count, i] ** 2
    scalars[N_PAIRS] = count + 1.0
    scalars[SCALE] = total / curvature


@kernel
def quasi_newton(pairs: Array, scalars: Array, model: Array) -> None:
    """Write the BFGS matrix of the kept pairs."""
    n_kept, n = pairs.shape[0] // 2, model.shape[0]
    image = np.empty(n)
    for i in range(n):
        for j in range(n):
            model[i, j] = scalars[SCALE] if i == j else 0.0
    for k in range(int(scalars[N_PAIRS])):
        step, change = pairs[k], pairs[n_kept + k]
        _multiply(model, step, image)
        along, against = _dot(change, step), _dot(image, step)
        for i in range(n):
            for j in range(n):
                model[i, j] += change[i] * change[j] / along - image[i] * image[j] / against


@kernel
def _multiply(matrix: Array, vector: Array, out: Array) -> None:
    for i in range(vector.size):
        out[i] = _dot(matrix[i], vector)


@kernel
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel
def longest_step(x: Array, goal: Array, bounds: Array) -> float:
    """Return the largest multiple of goal - x that stays inside the box."""
    longest = 1e10
    for i in range(x.size):
        direction = goal[i] - x[i]
        if direction != 0.0:
            room = bounds[i] - x[i] if direction > 0.0 else -bounds[i] - x[i]
            if room * direction <= 0.0:
                return 0.0
            if abs(direction) * longest > abs(room):
                longest = room / direction
    return longest


@kernel
def cauchy_point(x: Array, gradient: Array, bounds: Array, model: Array, goal: Array) -> Flags:
    """Put the first minimum along the projected gradient into `goal`; return who is free."""
    n = x.size
    direction, image, breaks = np.empty(n), np.empty(n), np.empty(n)
    free = np.ones(n, dtype=np.bool_)
    for i in range(n):
        goal[i], direction[i], breaks[i] = x[i], -gradient[i], np.inf
        stuck_below = x[i] <= -bounds[i] and direction[i] <= 0.0
        if stuck_below or (x[i] >= bounds[i] and direction[i] >= 0.0):
            direction[i], free[i] = 0.0, False
        elif direction[i] != 0.0:
            breaks[i] = (bounds[i] + (x[i] if direction[i] < 0.0 else -x[i])) / abs(direction[i])
    _multiply(model, direction, image)
    smallest = EPS * _dot(direction, image)
    done = 0.0
    while True:
        blocked = _next_break(direction, breaks)
        if blocked < 0:
            return free
        _multiply(model, direction, image)
        slope = _dot(gradient, direction)
        for i in range(n):
            slope += (goal[i] - x[i]) * image[i]
        best = -slope / max(_dot(direction, image), smallest)
        is_last = best < breaks[blocked] - done
        done = done + max(best, 0.0) if is_last else breaks[blocked]
        _move(x, direction, done, goal)
        if is_last:
            return free
        goal[blocked] = bounds[blocked] if direction[blocked] > 0.0 else -bounds[blocked]
        direction[blocked], free[blocked] = 0.0, False


@kernel
def _next_break(direction: Array, breaks: Array) -> int:
    """Return the moving variable that meets its bound first; -1 if nothing moves."""
    blocked = -1
    for i in range(direction.size):
        if direction[i] != 0.0 and (blocked < 0 or breaks[i] < breaks[blocked]):
            blocked = i
    return blocked


@kernel
def _move(x: Array, direction: Array, distance: float, goal: Array) -> None:
    for i in range(x.size):
        if direction[i] != 0.0:
            goal[i] = x[i] + distance * direction[i]


@kernel
def minimise_free(
    x: Array, gradient: Array, bounds: Array, model: Array, free: Flags, goal: Array
) -> None:
    """Go from the Cauchy point to the minimum over the free variables, inside the box."""
    n = x.size
    cauchy, move = goal.copy(), np.zeros(n)
    system = np.zeros((n, n + 1))
    for i in range(n):  # fixed variables become equations "move by 0"
        system[i, i] = 1.0
        if free[i]:
            system[i, n] = -gradient[i]
            for j in range(n):
                system[i, n] -= model[i, j] * (cauchy[j] - x[j])
                system[i, j] = model[i, j] if free[j] else 0.0
    _eliminate(system, move)
    slope = 0.0
    for i in range(n):
        goal[i] = min(max(cauchy[i] + move[i], -bounds[i]), bounds[i])
        slope += gradient[i] * (goal[i] - x[i])
    if slope > 0.0:
        _truncate(cauchy, move, bounds, goal)


@kernel
def _eliminate(system: Array, out: Array) -> None:
    """Solve a small positive definite system whose right side is the last column."""
    n = out.size
    for i in range(n):
        for k in range(i + 1, n):
            share = system[k, i] / system[i, i]
            for j in range(i, n + 1):
                system[k, j] -= share * system[i, j]
    for i in range(n - 1, -1, -1):
        value = system[i, n]
        for j in range(i + 1, n):
            value -= system[i, j] * out[j]
        out[i] = value / system[i, i]


@kernel
def _truncate(cauchy: Array, move: Array, bounds: Array, goal: Array) -> None:
    """Go along `move` only as far as the first bound."""
    share, blocked = 1.0, -1
    for i in range(move.size):
        room = bounds[i] - cauchy[i] if move[i] > 0.0 else bounds[i] + cauchy[i]
        if abs(move[i]) * share > room:
            share, blocked = room / abs(move[i]), i
    for i in range(move.size):
        goal[i] = cauchy[i] + share * move[i]
    if blocked >= 0:
        goal[blocked] = bounds[blocked] if move[blocked] > 0.0 else -bounds[blocked]


# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments


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
