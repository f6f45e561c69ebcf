"""Shortcuts of alignments change nothing that counts."""

import numpy as np
import pytest

from sclcs.spi.numerics.alignment import (
    align_below,
    antidiagonal_band,
    came_from,
    fill_costs,
    no_moves,
    table_shape,
)
from sclcs.spi.numerics.lanes import WIDTH
from sclcs.spi.numerics.soft_alignment import soft_alignment, soft_alignment_in_band, soft_tables


def two_series(n=61, seed=0, noise=0.6):
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.normal(size=n))
    y = np.roll(x, 3) + noise * rng.normal(size=n)
    return [(z - z.mean()) / z.std() for z in (x, y)]


def path_of(table, n):
    """Walk the best path backwards; a cell is (s, t)."""
    s = t = n - 1
    path = []
    while s >= 0 and t >= 0:
        path.append((s, t))
        diagonal, up, left = table[s + t, s], table[s + t + 1, s], table[s + t + 1, s + 1]
        if diagonal <= up and diagonal <= left:
            s, t = s - 1, t - 1
        elif up <= left:
            s -= 1
        else:
            t -= 1
    return path


def best_path(x, y):
    table = np.zeros(table_shape(x.size, whole=True))
    cost = fill_costs(x, y[::-1].copy(), *antidiagonal_band("none", x.size), table)
    return cost, path_of(table, x.size)


def path_in_lane(moves, lane, n):
    cell, path = (n - 1, n - 1), []
    while min(cell) >= 0:
        path.append(cell)
        cell = came_from(moves, lane, *cell)
    return path


@pytest.mark.parametrize("slack", [1.0, 1.0 + 1e-9, 1.5, 100.0])
@pytest.mark.parametrize("n", [2, 3, 60, 61])
@pytest.mark.parametrize("ties", [False, True])
def test_lanes_below_their_limits_have_the_best_paths(n, slack, ties):
    pairs = [two_series(n, seed=seed) for seed in range(WIDTH)]
    if ties:
        pairs = [[np.round(z) for z in pair] for pair in pairs]
    costs, paths = zip(*(best_path(*pair) for pair in pairs), strict=True)
    limits = slack * np.array([costs])
    limits[0, 5] = -1.0  # a lane that is not used
    x, y = (np.stack(series, axis=1) for series in zip(*pairs, strict=True))
    row, moves = np.full((n + 1, WIDTH), -5.0), no_moves(n)
    moves[:] = 2**16 - 1
    align_below(x, y, limits, row, moves)
    for lane in set(range(WIDTH)) - {5}:
        assert row[n, lane] == costs[lane]
        assert path_in_lane(moves, lane, n) == paths[lane]
    if slack < 1.1 and n > 50 and not ties:
        assert (moves == 2**16 - 1).mean() > 0.3  # left out


@pytest.mark.parametrize("n", [2, 3, 9, 61, 130])
def test_soft_alignment_in_a_band_is_that_of_all_cells(n):
    x, y = two_series(n)
    reversed_y = y[::-1].copy()
    tables, band = soft_tables(n), np.empty((2, 2 * n - 1), dtype=np.int64)
    for step, point in enumerate((x, 0.9 * x + 0.1 * y, 0.5 * (x + y), -x)):
        found, expected = np.zeros(n), np.zeros(n)
        value = soft_alignment_in_band(point, reversed_y, tables, band, step == 0, found)
        assert value == pytest.approx(
            soft_alignment(point, reversed_y, soft_tables(n), expected), rel=1e-12
        )
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    if n == 130:
        soft_alignment_in_band(x, reversed_y, tables, band, True, found)
        assert (band[1] - band[0] + 1).sum() < 0.6 * n * n
