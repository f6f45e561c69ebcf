"""tslearn is the oracle; the definition over explicit paths is a second one."""

import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled, zscore
from hypothesis import given, settings, strategies as st
from tslearn.metrics import dtw, itakura_mask, sakoe_chiba_mask, soft_dtw

from sclcs.spi.families import warping
from sclcs.spi.numerics.alignment import antidiagonal_band
from sclcs.spi.numerics.soft_alignment import _with_logarithms, soft_alignment, soft_tables
from sclcs.spi.numerics.vector import exp_of_negative

ORACLES = {
    "dtw": dtw,
    "dtw_constraint-itakura": lambda x, y: dtw(x, y, "itakura"),
    "dtw_constraint-sakoe-chiba": lambda x, y: dtw(x, y, "sakoe_chiba"),
    "softdtw": soft_dtw,
    "softdtw_constraint-itakura": soft_dtw,
    "softdtw_constraint-sakoe-chiba": soft_dtw,
}


@pytest.mark.parametrize("n_times", [2, 3, 4, 41])
def test_equals_tslearn(n_times):
    signals = coupled(n_samples=2, n_regions=4, n_times=n_times)
    found = run(warping, signals)
    for name, oracle in ORACLES.items():
        expected = pairs(signals, oracle)
        np.testing.assert_allclose(found[name], expected, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("n_times", [2, 3, 5, 12, 31])
@pytest.mark.parametrize(
    ("constraint", "mask"),
    [("itakura", itakura_mask), ("sakoe-chiba", sakoe_chiba_mask)],
)
def test_band_is_that_of_tslearn(constraint, mask, n_times):
    first, last = antidiagonal_band(constraint, n_times)
    s, t = np.indices((n_times, n_times))
    allowed = (first[s + t] <= s) & (s <= last[s + t])
    np.testing.assert_array_equal(allowed, mask(n_times, n_times).astype(bool))


def paths(s, t):
    """Yield the cells of all paths from (0, 0) to (s, t)."""
    if s == t == 0:
        yield [(0, 0)]
    for before in ((s - 1, t), (s, t - 1), (s - 1, t - 1)):
        if min(before) >= 0:
            for path in paths(*before):
                yield [*path, (s, t)]


def test_is_the_minimum_over_all_paths():
    signals = coupled(n_samples=1, n_regions=3, n_times=6)

    def costs(x, y):
        return np.array([sum((x[s] - y[t]) ** 2 for s, t in path) for path in paths(5, 5)])

    found = run(warping, signals)
    hard = pairs(signals, lambda x, y: np.sqrt(costs(x, y).min()))
    soft = pairs(signals, lambda x, y: -np.log(np.exp(-costs(x, y)).sum()))
    np.testing.assert_allclose(found["dtw"], hard, rtol=1e-12)
    np.testing.assert_allclose(found["softdtw"], soft, rtol=1e-11)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**16), n_times=st.integers(2, 30))
def test_a_constraint_never_shortens(seed, n_times):
    found = run(warping, coupled(n_samples=1, n_regions=3, n_times=n_times, seed=seed))
    free = np.nan_to_num(found["dtw"])
    assert (np.nan_to_num(found["dtw_constraint-itakura"]) >= free).all()
    assert (np.nan_to_num(found["dtw_constraint-sakoe-chiba"]) >= free).all()
    assert (np.nan_to_num(found["softdtw"]) <= free**2 + 1e-9).all()


def test_shifted_copies_are_near():
    signals = zscore(np.sin(np.arange(60) / 3.0)[None, None] + np.zeros((1, 2, 1)))
    signals[0, 1] = zscore(np.sin((np.arange(60) - 1) / 3.0))
    found = run(warping, signals)
    assert found["dtw"][0, 0, 1] < 0.35 * np.linalg.norm(signals[0, 0] - signals[0, 1])


def soft_both_ways(x, y):
    reversed_y = y[::-1].copy()
    linear, logarithmic = np.zeros((2, x.size))
    value = soft_alignment(x, reversed_y, soft_tables(x.size), linear)
    again = _with_logarithms(x, reversed_y, logarithmic)
    return (value, linear), (again, logarithmic)


@pytest.mark.parametrize(
    ("n_times", "scale"),
    [(30, 1.0), (400, 1.0), (400, 0.01), (60, 40.0), (5, 1e4)],
    ids=["ordinary", "long", "more paths than a number can count", "rescaled", "lost"],
)
def test_sums_of_exponentials_equal_soft_minima(n_times, scale):
    x, y = scale * coupled(n_samples=1, n_regions=2, n_times=n_times)[0]
    (value, gradient), (again, expected) = soft_both_ways(x, y)
    np.testing.assert_allclose(value, again, rtol=1e-11)
    np.testing.assert_allclose(gradient, expected, rtol=1e-8, atol=1e-9 * scale)


def test_gradient_is_that_of_the_value():
    x, y = coupled(n_samples=1, n_regions=2, n_times=12)[0]
    (_, gradient), _ = soft_both_ways(x, y)
    for t in range(x.size):
        up, down = x.copy(), x.copy()
        up[t] += 1e-5
        down[t] -= 1e-5
        slope = (soft_both_ways(up, y)[0][0] - soft_both_ways(down, y)[0][0]) / 2e-5
        np.testing.assert_allclose(gradient[t], slope, rtol=1e-6, atol=1e-8)


def test_exponential_is_accurate():
    x = -np.concatenate([np.linspace(0.0, 3.0, 200), np.geomspace(1e-12, 690.0, 200)])
    ours = np.array([exp_of_negative(value) for value in x])
    np.testing.assert_allclose(ours, np.exp(x), rtol=5e-16)
    assert exp_of_negative(-1e300) < 1e-300
