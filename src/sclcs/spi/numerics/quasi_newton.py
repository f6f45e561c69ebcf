"""The line search of Moré and Thuente (1994), one trial step at a time.

A search keeps an interval that contains a step of sufficient decrease and small slope, and
chooses trial steps in it by cubic and quadratic interpolation. The caller evaluates the
function; the constants are those of L-BFGS-B (Zhu et al. 1997).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array, kernel
from sclcs.spi.numerics.vector import dot

__all__ = [
    "FIRST_SLOPE",
    "LARGEST_STEP",
    "MAX_TRIALS",
    "STATE_SIZE",
    "Descent",
    "advance",
    "descent",
    "next_step",
    "restart",
    "start_search",
]


MAX_TRIALS = 20
LARGEST_STEP = 1e10
_DECREASE, _CURVATURE, _INTERVAL = 1e-3, 0.9, 0.1
_LEAST_GROWTH, _MOST_GROWTH = 1.1, 4.0
_ENOUGH_SHRINKAGE = 0.66

# Places in the state of a search: best step, other end, each with value and slope; the bounds
# of the next step; the last two widths; value and slope at 0; the largest step; flags.
(
    _X, _FX, _GX, _Y, _FY, _GY, _MIN, _MAX, _WIDTH, _WIDTH2, _F0, _G0, _LIMIT, _BRACKETED, _STAGE,
) = range(15)  # fmt: skip
STATE_SIZE = 15
FIRST_SLOPE = _G0  # the place that callers read too


@kernel
def start_search(state: Array, step: float, value: float, slope: float, limit: float) -> None:
    """Prepare a search from a point with this value and (negative) slope.

    ``step`` is the first trial and ``limit`` the largest one.
    """
    state[:] = 0.0
    state[_FX] = state[_FY] = state[_F0] = value
    state[_GX] = state[_GY] = state[_G0] = slope
    state[_MAX] = step + _MOST_GROWTH * step
    state[_LIMIT] = state[_WIDTH] = limit
    state[_WIDTH2] = 2.0 * limit
    state[_STAGE] = 1.0


@kernel
def next_step(state: Array, step: float, value: float, slope: float) -> tuple[float, bool]:
    """Take the value and the slope at a trial step; return the next one, and whether to stop."""
    test = _DECREASE * state[_G0]
    limit = state[_F0] + step * test
    if state[_STAGE] == 1.0 and value <= limit and slope >= 0.0:
        state[_STAGE] = 2.0
    is_low = value <= limit
    if _is_exhausted(state, step) or (is_low and abs(slope) <= -_CURVATURE * state[_G0]):
        return step, True
    if step == state[_LIMIT] and is_low and slope <= test:
        return step, True  # further down than any step may go
    if step == 0.0 and (not is_low or slope >= test):
        return step, True  # no way down
    if state[_STAGE] == 1.0 and limit < value <= state[_FX]:
        # Until a minimum is in sight, the function minus its sufficient decrease is searched.
        _tilt(state, -test)
        step = _interpolate(state, step, value - step * test, slope - test)
        _tilt(state, test)
    else:
        step = _interpolate(state, step, value, slope)
    return _bound(state, step), False


@kernel
def _is_exhausted(state: Array, step: float) -> bool:
    """Whether rounding, or the length of the interval, leaves nothing to search."""
    if state[_BRACKETED] == 0.0:
        return False
    outside = step <= state[_MIN] or step >= state[_MAX]
    return bool(outside or state[_MAX] - state[_MIN] <= _INTERVAL * state[_MAX])


@kernel
def _tilt(state: Array, slope: float) -> None:
    state[_FX] += state[_X] * slope
    state[_GX] += slope
    state[_FY] += state[_Y] * slope
    state[_GY] += slope


@kernel
def _bound(state: Array, step: float) -> float:
    """Bisect if the interval shrinks too slowly; keep the step inside its bounds."""
    x, y = state[_X], state[_Y]
    if state[_BRACKETED] == 1.0:
        if abs(y - x) >= _ENOUGH_SHRINKAGE * state[_WIDTH2]:
            step = x + 0.5 * (y - x)
        state[_WIDTH2] = state[_WIDTH]
        state[_WIDTH] = abs(y - x)
        state[_MIN], state[_MAX] = min(x, y), max(x, y)
    else:
        state[_MIN] = step + _LEAST_GROWTH * (step - x)
        state[_MAX] = step + _MOST_GROWTH * (step - x)
    step = min(max(step, 0.0), state[_LIMIT])
    if _is_exhausted(state, step):
        return float(x)
    return step


@kernel
def _interpolate(state: Array, step: float, value: float, slope: float) -> float:
    """Choose the next step from the ends of the interval and this trial; update the interval."""
    x, fx, gx = state[_X], state[_FX], state[_GX]
    is_opposite = slope * np.sign(gx) < 0.0
    if value > fx:
        chosen = _from_higher_value(state, step, value, slope)
    elif is_opposite:
        chosen = _from_opposite_slope(state, step, value, slope)
    elif abs(slope) < abs(gx):
        chosen = _from_smaller_slope(state, step, value, slope)
    else:
        chosen = _from_steeper_slope(state, step, value, slope)
    if value > fx:
        state[_Y], state[_FY], state[_GY] = step, value, slope
    else:
        if is_opposite:
            state[_Y], state[_FY], state[_GY] = x, fx, gx
        state[_X], state[_FX], state[_GX] = step, value, slope
    if value > fx or is_opposite:
        state[_BRACKETED] = 1.0
    return chosen


@kernel
def _cubic(  # noqa: PLR0917 - compiled functions have no keyword-only arguments
    x: float, fx: float, gx: float, step: float, value: float, slope: float
) -> tuple[float, float]:
    """Return what locates the extrema of the cubic through an end (x, fx, gx) and a trial."""
    theta = 3.0 * (fx - value) / (step - x) + gx + slope
    size = max(abs(theta), abs(gx), abs(slope))
    root = (theta / size) ** 2 - (gx / size) * (slope / size)
    return theta, size * np.sqrt(max(root, 0.0))


@kernel
def _from_higher_value(state: Array, step: float, value: float, slope: float) -> float:
    """Take the cubic step if it is the nearer one, else go halfway to the quadratic step."""
    x, fx, gx = state[_X], state[_FX], state[_GX]
    theta, gamma = _cubic(x, fx, gx, step, value, slope)
    if step < x:
        gamma = -gamma
    ratio = ((gamma - gx) + theta) / (((gamma - gx) + gamma) + slope)
    cubic = x + ratio * (step - x)
    quadratic = x + ((gx / ((fx - value) / (step - x) + gx)) / 2.0) * (step - x)
    if abs(cubic - x) < abs(quadratic - x):
        return float(cubic)
    return float(cubic + (quadratic - cubic) / 2.0)


@kernel
def _from_opposite_slope(state: Array, step: float, value: float, slope: float) -> float:
    """Take the cubic or the secant step, whichever is further away."""
    x, fx, gx = state[_X], state[_FX], state[_GX]
    theta, gamma = _cubic(x, fx, gx, step, value, slope)
    if step > x:
        gamma = -gamma
    ratio = ((gamma - slope) + theta) / (((gamma - slope) + gamma) + gx)
    cubic = step + ratio * (x - step)
    secant = step + (slope / (slope - gx)) * (x - step)
    return float(cubic if abs(cubic - step) > abs(secant - step) else secant)


@kernel
def _from_smaller_slope(state: Array, step: float, value: float, slope: float) -> float:
    """Take the cubic step if its minimum lies beyond, or the secant step."""
    x, fx, gx = state[_X], state[_FX], state[_GX]
    theta, gamma = _cubic(x, fx, gx, step, value, slope)
    if step > x:
        gamma = -gamma
    ratio = ((gamma - slope) + theta) / ((gamma + (gx - slope)) + gamma)
    if ratio < 0.0 and gamma != 0.0:
        cubic = step + ratio * (x - step)
    else:
        cubic = state[_MAX] if step > x else state[_MIN]
    secant = step + (slope / (slope - gx)) * (x - step)
    is_nearer = abs(cubic - step) < abs(secant - step)
    if state[_BRACKETED] == 1.0:
        chosen = cubic if is_nearer else secant
        farthest = step + _ENOUGH_SHRINKAGE * (state[_Y] - step)
        return float(min(farthest, chosen) if step > x else max(farthest, chosen))
    chosen = secant if is_nearer else cubic
    return float(max(min(state[_MAX], chosen), state[_MIN]))


@kernel
def _from_steeper_slope(state: Array, step: float, value: float, slope: float) -> float:
    """Go to the end of the interval, or interpolate from its other end if there is one."""
    if state[_BRACKETED] == 0.0:
        return float(state[_MAX] if step > state[_X] else state[_MIN])
    y, fy, gy = state[_Y], state[_FY], state[_GY]
    theta, gamma = _cubic(y, fy, gy, step, value, slope)
    if step > y:
        gamma = -gamma
    ratio = ((gamma - slope) + theta) / (((gamma - slope) + gamma) + gy)
    return float(step + ratio * (y - step))


_MEMORY = 10
_MAX_ITERATIONS = 50
_TOLERANCE = 1e-3  # of the largest slope, and of the relative gain of an iteration
_EPS = float(np.finfo(np.float64).eps)

_VALUE, _SLOPE, _STEP = range(3)
_ITERATION, _STORED, _TRIAL, _STARTED = range(4)


class Descent(NamedTuple):
    """The state of a minimisation; the caller writes ``gradient``.

    ``steps`` and ``changes`` (of the gradient), with their products ``curvatures``, are the
    memory; pair number p is kept in row p modulo its size.
    """

    gradient: Array
    old_gradient: Array
    old_point: Array
    direction: Array
    steps: Array
    changes: Array
    curvatures: Array
    weights: Array
    search: Array
    numbers: Array
    counts: NDArray[np.int64]


def descent(n_variables: int) -> Descent:
    """Allocate the state of a minimisation."""
    gradient, old_gradient, old_point, direction = np.zeros((4, n_variables))
    steps, changes = np.zeros((2, _MEMORY, n_variables))
    curvatures, weights = np.zeros((2, _MEMORY))
    search, numbers, counts = np.zeros(STATE_SIZE), np.zeros(3), np.zeros(4, dtype=np.int64)
    return Descent(
        gradient, old_gradient, old_point, direction, steps, changes, curvatures, weights, search,
        numbers, counts,
    )  # fmt: skip


@kernel
def restart(state: Descent) -> None:
    """Prepare for a new function: the next call of `advance` gives its value at the start."""
    for k in range(state.counts.size):
        state.counts[k] = 0


@kernel
def advance(state: Descent, value: float, point: Array) -> bool:
    """Take the value at a point and move the point; return True if it is the last one."""
    counts = state.counts
    if counts[_STARTED] == 0:
        counts[_STARTED] = 1
        state.numbers[_VALUE] = value
        return _begin_iteration(state, point)
    step = state.numbers[_STEP]
    slope = dot(state.gradient, state.direction)
    new_step, is_found = next_step(state.search, step, value, slope)
    if is_found:
        return _accept(state, value, step) or _begin_iteration(state, point)
    counts[_TRIAL] += 1
    if counts[_TRIAL] < MAX_TRIALS:
        state.numbers[_STEP] = new_step
        _move(state, point)
        return False
    for t in range(point.size):
        point[t] = state.old_point[t]
        state.gradient[t] = state.old_gradient[t]
    if counts[_STORED] == 0:
        return True
    counts[_STORED] = 0  # forget the curvature and go downhill
    return _begin_iteration(state, point)


@kernel
def _accept(state: Descent, value: float, step: float) -> bool:
    """Take a step of the search; return True if it gained too little to go on."""
    old = state.numbers[_VALUE]
    state.numbers[_VALUE] = value
    state.counts[_ITERATION] += 1
    if old - value <= _TOLERANCE * max(abs(old), abs(value), 1.0):
        return True
    row = state.counts[_STORED] % _MEMORY
    steps, changes = state.steps[row], state.changes[row]
    for t in range(steps.size):
        steps[t] = step * state.direction[t]
        changes[t] = state.gradient[t] - state.old_gradient[t]
    state.curvatures[row] = dot(steps, changes)
    if state.curvatures[row] > -_EPS * step * state.numbers[_SLOPE]:
        state.counts[_STORED] += 1
    return False


@kernel
def _begin_iteration(state: Descent, point: Array) -> bool:
    """Choose a direction and move the point along it; return True if there is no need to."""
    largest = 0.0
    for t in range(point.size):
        largest = max(largest, abs(state.gradient[t]))
        state.old_point[t] = point[t]
        state.old_gradient[t] = state.gradient[t]
    if largest <= _TOLERANCE or state.counts[_ITERATION] >= _MAX_ITERATIONS:
        return True
    _find_direction(state)
    slope = dot(state.gradient, state.direction)
    if slope >= 0.0:
        state.counts[_STORED] = 0
        _find_direction(state)
        slope = -dot(state.gradient, state.gradient)
    step = 1.0
    if state.counts[_ITERATION] == 0:
        step = 1.0 / np.sqrt(dot(state.direction, state.direction))
    state.numbers[_SLOPE], state.numbers[_STEP] = slope, step
    state.counts[_TRIAL] = 0
    start_search(state.search, step, state.numbers[_VALUE], slope, LARGEST_STEP)
    _move(state, point)
    return False


@kernel
def _move(state: Descent, point: Array) -> None:
    for t in range(point.size):
        point[t] = state.old_point[t] + state.numbers[_STEP] * state.direction[t]


@kernel
def _find_direction(state: Descent) -> None:
    """Multiply the gradient by minus the approximate inverse curvature (two-loop recursion)."""
    direction, stored = state.direction, state.counts[_STORED]
    for t in range(direction.size):
        direction[t] = -state.gradient[t]
    oldest = max(stored - _MEMORY, 0)
    for p in range(stored - 1, oldest - 1, -1):
        row = p % _MEMORY
        weight = dot(state.steps[row], direction) / state.curvatures[row]
        state.weights[row] = weight
        _add_multiple(direction, -weight, state.changes[row])
    if stored > 0:
        row = (stored - 1) % _MEMORY
        scale = state.curvatures[row] / dot(state.changes[row], state.changes[row])
        for t in range(direction.size):
            direction[t] *= scale
    for p in range(oldest, stored):
        row = p % _MEMORY
        correction = dot(state.changes[row], direction) / state.curvatures[row]
        _add_multiple(direction, state.weights[row] - correction, state.steps[row])


@kernel
def _add_multiple(out: Array, factor: float, row: Array) -> None:
    for t in range(out.size):
        out[t] += factor * row[t]
