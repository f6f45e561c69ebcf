from __future__ import annotations

import numpy as np
import pytest
from family_signals import assert_same, context, coupled, off_diagonal, zscore
from multitaper_oracle import LENGTHS, fourier, values
from scipy.stats import false_discovery_control, norm

from sclcs.spi.families.groupdelay import MEMBERS, compute

FULL = "gd_multitaper_delay_fs-1_fmin-0_fmax-0-5"


def delayed(n_samples: int, n_times: int, seed: int = 0) -> np.ndarray:
    """One source and three delayed, noisy copies, and one independent region."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(n_samples, n_times + 3))
    rows = [source[:, lag : lag + n_times] for lag in range(4)]
    noise = rng.normal(size=(n_samples, 5, n_times))
    return zscore(np.stack([*rows, 0 * rows[0]], axis=1) + 0.4 * noise)


def longest_run(flags: np.ndarray) -> np.ndarray:
    runs = np.split(np.arange(flags.size), np.flatnonzero(np.diff(flags)) + 1)
    runs = [run for run in runs if flags[run[0]]]
    return max(runs, key=len) if runs else np.array([], dtype=int)


def oracle(name: str, x: np.ndarray) -> np.ndarray:
    member = MEMBERS[name]
    frequencies, coefficients = fourier(x)
    inside = (frequencies > member.lowest) & (frequencies < member.highest)
    step = int(np.ceil((member.highest - member.lowest) / 50 / frequencies[1]))
    frequencies = frequencies[inside]
    coherency = values(coefficients)["psi"][..., inside]
    rows, columns = np.triu_indices(len(x), 1)
    bias = 1 / (2 * len(coefficients) - 2)
    z = (np.arctanh(np.abs(coherency[rows, columns])) - bias) / np.sqrt(bias)
    adjusted = false_discovery_control(norm.sf(z).ravel()).reshape(z.shape)
    out = np.full((len(x), len(x)), np.nan)
    for i, j, p_values in zip(rows, columns, adjusted, strict=True):
        run = longest_run(p_values <= 0.05)[::step]
        if run.size >= 3:
            phase = np.unwrap(np.angle(coherency[i, j]))
            slope = np.polyfit(frequencies[run], phase[run], 1)[0]
            out[i, j], out[j, i] = slope / (2 * np.pi), -slope / (2 * np.pi)
    return out


@pytest.mark.parametrize("n_times", LENGTHS)
@pytest.mark.parametrize("name", MEMBERS)
def test_definition(name, n_times):
    signals = delayed(3, n_times)
    expected = np.stack([oracle(name, x) for x in signals])
    assert np.isfinite(expected).any()
    assert_same(compute(signals, [name], context())[name], expected, atol=1e-8)


def test_recovers_the_delay():
    delays = compute(delayed(3, 400), [FULL], context())[FULL]
    np.testing.assert_allclose(delays[:, 0, 2], -2.0, atol=0.3)
    assert np.isnan(delays[:, 4, :3]).all()


def test_memory_budget_changes_no_bit():
    signals = delayed(3, 60)
    whole = compute(signals, list(MEMBERS), context())
    counted = compute(signals, list(MEMBERS), context(memory_bytes=1))
    for name in MEMBERS:
        np.testing.assert_array_equal(off_diagonal(whole[name]), off_diagonal(counted[name]))


def test_nothing_significant_is_nan():
    rng = np.random.default_rng(1)
    signals = zscore(rng.normal(size=(3, 5, 41)))
    assert np.isnan(compute(signals, [FULL], context())[FULL]).all()


@pytest.mark.parametrize("n_times", [2, 6, 7])
def test_too_short_is_nan(n_times):
    result = compute(coupled(n_times=n_times), list(MEMBERS)[1:], context())
    assert all(np.isnan(value).all() for value in result.values())
