"""The line search of Moré and Thuente (1994), one trial step at a time.

A search keeps an interval that contains a step of sufficient decrease and small slope, and
chooses trial steps in it by cubic and quadratic interpolation. The caller evaluates the
function; the constants are those of L-BFGS-B (Zhu et al. 1997).
"""

from __future__ import annotations

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel

__all__ = ["FIRST_SLOPE", "LARGEST_STEP", "MAX_TRIALS", "STATE_SIZE", "next_step", "start_search"]

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
def _cubic(state: Array, end: int, step: float, value: float, slope: float) -> tuple[float, float]:
    """Return the two coefficients that locate the extrema of the cubic through an end and a trial.

    ``end`` is the place of the end's step in the state; its value and slope follow.
    """
    x, fx, gx = state[end], state[end + 1], state[end + 2]
    theta = 3.0 * (fx - value) / (step - x) + gx + slope
    size = max(abs(theta), abs(gx), abs(slope))
    root = (theta / size) ** 2 - (gx / size) * (slope / size)
    return theta, size * np.sqrt(max(root, 0.0))


@kernel
def _from_higher_value(state: Array, step: float, value: float, slope: float) -> float:
    """Take the cubic step if it is the nearer one, else go halfway to the quadratic step."""
    x, fx, gx = state[_X], state[_FX], state[_GX]
    theta, gamma = _cubic(state, _X, step, value, slope)
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
    x, gx = state[_X], state[_GX]
    theta, gamma = _cubic(state, _X, step, value, slope)
    if step > x:
        gamma = -gamma
    ratio = ((gamma - slope) + theta) / (((gamma - slope) + gamma) + gx)
    cubic = step + ratio * (x - step)
    secant = step + (slope / (slope - gx)) * (x - step)
    return float(cubic if abs(cubic - step) > abs(secant - step) else secant)


@kernel
def _from_smaller_slope(state: Array, step: float, value: float, slope: float) -> float:
    """Take the cubic step if its minimum lies beyond, or the secant step."""
    x, gx = state[_X], state[_GX]
    theta, gamma = _cubic(state, _X, step, value, slope)
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
    y, gy = state[_Y], state[_GY]
    theta, gamma = _cubic(state, _Y, step, value, slope)
    if step > y:
        gamma = -gamma
    ratio = ((gamma - slope) + theta) / (((gamma - slope) + gamma) + gy)
    return float(step + ratio * (y - step))
