from __future__ import annotations

import numpy as np
import pytest
from family_signals import coupled
from hypothesis import given, strategies as st

from sclcs.spi.numerics.spectra import (
    band_bins,
    decimation,
    frequency_grid,
    smooth_length,
    spectra,
    tapers,
)


@given(st.integers(1, 2000))
def test_smooth_length(n_times):
    def is_smooth(number: int) -> bool:
        return 60 ** number.bit_length() % number == 0

    length = smooth_length(n_times)
    assert length >= n_times
    assert is_smooth(length)
    assert not any(is_smooth(number) for number in range(n_times, length))


@pytest.mark.parametrize(("n_times", "last"), [(70, 35 / 72), (100, 0.49), (45, 22 / 45)])
def test_zero_is_in_and_nyquist_is_out(n_times, last):
    grid = frequency_grid(n_times)
    assert grid[0] == 0
    assert grid[-1] == pytest.approx(last)


@pytest.mark.parametrize("n_times", [9, 16, 70, 240, 1200])
def test_five_orthonormal_tapers(n_times):
    windows = tapers(n_times)
    np.testing.assert_allclose(windows @ windows.T, np.eye(5), atol=1e-9)
    assert not windows.flags.writeable


def test_spectra_are_real_at_frequency_zero():
    transform = spectra(coupled()[0])
    assert transform.real.shape == (5, 5, 23)
    assert (transform.imag[..., 0] == 0).all()


def test_band_ends():
    grid = frequency_grid(100)
    assert band_bins(grid, 0.25, 0.5) == (25, 50)
    assert band_bins(grid, 0.0, 0.25) == (0, 26)
    assert band_bins(grid, 0.0, 0.25, strict=True) == (1, 25)
    assert band_bins(grid, 0.6, 0.7) == (0, 0)


@pytest.mark.parametrize(
    ("n_times", "full", "half"), [(70, 1, 1), (100, 1, 1), (240, 3, 2), (1, 1, 1)]
)
def test_decimation(n_times, full, half):
    grid = frequency_grid(n_times)
    assert decimation(grid, 0.0, 0.5) == full
    assert decimation(grid, 0.0, 0.25) == half
