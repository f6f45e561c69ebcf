from __future__ import annotations

import warnings

import numpy as np
import pytest
from family_signals import assert_same, context, coupled, off_diagonal
from multitaper_oracle import LENGTHS, fourier, values

from sclcs.spi.families.multitaper import MEMBERS, compute


def phase_slope(coherency: np.ndarray) -> np.ndarray:
    total = np.zeros(coherency.shape[:2])
    for b in range(coherency.shape[2]):
        for a in range(b):
            total += (coherency[..., a].conj() * coherency[..., b]).imag
    return total


def oracle(name: str, x: np.ndarray) -> np.ndarray:
    member = MEMBERS[name]
    frequencies, coefficients = fourier(x)
    per_bin = values(coefficients)[member.measure]
    if member.measure == "psi":
        inside = (frequencies > member.lowest) & (frequencies < member.highest)
        step = int(np.ceil((member.highest - member.lowest) / 50 / frequencies[1]))
        return phase_slope(per_bin[..., inside][..., ::step])
    inside = (frequencies >= member.lowest) & (frequencies <= member.highest)
    reduce = np.nanmean if member.statistic == "mean" else np.nanmax
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the diagonal of dswpli is all NaN
        return reduce(per_bin[..., inside], axis=-1)


@pytest.mark.parametrize("n_times", LENGTHS)
def test_definition(n_times):
    signals = coupled(2, 4, n_times, seed=n_times)
    result = compute(signals, list(MEMBERS), context(2))
    for name in MEMBERS:
        assert_same(result[name], np.stack([oracle(name, x) for x in signals]), atol=1e-9)


@pytest.mark.parametrize("name", MEMBERS)
def test_alone_equals_together(name):
    signals = coupled(2, 3, 41)
    together = compute(signals, list(MEMBERS), context(2))[name]
    alone = compute(signals, [name], context(2))[name]
    np.testing.assert_array_equal(off_diagonal(alone), off_diagonal(together))


def test_batch_equals_loop():
    signals = coupled()
    together = compute(signals, list(MEMBERS), context())
    for sample in range(len(signals)):
        alone = compute(signals[[sample]], list(MEMBERS), context(1))
        for name in MEMBERS:
            np.testing.assert_array_equal(
                off_diagonal(alone[name][0]), off_diagonal(together[name][sample])
            )


def test_symmetries():
    result = compute(coupled(), list(MEMBERS), context())
    for name, member in MEMBERS.items():
        value, transposed = result[name], result[name].transpose(0, 2, 1)
        if member.measure not in {"phase", "pli", "wpli", "psi"}:
            np.testing.assert_array_equal(off_diagonal(value), off_diagonal(transposed))
        elif member.measure != "phase" and member.statistic == "mean":
            np.testing.assert_array_equal(off_diagonal(value), -off_diagonal(transposed))


def test_negative_copies_are_real_at_every_frequency():
    signals = coupled()
    signals[:, 1] = -signals[:, 0]
    band = "fs-1_fmin-0_fmax-0-5"
    result = compute(signals, list(MEMBERS), context())
    assert (result[f"pli_multitaper_mean_{band}"][:, 0, 1] == 0).all()
    assert (result[f"wpli_multitaper_mean_{band}"][:, 0, 1] == 0).all()
    assert np.isnan(result[f"dswpli_multitaper_mean_{band}"][:, 0, 1]).all()
    np.testing.assert_allclose(result[f"phase_multitaper_mean_{band}"][:, 0, 1], np.pi)
    np.testing.assert_allclose(result[f"phase_multitaper_mean_{band}"][:, 1, 0], np.pi)
    np.testing.assert_allclose(result[f"plv_multitaper_mean_{band}"][:, 0, 1], 1)


def test_too_short_for_the_tapers_is_nan():
    result = compute(coupled(n_times=6), list(MEMBERS), context())
    assert all(np.isnan(value).all() for value in result.values())
