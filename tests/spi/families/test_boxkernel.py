from __future__ import annotations

import numpy as np
import pytest
from family_signals import assert_same, by_pairs, context, coupled, off_diagonal, zscore
from hypothesis import given as hypothesis_given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from sclcs.spi.families.boxkernel import MEMBERS, compute
from sclcs.spi.numerics.neighbours import neighbours, population


def near(values: np.ndarray, width: float) -> np.ndarray:
    return np.abs(values[:, None] - values[None, :]) <= width


def entropy(width: float, *variables: np.ndarray) -> float:
    n = variables[0].size
    both = np.ones((n, n), dtype=bool)
    volume = 1.0
    for values in variables:
        half = width * values.std(ddof=1)
        both &= near(values, half)
        volume *= 2 * half
    return float(-np.mean(np.log2(both.sum(axis=1) / n / volume)))


def transfer(x: np.ndarray, i: int, j: int, width: float = 0.25) -> float:
    source, past, following = x[i, :-1], x[j, :-1], x[j, 1:]
    half = width * past.std(ddof=1)
    in_source = near(source, width * source.std(ddof=1))
    in_past, in_next = near(past, half), near(following, half)
    with_source = (in_next & in_past & in_source).sum(1) / (in_past & in_source).sum(1)
    without = (in_next & in_past).sum(1) / in_past.sum(1)
    return float(np.mean(np.log2(with_source / without)))


def lags(series: np.ndarray, count: int) -> list[np.ndarray]:
    return [series[count - 1 - lag : series.size - lag] for lag in range(count)]


def given(present: list[np.ndarray], past: list[np.ndarray]) -> float:
    return entropy(0.5, *present, *past) - entropy(0.5, *past)


def cross_map(x: np.ndarray, i: int, j: int, start: int, n_lags: int) -> float:
    times = np.arange(start, x.shape[1])
    return given([x[j, times]], [x[i, times - lag] for lag in range(1, n_lags + 1)])


def causally_conditioned(x: np.ndarray, i: int, j: int) -> float:
    total = 0.0
    for m in range(1, 6):
        present, *past = lags(x[j], m)
        total += given([present], [*past, *lags(x[i], m)])
    return total


def directed_information(x: np.ndarray, i: int, j: int) -> float:
    blocks = sum(entropy(0.5, *lags(x[j], m)) / m for m in range(1, 6))
    return blocks - causally_conditioned(x, i, j)


def interaction(x: np.ndarray, i: int, j: int) -> float:
    (a, a_past), (b, b_past) = lags(x[i], 2), lags(x[j], 2)
    return given([a], [a_past]) + given([b], [b_past]) - given([a, b], [a_past, b_past])


def information(a: np.ndarray, b: np.ndarray) -> float:
    return entropy(0.25, a) + entropy(0.25, b) - entropy(0.25, a, b)


ORACLES = {
    "je_kernel_W-0.5": lambda x, i, j: entropy(0.5, x[i], x[j]),
    "ce_kernel_W-0.5": lambda x, i, j: entropy(0.5, x[i], x[j]) - entropy(0.5, x[i]),
    "te_kernel_W-0.25_k-1": transfer,
    "mi_kernel_W-0.25": lambda x, i, j: information(x[i], x[j]),
    "tlmi_kernel_W-0.25": lambda x, i, j: information(x[i, :-1], x[j, 1:]),
    "xme_kernel_W-0.5_k1": lambda x, i, j: cross_map(x, i, j, 1, 1),
    "xme_kernel_W-0.5_k10": lambda x, i, j: cross_map(x, i, j, 10, 9),
    "cce_kernel_W-0.5": causally_conditioned,
    "di_kernel_W-0.5": directed_information,
    "si_kernel_W-0.5_k-1": interaction,
}


def test_every_member_has_an_oracle():
    assert set(ORACLES) == set(MEMBERS)


@pytest.mark.parametrize("n_times", [41, 64, 65, 130])
@pytest.mark.parametrize("name", MEMBERS)
def test_definition(name, n_times):
    signals = coupled(n_samples=2, n_times=n_times)
    assert_same(compute(signals, [name], context(2))[name], by_pairs(ORACLES[name], signals))


@settings(max_examples=15, deadline=None)
@hypothesis_given(hnp.arrays(np.int64, (2, 3, 21), elements=st.integers(-3, 3)))
def test_ties(values):
    # No constant row, nor one among the last values that the longest history leaves.
    values[..., [0, 11]], values[..., [1, 12]] = -4, 4
    signals = zscore(values.astype(np.float64))
    result = compute(signals, list(MEMBERS), context(2))
    for name, oracle in ORACLES.items():
        assert_same(result[name], by_pairs(oracle, signals))


@hypothesis_given(st.integers(0, 2**64 - 1))
def test_population(word):
    assert population(np.uint64(word)) == word.bit_count()


@settings(max_examples=20, deadline=None)
@hypothesis_given(
    hnp.arrays(
        np.int64, st.tuples(st.integers(1, 3), st.integers(1, 70)), elements=st.integers(0, 9)
    ),
    st.integers(0, 5),
)
def test_packed_bits_equal_comparisons(values, width):
    x = values.astype(np.float64)
    n_series, n_times = x.shape
    packed = neighbours(x, np.full(n_series, float(width)), 0, n_times)
    bits = np.unpackbits(packed.view(np.uint8), axis=-1, bitorder="little")
    for series in range(n_series):
        np.testing.assert_array_equal(
            bits[series, :, :n_times], near(x[series], width).astype(np.uint8)
        )
    assert not bits[..., n_times:].any()


def test_memory_budget_changes_no_bit():
    signals = coupled()
    names = list(MEMBERS)
    whole, tiled = compute(signals, names, context()), compute(signals, names, context(3, 1))
    for name in names:
        np.testing.assert_array_equal(off_diagonal(whole[name]), off_diagonal(tiled[name]))


@pytest.mark.parametrize("name", ["te_kernel_W-0.25_k-1", "cce_kernel_W-0.5"])
def test_two_time_points_have_no_past(name):
    assert np.isnan(compute(coupled(n_times=2), [name], context())[name]).all()


def test_information_of_independent_signals_is_small_and_of_a_copy_is_its_entropy():
    x = zscore(np.random.default_rng(1).normal(size=(1, 3, 4000)))
    x[0, 2] = x[0, 0]
    name = "mi_kernel_W-0.25"
    found = compute(x, [name], context(1))[name][0]
    assert 0.0 < found[0, 1] < 0.1
    assert found[0, 2] == pytest.approx(information(x[0, 0], x[0, 0]))
