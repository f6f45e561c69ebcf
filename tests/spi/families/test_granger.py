from __future__ import annotations

import numpy as np
import pytest
from family_signals import assert_same, by_pairs, context, coupled, zscore

from sclcs.spi.families.granger import MEMBERS, compute, search_histories

SEARCH = "gc_gaussian_k-max-10_tau-max-2"
ONE = "gc_gaussian_k-1_kt-1_l-1_lt-1"
TEN = "te_symbolic_k-10_kt-1_l-1_lt-1"


def history(values: np.ndarray, shape: tuple[int, int], times: np.ndarray) -> np.ndarray:
    length, delay = shape
    return np.stack([values[times - place * delay] for place in range(length)], axis=1)


def unexplained(outcome: np.ndarray, *histories: np.ndarray) -> float:
    """Residual variance of a regression with intercept."""
    design = np.column_stack([np.ones(outcome.size), *histories])
    fit = np.linalg.lstsq(design, outcome, rcond=None)[0]
    return float(np.sum((outcome - design @ fit) ** 2))


def transfer(source, target, source_shape, target_shape) -> float:
    start = max((n - 1) * delay for n, delay in (source_shape, target_shape))
    times = np.arange(start, source.size - 1)
    own, other = history(target, target_shape, times), history(source, source_shape, times)
    following = target[times + 1]
    return 0.5 * np.log(unexplained(following, own) / unexplained(following, own, other))


def best_history(values: np.ndarray) -> tuple[int, int]:
    best, chosen = -np.inf, (1, 1)
    for length in range(1, 11):
        for delay in (1, 2) if length > 1 else (1,):
            times = np.arange((length - 1) * delay, values.size - 1)
            following = values[times + 1]
            rest = unexplained(following, history(values, (length, delay), times))
            stored = 0.5 * np.log(unexplained(following) / rest) - length / (2 * times.size)
            if stored > best:
                best, chosen = stored, (length, delay)
    return chosen


def searched(x, i, j):
    return transfer(x[i], x[j], best_history(x[i]), best_history(x[j]))


ORACLES = {
    ONE: lambda x, i, j: transfer(x[i], x[j], (1, 1), (1, 1)),
    TEN: lambda x, i, j: transfer(x[i], x[j], (1, 1), (10, 1)),
    SEARCH: searched,
}


@pytest.mark.parametrize("name", ORACLES)
def test_definition(name):
    signals = coupled(n_times=61, seed=3)
    assert_same(compute(signals, [name], context())[name], by_pairs(ORACLES[name], signals))


def test_search_finds_different_histories():
    x = coupled(1, 12, 61, seed=4)[0]
    shapes = search_histories(x, 10, 2)
    np.testing.assert_array_equal(shapes, [best_history(values) for values in x])
    assert len({tuple(shape) for shape in shapes}) > 2


def test_the_symbolic_name_means_the_gaussian_operator():
    result = compute(coupled(), [ONE, "te_symbolic_k-1_kt-1_l-1_lt-1"], context())
    first, second = result.values()
    np.testing.assert_array_equal(first, second)
    assert first is not second


@pytest.mark.parametrize("name", MEMBERS)
def test_a_copy_of_the_target_transfers_nothing(name):
    signals = coupled(n_times=61)
    signals[:, 1] = -signals[:, 0]
    values = compute(signals, [name], context())[name]
    assert (values[:, 0, 1] == 0).all()
    assert (values[:, 1, 0] == 0).all()


@pytest.mark.parametrize("name", MEMBERS)
def test_a_delayed_copy_receives_infinite_information(name):
    signals = coupled(n_times=61)
    signals[:, 1] = zscore(np.roll(signals[:, 0], 1))
    signals[:, 1, 0] = 0.3
    values = compute(signals, [name], context())[name]
    assert np.isposinf(values[:, 0, 1]).all()


def test_a_source_inside_the_target_history_transfers_nothing():
    signals = coupled(n_times=61)
    signals[:, 1, 1:] = signals[:, 0, :-1]
    assert (compute(signals, [TEN], context())[TEN][:, 1, 0] == 0).all()


def test_a_perfectly_predictable_target_receives_nothing():
    signals = coupled(n_times=61)
    signals[:, 2] = zscore(np.sin(0.7 * np.arange(61)))
    for name in (SEARCH, TEN):
        values = compute(signals, [name], context())[name]
        assert (np.delete(values[:, :, 2], 2, axis=1) == 0).all()


def test_dependent_history_values_are_dropped():
    """A source of period two has a history of rank one, however long it is."""
    signals = coupled(n_times=61)
    signals[:, 0] = zscore(np.broadcast_to(np.arange(61) % 2, (3, 61)).astype(float))
    values = compute(signals, [ONE, SEARCH], context())
    assert np.isfinite(values[SEARCH][:, 0, 1:]).all()
    assert (values[ONE][:, 1:, 0] == 0).all()


@pytest.mark.parametrize(("name", "shortest"), [(ONE, 3), (TEN, 12), (SEARCH, 21)])
def test_shortest_record(name, shortest):
    too_short = compute(coupled(n_times=shortest - 1), [name], context())[name]
    assert np.isnan(too_short).all()
    enough = compute(coupled(n_times=shortest), [name], context())[name]
    assert not np.isnan(np.delete(enough[:, 0], 0, axis=1)).any()


def test_memory_budget_changes_nothing():
    signals = coupled(n_times=61)
    small = compute(signals, [SEARCH], context(memory_bytes=1))[SEARCH]
    assert_same(small, compute(signals, [SEARCH], context())[SEARCH], atol=1e-12)
