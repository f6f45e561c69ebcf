from __future__ import annotations

import numpy as np
import pytest
from family_signals import assert_same, by_pairs, context, coupled, off_diagonal, zscore

from sclcs.spi.families.gaussian import MEMBERS, compute


def entropy(*variables: np.ndarray) -> float:
    covariance = np.atleast_2d(np.cov(np.vstack(variables)))
    size = covariance.shape[0]
    return 0.5 * (size * (1 + np.log(2 * np.pi)) + np.linalg.slogdet(covariance)[1])


def cross_map(x, i, j, start, lags):
    times = np.arange(start, x.shape[1])
    past = [x[i, times - lag] for lag in lags]
    return entropy(*past, x[j, times]) - entropy(*past)


def lagged_information(x, i, j):
    past, following = x[i, :-1], x[j, 1:]
    return entropy(past) + entropy(following) - entropy(past, following)


def lags(series, count, first=0):
    """Values at lags first .. first+count-1, over the times at which lags 0 .. exist."""
    span = first + count - 1
    return [series[span - lag : series.size - lag] for lag in range(first, first + count)]


def given(present, past):
    return entropy(*present, *past) - (entropy(*past) if past else 0.0)


def causally_conditioned(x, i, j):
    total = 0.0
    for m in range(1, 6):
        present, *past = lags(x[j], m)
        total += given([present], [*past, *lags(x[i], m)])
    return total


def directed_information(x, i, j):
    blocks = sum(entropy(*lags(x[j], m)) / m for m in range(1, 6))
    return blocks - causally_conditioned(x, i, j)


def interaction(x, i, j):
    (a, a_past), (b, b_past) = lags(x[i], 2), lags(x[j], 2)
    return given([a], [a_past]) + given([b], [b_past]) - given([a, b], [a_past, b_past])


ORACLES = {
    "je_gaussian": lambda x, i, j: entropy(x[i], x[j]),
    "ce_gaussian": lambda x, i, j: entropy(x[i], x[j]) - entropy(x[i]),
    "mi_gaussian": lambda x, i, j: entropy(x[i]) + entropy(x[j]) - entropy(x[i], x[j]),
    "tlmi_gaussian": lagged_information,
    "xme_gaussian_k1": lambda x, i, j: cross_map(x, i, j, 1, [1]),
    "xme_gaussian_k10": lambda x, i, j: cross_map(x, i, j, 10, range(1, 10)),
    "cce_gaussian": causally_conditioned,
    "di_gaussian": directed_information,
    "si_gaussian_k-1": interaction,
}


def test_every_member_has_an_oracle():
    assert set(ORACLES) == set(MEMBERS)


@pytest.mark.parametrize("name", MEMBERS)
def test_definition(name):
    signals = coupled()
    assert_same(compute(signals, [name], context())[name], by_pairs(ORACLES[name], signals))


def test_a_copy_has_infinite_information_and_no_entropy():
    signals = coupled()
    signals[:, 1] = -signals[:, 0]
    signals[:, 3] = zscore(np.roll(signals[:, 2], 1))
    result = compute(signals, list(MEMBERS), context())
    assert np.isposinf(result["mi_gaussian"][:, 0, 1]).all()
    assert np.isnan(result["je_gaussian"][:, 1, 0]).all()
    assert np.isposinf(result["tlmi_gaussian"][:, 2, 3]).all()
    assert np.isnan(result["xme_gaussian_k10"][:, 2, 3]).all()
    assert np.isnan(result["cce_gaussian"][:, 0, 1]).all()
    assert np.isnan(result["si_gaussian_k-1"][:, 0, 1]).all()
    others = compute(signals[:, [0, 2, 4]], list(MEMBERS), context())
    assert np.isfinite(off_diagonal(others["ce_gaussian"])).all()


def test_a_perfectly_predictable_past_leaves_the_cross_map_undefined():
    signals = coupled()
    signals[:, 0] = zscore(np.sin(0.7 * np.arange(signals.shape[2])))
    entropies = compute(signals, ["xme_gaussian_k10"], context())["xme_gaussian_k10"]
    assert np.isnan(entropies[:, 0]).all()
    assert np.isfinite(off_diagonal(entropies[:, 1:, 1:])).all()


def test_too_short_a_record_is_nan():
    signals = coupled(n_times=11)
    assert np.isnan(compute(signals, ["xme_gaussian_k10"], context())["xme_gaussian_k10"]).all()


@pytest.mark.parametrize("name", ["cce_gaussian", "di_gaussian", "si_gaussian_k-1"])
def test_two_time_points_have_no_histories(name):
    assert np.isnan(compute(coupled(n_times=2), [name], context())[name]).all()


def test_interaction_of_separate_processes_vanishes_and_of_equal_noise_does_not():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(3, 20_000))
    noise[2] = 0.6 * noise[0] + 0.8 * noise[2]
    for t in range(1, noise.shape[1]):
        noise[:, t] += 0.5 * noise[:, t - 1]
    name = "si_gaussian_k-1"
    found = compute(zscore(noise[None]), [name], context(1))[name][0]
    assert abs(found[0, 1]) < 1e-3
    assert found[0, 2] == pytest.approx(-0.5 * np.log(1 - 0.36), abs=0.02)


@pytest.mark.parametrize("name", ["xme_gaussian_k10", "cce_gaussian", "si_gaussian_k-1"])
def test_memory_budget_changes_nothing(name):
    signals = coupled()
    small = compute(signals, [name], context(memory_bytes=1))[name]
    assert_same(small, compute(signals, [name], context())[name], atol=1e-13)
