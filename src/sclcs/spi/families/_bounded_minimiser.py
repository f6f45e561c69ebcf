"""Minimisation inside a box, for compiled loops over very few variables.

The algorithm is L-BFGS-B (Byrd, Lu, Nocedal and Zhu 1995; Morales and Nocedal 2011): generalised
Cauchy point of a quasi-Newton model, minimisation over the free variables, line search. Gaussian
processes have several local optima, and which one scikit-learn reports depends on the steps of
its optimiser, so those are repeated here. With two or three variables the limited-memory matrix
is formed densely, which is the same matrix at a fraction of the cost.

The caller evaluates: call `restart` once with the value and the gradient at the start, then
`advance` with those at the point it asked for, until it says that it is done.
"""

# ruff: noqa: PLR0917 - compiled functions have no keyword-only arguments

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sclcs.spi.context import Array
from sclcs.spi.families._jit import kernel
from sclcs.spi.families._line_search import N_NUMBERS, start_search, try_step

__all__ = ["Minimiser", "advance", "new_minimiser", "restart"]

SMALLEST_REDUCTION = 1e7 * float(np.finfo(np.float64).eps)
SMALLEST_GRADIENT = 1e-5
MOST_PAIRS = 10
MOST_TRIALS = 20
EPS = float(np.finfo(np.float64).eps)
VALUE, STEP, SCALE = range(3)
N_PAIRS, ITERATION, TRIALS = range(3)


class Minimiser(NamedTuple):
    """Everything that lasts from one evaluation to the next; sizes are numbers of variables."""

    lower: Array
    upper: Array
    origin: Array  # where the line search started
    gradient: Array  # there
    goal: Array  # where its first step leads
    steps: Array  # of the last iterations, and how they changed the gradient
    changes: Array
    search: Array
    scalars: Array
    counts: NDArray[np.int64]


@kernel
def new_minimiser(lower: Array, upper: Array) -> Minimiser:
    """Return a minimiser for a box; it can be used again and again."""
    n = lower.size
    return Minimiser(
        lower,
        upper,
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty((MOST_PAIRS, n)),
        np.empty((MOST_PAIRS, n)),
        np.empty(N_NUMBERS),
        np.empty(3),
        np.zeros(3, dtype=np.int64),
    )


@kernel
def restart(state: Minimiser, x: Array, value: float, gradient: Array) -> bool:
    """Begin at x; return whether that is the end already, else put the first trial into x."""
    state.counts[:] = 0
    state.scalars[SCALE] = 1.0
    if _projected_size(state, x, gradient) <= SMALLEST_GRADIENT:
        return True
    return not _begin(state, x, value, gradient)


@kernel
def advance(state: Minimiser, x: Array, value: float, gradient: Array) -> bool:
    """Take in an evaluation at x; return True if x is final, else put the next trial into x."""
    slope = 0.0
    for i in range(x.size):
        slope += gradient[i] * (state.goal[i] - state.origin[i])
    step = state.scalars[STEP]
    accepted, next_step = try_step(state.search, step, value, slope)
    if accepted:
        return _finish_iteration(state, x, value, gradient, slope)
    state.counts[TRIALS] += 1
    if state.counts[TRIALS] >= MOST_TRIALS or not np.isfinite(next_step):
        x[:] = state.origin
        if state.counts[N_PAIRS] == 0:
            return True
        state.counts[N_PAIRS] = 0
        state.scalars[SCALE] = 1.0
        return not _begin(state, x, state.scalars[VALUE], state.gradient.copy())
    _go(state, x, next_step)
    return False


@kernel
def _go(state: Minimiser, x: Array, step: float) -> None:
    state.scalars[STEP] = step
    if step == 1.0:
        x[:] = state.goal
    else:
        x[:] = state.origin + step * (state.goal - state.origin)


@kernel
def _finish_iteration(
    state: Minimiser, x: Array, value: float, gradient: Array, slope: float
) -> bool:
    old = state.scalars[VALUE]
    state.counts[ITERATION] += 1
    if _projected_size(state, x, gradient) <= SMALLEST_GRADIENT:
        return True
    if old - value <= SMALLEST_REDUCTION * max(abs(old), abs(value), 1.0):
        return True
    step, first_slope = state.scalars[STEP], state.search[1]
    change = gradient - state.gradient
    curvature = (slope - first_slope) * step
    if curvature > EPS * -first_slope * step:
        count = state.counts[N_PAIRS]
        if count == MOST_PAIRS:
            for k in range(1, MOST_PAIRS):
                state.steps[k - 1] = state.steps[k]
                state.changes[k - 1] = state.changes[k]
            count -= 1
        state.steps[count] = step * (state.goal - state.origin)
        state.changes[count] = change
        state.counts[N_PAIRS] = count + 1
        state.scalars[SCALE] = (change * change).sum() / curvature
    return not _begin(state, x, value, gradient)


