"""L-BFGS (Zhu et al. 1997, without bounds), one evaluation at a time.

The caller evaluates the function and its gradient at a point, and `advance` moves the point to
where it wants them next: ten pairs of memory, a first step of length one, the line search of Moré
and Thuente. It ends, as scipy's L-BFGS-B does, where the gradient is small, where an iteration
gains too little, or after a number of iterations.

Everything is kept in arrays, because each layer of compiled functions is optimised anew with all
that is below it: a minimiser that called the function itself would take minutes to compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.numerics.arrays import Array
from sclcs.numerics.jit import kernel
from sclcs.numerics.line_search import (
    LARGEST_STEP,
    MAX_TRIALS,
    STATE_SIZE,
    next_step,
    start_search,
)
from sclcs.numerics.vector import dot

__all__ = ["Descent", "advance", "descent", "restart"]

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
