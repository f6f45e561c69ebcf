import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled

from sclcs.spi.families import wavelet


def morlet(f):
    sigma = 7 / (2 * np.pi * f)
    t = np.arange(0, 5 * sigma)
    t = np.concatenate([-t[:0:-1], t])
    w = np.exp(2j * np.pi * f * t) - np.exp(-2 * (np.pi * f * sigma) ** 2)
    w = w * np.exp(-(t**2) / (2 * sigma**2))
    return w / (np.sqrt(0.5) * np.linalg.norm(w))


def phase_slope(x, y, frequencies):
    coherency = []
    for f in frequencies:
        w = morlet(f)
        half = len(w) // 2
        zx, zy = (np.convolve(row, w)[half : half + len(x)] for row in (x, y))
        product = zx * zy.conj()
        coherency.append(product / np.abs(product))
    c = np.array(coherency)
    return (c[:-1].conj() * c[1:]).sum(axis=0).imag


def by_definition(parameters):
    def function(x, y):
        frequencies = np.linspace(0.2, 0.5, 10)
        frequencies = frequencies[frequencies >= 5 / len(x)]
        inside = (frequencies >= parameters.fmin) & (frequencies <= parameters.fmax)
        selected = phase_slope(x, y, frequencies)[np.flatnonzero(inside)]
        return getattr(selected, parameters.statistic)()

    return function


@pytest.mark.parametrize("name", wavelet.MEMBERS)
@pytest.mark.parametrize("n_times", [25, 41, 70])  # the longest wavelet has 55 samples
def test_equals_the_whole_transform(name, n_times):
    signals = coupled(n_times=n_times)
    expected = pairs(signals, by_definition(wavelet.MEMBERS[name]))
    np.testing.assert_allclose(run(wavelet, signals)[name], expected, atol=1e-11)


def test_short_records_lose_low_frequencies():
    signals = coupled(n_times=16)
    out = run(wavelet, signals)
    name = "psi_wavelet_max_fs-1_fmin-0-25_fmax-0-5_max"
    expected = pairs(signals, by_definition(wavelet.MEMBERS[name]))
    np.testing.assert_allclose(out[name], expected, atol=1e-11)
    assert np.isnan(out["psi_wavelet_max_fs-1_fmin-0_fmax-0-25_max"]).all()


@pytest.mark.parametrize("n_times", [2, 9])
def test_too_short_for_five_cycles_is_nan(n_times):
    for matrix in run(wavelet, coupled(n_times=n_times)).values():
        assert np.isnan(matrix).all()
