from __future__ import annotations

import numpy as np
import pytest
from family_signals import assert_same, by_pairs, context, coupled, off_diagonal, zscore
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sclcs.spi.families._neighbours import neighbours, population
from sclcs.spi.families.boxkernel import MEMBERS, compute


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


ORACLES = {
    "je_kernel_W-0.5": lambda x, i, j: entropy(0.5, x[i], x[j]),
    "ce_kernel_W-0.5": lambda x, i, j: entropy(0.5, x[i], x[j]) - entropy(0.5, x[i]),
    "te_kernel_W-0.25_k-1": transfer,
}


@pytest.mark.parametrize("n_times", [41, 64, 65, 130])
@pytest.mark.parametrize("name", MEMBERS)
def test_definition(name, n_times):
    signals = coupled(n_samples=2, n_times=n_times)
    assert_same(compute(signals, [name], context(2))[name], by_pairs(ORACLES[name], signals))


@settings(max_examples=30, deadline=None)
@given(hnp.arrays(np.int64, (2, 3, 21), elements=st.integers(-3, 3)))
def test_ties(values):
    values[..., 0], values[..., 1] = -4, 4  # no constant row
    signals = zscore(values.astype(np.float64))
    result = compute(signals, list(MEMBERS), context(2))
    for name, oracle in ORACLES.items():
        assert_same(result[name], by_pairs(oracle, signals))


@given(st.integers(0, 2**64 - 1))
def test_population(word):
    assert population(np.uint64(word)) == word.bit_count()


@settings(max_examples=20, deadline=None)
@given(
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


def test_two_time_points_have_no_transfer_entropy():
    name = "te_kernel_W-0.25_k-1"
    assert np.isnan(compute(coupled(n_times=2), [name], context())[name]).all()
