"""The line search of Moré and Thuente (1994), one trial at a time, for compiled loops.

The state is a vector of numbers, because the caller evaluates its function between the trials.
Tolerances are those of L-BFGS-B: sufficient decrease 1e-3, curvature 0.9, interval 0.1.
"""

from __future__ import annotations

from math import sqrt

from sclcs.spi.context import Array
from sclcs.spi.families._jit import kernel

__all__ = ["N_NUMBERS", "start_search", "try_step"]

DECREASE, CURVATURE, SMALLEST_INTERVAL = 1e-3, 0.9, 0.1
SHRINK, GROW_LEAST, GROW_MOST = 0.66, 1.1, 4.0
(
    VALUE0, SLOPE0, BEST, BEST_VALUE, BEST_SLOPE, OTHER, OTHER_VALUE, OTHER_SLOPE, LOWEST, HIGHEST,
    LIMIT, WIDTH, OLD_WIDTH, BRACKETED, STAGE,
) = range(15)  # fmt: skip
N_NUMBERS = 15


@kernel
def start_search(numbers: Array, value: float, slope: float, step: float, limit: float) -> None:
    """Begin at step 0 with the given value and slope; `step` is the first trial."""
    numbers[:] = 0.0
    numbers[VALUE0] = numbers[BEST_VALUE] = numbers[OTHER_VALUE] = value
    numbers[SLOPE0] = numbers[BEST_SLOPE] = numbers[OTHER_SLOPE] = slope
    numbers[HIGHEST] = step + GROW_MOST * step
    numbers[LIMIT] = limit
    numbers[WIDTH] = limit
    numbers[OLD_WIDTH] = 2.0 * limit
    numbers[STAGE] = 1.0


@kernel
def try_step(numbers: Array, step: float, value: float, slope: float) -> tuple[bool, float]:
    """Take note of a trial; return whether it is accepted and, if not, the next one."""
    slope_test = DECREASE * numbers[SLOPE0]
    target = numbers[VALUE0] + step * slope_test
    if numbers[STAGE] == 1.0 and value <= target and slope >= 0.0:
        numbers[STAGE] = 2.0
    if _is_over(numbers, step, value, slope, target):
        return True, step
    if numbers[STAGE] == 1.0 and value <= numbers[BEST_VALUE] and value > target:
        # Of the function minus its allowed decrease, until a point with positive slope is seen.
        shift = numbers[BEST] * slope_test, numbers[OTHER] * slope_test
        numbers[BEST_VALUE] -= shift[0]
        numbers[OTHER_VALUE] -= shift[1]
        numbers[BEST_SLOPE] -= slope_test
        numbers[OTHER_SLOPE] -= slope_test
        step = _next_step(numbers, step, value - step * slope_test, slope - slope_test)
        numbers[BEST_VALUE] += numbers[BEST] * slope_test
        numbers[OTHER_VALUE] += numbers[OTHER] * slope_test
        numbers[BEST_SLOPE] += slope_test
        numbers[OTHER_SLOPE] += slope_test
    else:
        step = _next_step(numbers, step, value, slope)
    return False, _safeguard(numbers, step)


@kernel
def _is_over(numbers: Array, step: float, value: float, slope: float, target: float) -> bool:
    slope_test = DECREASE * numbers[SLOPE0]
    low, high = numbers[LOWEST], numbers[HIGHEST]
    narrow = high - low <= SMALLEST_INTERVAL * high
    if numbers[BRACKETED] == 1.0 and (step <= low or step >= high or narrow):
        return True
    if step == numbers[LIMIT] and value <= target and slope <= slope_test:
        return True
    if step == 0.0 and (value > target or slope >= slope_test):
        return True
    return bool(value <= target and abs(slope) <= CURVATURE * -numbers[SLOPE0])


@kernel
def _safeguard(numbers: Array, step: float) -> float:
    best, other = numbers[BEST], numbers[OTHER]
    if numbers[BRACKETED] == 1.0:
        if abs(other - best) >= SHRINK * numbers[OLD_WIDTH]:
            step = best + 0.5 * (other - best)
        numbers[OLD_WIDTH] = numbers[WIDTH]
        numbers[WIDTH] = abs(other - best)
        numbers[LOWEST], numbers[HIGHEST] = min(best, other), max(best, other)
    else:
        numbers[LOWEST] = step + GROW_LEAST * (step - best)
        numbers[HIGHEST] = step + GROW_MOST * (step - best)
    step = min(max(step, 0.0), numbers[LIMIT])
    low, high = numbers[LOWEST], numbers[HIGHEST]
    if numbers[BRACKETED] == 1.0:
        narrow = high - low <= SMALLEST_INTERVAL * high
        if step <= low or step >= high or narrow:
            step = best
    return step


