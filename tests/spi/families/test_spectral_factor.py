from __future__ import annotations

import numpy as np
import pytest
from family_signals import assert_same, by_pairs, context, coupled, zscore

from sclcs.spi.families.spectral_factor import MEMBERS, compute, factorise_pairs
from sclcs.spi.numerics.spectra import smooth_length, tapers

FULL = "fs-1_fmin-0_fmax-0-5"


def known_process(length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Transfer function, noise covariance and spectrum of z_t = A z_{t-1} + B z_{t-2} + e_t."""
    first, second = np.array([[0.5, 0.2], [-0.4, 0.3]]), np.array([[-0.3, 0.0], [0.1, 0.2]])
    sigma = np.array([[1.0, 0.4], [0.4, 0.7]])
    delay = np.exp(-2j * np.pi * np.arange(length) / length)[:, None, None]
    transfer = np.linalg.inv(np.eye(2) - first * delay - second * delay**2)
    return transfer, sigma, transfer @ sigma @ transfer.conj().swapaxes(1, 2)


@pytest.mark.parametrize("length", [250, 375])
def test_factor_of_a_known_process(length):
    transfer, sigma, spectrum = known_process(length)
    half = spectrum[: length // 2 + 1]
    power = np.stack([half[:, 0, 0].real, half[:, 1, 1].real])[None]
    factors = factorise_pairs(power, half[None, :, 0, 1].copy(), length)[0]
    np.testing.assert_allclose(factors @ factors.conj().swapaxes(1, 2), half, atol=1e-7)
    whole = np.fft.irfft(factors, n=length, axis=0)
    lag0 = whole[0]
    np.testing.assert_allclose(lag0 @ lag0.T, sigma, atol=1e-7)
    np.testing.assert_allclose(factors @ np.linalg.inv(lag0), transfer[: len(half)], atol=1e-7)
    assert np.abs(whole[length // 2 + 1 :]).max() < 1e-7  # causal


def factorise(x: np.ndarray, i: int, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Wilson's iteration in plain numpy on the whole circle: spectrum, transfer, covariance."""
    length = smooth_length(x.shape[1])
    z = np.fft.fft(x[[i, j], None] * tapers(x.shape[1]), n=length)
    spectrum = np.einsum("ikf,jkf->fij", z, z.conj()) / z.shape[1]
    start = np.linalg.cholesky(np.fft.ifft(spectrum, axis=0)[0].real).T
    factor = np.broadcast_to(start.astype(complex), spectrum.shape)
    for _ in range(60):
        inverse = np.linalg.inv(factor)
        g = inverse @ spectrum @ inverse.conj().swapaxes(1, 2) + np.eye(2)
        lags = np.fft.ifft(g, axis=0)
        lags[0] *= 0.5
        lags[0, 1, 0] = 0.0
        lags[(length + 1) // 2 :] = 0.0
        old, factor = factor, factor @ np.fft.fft(lags, axis=0)
        if np.abs(factor - old).max() < 1e-8:
            break
    lag0 = np.fft.ifft(factor, axis=0)[0].real
    kept = (length + 1) // 2
    return spectrum[:kept], (factor @ np.linalg.inv(lag0))[:kept], lag0 @ lag0.T


def values(measure: str, x: np.ndarray, i: int, j: int) -> np.ndarray:
    """The measure of (i, j) at every frequency, from the definitions with both matrices."""
    if measure == "sgc":
        a, b = sorted((i, j))
        spectrum, h, sigma = factorise(x, a, b)
        to, of = (0, 1) if i < j else (1, 0)
        noise = sigma[of, of] - sigma[0, 1] ** 2 / sigma[to, to]
        total = spectrum[:, to, to].real
        causality = np.log(total) - np.log(total - noise * np.abs(h[:, to, of]) ** 2)
        return np.where(causality > 0, causality, np.nan)
    _, h, sigma = factorise(x, i, j)
    power = np.abs(h) ** 2
    coefficients = np.abs(np.linalg.inv(h)) ** 2
    partial = coefficients / coefficients.sum(axis=1, keepdims=True)
    weighted = coefficients / np.diag(sigma)[None, :, None]
    row = power[:, 0].sum(axis=1)
    return {
        "dtf": power[:, 0, 1] / row,
        "dcoh": power[:, 0, 1] / np.sqrt(row),
        "pdcoh": partial[:, 0, 1],
        "gpdcoh": (weighted / weighted.sum(axis=1, keepdims=True))[:, 0, 1],
        "ddtf": np.sqrt(power[:, 0, 1] / row.sum() * partial[:, 0, 1]),
    }[measure]


@pytest.mark.parametrize("n_times", [41, 45])  # an even and an odd transform (45)
@pytest.mark.parametrize("name", MEMBERS)
def test_definition(name, n_times):
    member = MEMBERS[name]
    signals = coupled(n_samples=1, n_regions=3, n_times=n_times)
    length = smooth_length(n_times)
    f = np.arange((length + 1) // 2) / length
    inside = (f > member.lowest) & (f < member.highest)
    if member.measure == "sgc":
        inside = (f >= max(member.lowest, 1e-5)) & (f <= member.highest)
    reduce = np.nanmean if member.statistic == "mean" else np.nanmax
    expected = by_pairs(lambda x, i, j: reduce(values(member.measure, x, i, j)[inside]), signals)
    assert_same(compute(signals, [name], context(1))[name], expected)


@pytest.mark.parametrize("measure", ["dtf_multitaper", "gpdcoh_multitaper", "sgc_nonparametric"])
def test_orientation_is_column_to_row(measure):
    x = np.random.default_rng(0).normal(size=(1, 2, 400))
    x[0, 1, 1:] += 2 * x[0, 0, :-1]  # region 0 drives region 1
    value = compute(zscore(x), [f"{measure}_mean_{FULL}"], context(1))[f"{measure}_mean_{FULL}"]
    assert value[0, 1, 0] > 1.4 * value[0, 0, 1]


def test_copies_are_nan_and_leave_the_others_alone():
    signals = coupled(n_samples=1)
    names = [f"dtf_multitaper_mean_{FULL}", f"sgc_nonparametric_max_{FULL}"]
    before = compute(signals, names, context(1))
    signals[:, 4] = signals[:, 3]
    after = compute(signals, names, context(1))
    for name in names:
        assert np.isnan(after[name][0, 3, 4])
        np.testing.assert_array_equal(after[name][:, :3, :3], before[name][:, :3, :3])


def test_short_records_are_nan():
    out = compute(coupled(n_samples=1, n_times=6), list(MEMBERS), context(1))
    assert all(np.isnan(matrix).all() for matrix in out.values())