@kernel
def _begin(state: Minimiser, x: Array, value: float, gradient: Array) -> bool:
    """Start a line search from x and put its first trial there; False if there is no descent."""
    state.origin[:] = x
    state.gradient[:] = gradient
    state.scalars[VALUE] = value
    state.counts[TRIALS] = 0
    while True:
        model = _model(state)
        free = _cauchy_point(state, model)
        if state.counts[N_PAIRS] > 0 and free.any():
            _minimise_free(state, model, free)
        slope = (gradient * (state.goal - state.origin)).sum()
        if slope < 0.0:
            break
        if state.counts[N_PAIRS] == 0:
            return False
        state.counts[N_PAIRS] = 0
        state.scalars[SCALE] = 1.0
    limit = _longest_step(state) if state.counts[ITERATION] > 0 else 1.0
    step = min(1.0, limit)
    start_search(state.search, value, slope, step, limit)
    _go(state, x, step)
    return True


@kernel
def _projected_size(state: Minimiser, x: Array, gradient: Array) -> float:
    largest = 0.0
    for i in range(x.size):
        if gradient[i] < 0.0:
            part = max(x[i] - state.upper[i], gradient[i])
        else:
            part = min(x[i] - state.lower[i], gradient[i])
        largest = max(largest, abs(part))
    return largest


@kernel
def _model(state: Minimiser) -> Array:
    """Return the quasi-Newton matrix of the kept pairs."""
    n = state.lower.size
    model = state.scalars[SCALE] * np.eye(n)
    for k in range(state.counts[N_PAIRS]):
        step, change = state.steps[k], state.changes[k]
        image = model @ step
        model += np.outer(change, change) / (change * step).sum()
        model -= np.outer(image, image) / (step * image).sum()
    return model


@kernel
def _longest_step(state: Minimiser) -> float:
    longest = 1e10
    for i in range(state.lower.size):
        direction = state.goal[i] - state.origin[i]
        if direction < 0.0:
            room = state.lower[i] - state.origin[i]
            if room >= 0.0:
                return 0.0
            if direction * longest < room:
                longest = room / direction
        elif direction > 0.0:
            room = state.upper[i] - state.origin[i]
            if room <= 0.0:
                return 0.0
            if direction * longest > room:
                longest = room / direction
    return longest


@kernel
def _cauchy_point(state: Minimiser, model: Array) -> NDArray[np.bool_]:
    """Put the first minimum along the projected gradient into `goal`; return who is free."""
    n = state.lower.size
    direction, breaks = -state.gradient, np.full(n, np.inf)
    free = np.ones(n, dtype=np.bool_)
    for i in range(n):
        if direction[i] < 0.0:
            breaks[i] = (state.origin[i] - state.lower[i]) / -direction[i]
        elif direction[i] > 0.0:
            breaks[i] = (state.upper[i] - state.origin[i]) / direction[i]
        stuck_below = state.origin[i] <= state.lower[i] and direction[i] <= 0.0
        if stuck_below or (state.origin[i] >= state.upper[i] and direction[i] >= 0.0):
            direction[i], free[i] = 0.0, False
    state.goal[:] = state.origin
    first_curvature = (direction * (model @ direction)).sum()
    done = 0.0
    while direction.any():
        displacement = state.goal - state.origin
        image = model @ direction
        slope = (state.gradient * direction).sum() + (displacement * image).sum()
        curvature = max((direction * image).sum(), EPS * first_curvature)
        best = -slope / curvature
        following = np.inf
        blocked = -1
        for i in range(n):
            if direction[i] != 0.0 and breaks[i] < following:
                following, blocked = breaks[i], i
        if best < following - done:
            done += max(best, 0.0)
            for i in range(n):
                if direction[i] != 0.0:
                    state.goal[i] = state.origin[i] + done * direction[i]
            break
        done = following
        for i in range(n):
            if direction[i] != 0.0:
                state.goal[i] = state.origin[i] + done * direction[i]
        state.goal[blocked] = (
            state.upper[blocked] if direction[blocked] > 0.0 else state.lower[blocked]
        )
        direction[blocked], free[blocked] = 0.0, False
    return free


@kernel
def _minimise_free(state: Minimiser, model: Array, free: NDArray[np.bool_]) -> None:
    """Go from the Cauchy point to the minimum over the free variables, inside the box."""
    n = free.size
    cauchy = state.goal.copy()
    rest = state.gradient + model @ (cauchy - state.origin)
    # Fixed variables become equations "move by 0".
    system, right = np.eye(n), np.zeros(n)
    for i in range(n):
        if free[i]:
            right[i] = -rest[i]
            for j in range(n):
                system[i, j] = model[i, j] if free[j] else 0.0
    move = np.linalg.solve(system, right)
    for i in range(n):
        state.goal[i] = min(max(cauchy[i] + move[i], state.lower[i]), state.upper[i])
    if (state.gradient * (state.goal - state.origin)).sum() <= 0.0:
        return
    _truncate(state, cauchy, move)


@kernel
def _truncate(state: Minimiser, cauchy: Array, move: Array) -> None:
    """Go along `move` only as far as the first bound."""
    share = 1.0
    blocked = -1
    for i in range(move.size):
        bound = state.upper[i] if move[i] > 0.0 else state.lower[i]
        if move[i] != 0.0 and abs(move[i]) * share > abs(bound - cauchy[i]):
            share, blocked = abs(bound - cauchy[i]) / abs(move[i]), i
    state.goal[:] = cauchy + share * move
    if blocked >= 0:
        state.goal[blocked] = state.upper[blocked] if move[blocked] > 0.0 else state.lower[blocked]