@kernel
def _next_step(numbers: Array, step: float, value: float, slope: float) -> float:
    """Interpolate the next trial and update the interval (four cases of the paper)."""
    best, best_value, best_slope = numbers[BEST], numbers[BEST_VALUE], numbers[BEST_SLOPE]
    opposite = slope * (best_slope / abs(best_slope)) < 0.0
    if value > best_value:
        result = _first_case(numbers, step, value, slope)
        numbers[BRACKETED] = 1.0
    elif opposite:
        result = _second_case(numbers, step, value, slope)
        numbers[BRACKETED] = 1.0
    elif abs(slope) < abs(best_slope):
        result = _third_case(numbers, step, value, slope)
    elif numbers[BRACKETED] == 1.0:
        result = _fourth_case(numbers, step, value, slope)
    else:
        result = numbers[HIGHEST] if step > best else numbers[LOWEST]
    if value > best_value:
        numbers[OTHER], numbers[OTHER_VALUE], numbers[OTHER_SLOPE] = step, value, slope
    else:
        if opposite:
            numbers[OTHER], numbers[OTHER_VALUE] = best, best_value
            numbers[OTHER_SLOPE] = best_slope
        numbers[BEST], numbers[BEST_VALUE], numbers[BEST_SLOPE] = step, value, slope
    return result


@kernel
def _first_case(numbers: Array, step: float, value: float, slope: float) -> float:
    best, best_value, best_slope = numbers[BEST], numbers[BEST_VALUE], numbers[BEST_SLOPE]
    theta = 3.0 * (best_value - value) / (step - best) + best_slope + slope
    scale = max(abs(theta), abs(best_slope), abs(slope))
    gamma = scale * sqrt((theta / scale) ** 2 - (best_slope / scale) * (slope / scale))
    if step < best:
        gamma = -gamma
    ratio = ((gamma - best_slope) + theta) / (((gamma - best_slope) + gamma) + slope)
    cubic = best + ratio * (step - best)
    secant = best_slope / ((best_value - value) / (step - best) + best_slope) / 2.0
    quadratic = best + secant * (step - best)
    nearer = abs(cubic - best) < abs(quadratic - best)
    return float(cubic if nearer else cubic + (quadratic - cubic) / 2.0)


@kernel
def _second_case(numbers: Array, step: float, value: float, slope: float) -> float:
    best, best_value, best_slope = numbers[BEST], numbers[BEST_VALUE], numbers[BEST_SLOPE]
    theta = 3.0 * (best_value - value) / (step - best) + best_slope + slope
    scale = max(abs(theta), abs(best_slope), abs(slope))
    gamma = scale * sqrt((theta / scale) ** 2 - (best_slope / scale) * (slope / scale))
    if step > best:
        gamma = -gamma
    ratio = ((gamma - slope) + theta) / (((gamma - slope) + gamma) + best_slope)
    cubic = step + ratio * (best - step)
    secant = step + slope / (slope - best_slope) * (best - step)
    return float(cubic if abs(cubic - step) > abs(secant - step) else secant)


@kernel
def _third_case(numbers: Array, step: float, value: float, slope: float) -> float:
    best, best_value, best_slope = numbers[BEST], numbers[BEST_VALUE], numbers[BEST_SLOPE]
    theta = 3.0 * (best_value - value) / (step - best) + best_slope + slope
    scale = max(abs(theta), abs(best_slope), abs(slope))
    inside = (theta / scale) ** 2 - (best_slope / scale) * (slope / scale)
    gamma = scale * sqrt(max(0.0, inside))
    if step > best:
        gamma = -gamma
    ratio = ((gamma - slope) + theta) / ((gamma + (best_slope - slope)) + gamma)
    if ratio < 0.0 and gamma != 0.0:
        cubic = step + ratio * (best - step)
    else:
        cubic = numbers[HIGHEST] if step > best else numbers[LOWEST]
    secant = step + slope / (slope - best_slope) * (best - step)
    nearer = abs(cubic - step) < abs(secant - step)
    if numbers[BRACKETED] == 1.0:
        result = cubic if nearer else secant
        edge = step + SHRINK * (numbers[OTHER] - step)
        return float(min(edge, result) if step > best else max(edge, result))
    result = secant if nearer else cubic
    return float(max(numbers[LOWEST], min(numbers[HIGHEST], result)))


@kernel
def _fourth_case(numbers: Array, step: float, value: float, slope: float) -> float:
    other, other_value, other_slope = numbers[OTHER], numbers[OTHER_VALUE], numbers[OTHER_SLOPE]
    theta = 3.0 * (value - other_value) / (other - step) + other_slope + slope
    scale = max(abs(theta), abs(other_slope), abs(slope))
    gamma = scale * sqrt((theta / scale) ** 2 - (other_slope / scale) * (slope / scale))
    if step > other:
        gamma = -gamma
    ratio = ((gamma - slope) + theta) / (((gamma - slope) + gamma) + other_slope)
    return float(step + ratio * (other - step))
