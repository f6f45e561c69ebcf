"""Bands of spectral operators, in cycles per sample and in Hz."""

import pytest

from sclcs._core import InputError
from sclcs.spi import bands, catalogue
from sclcs.spi.frequencies import band_in_hz, band_of


def test_every_operator_that_names_a_band_has_one():
    named = [name for name in catalogue().index if "_fs-1_" in name]
    found = bands("all")
    assert sorted(found.index) == sorted(named)
    assert (found["low"] < found["high"]).all()
    assert found["high"].max() == 0.5, "no sample rate holds more"
    assert band_of("sgc_parametric_mean_fs-1_fmin-1e-05_fmax-0-5_order-1") == (1e-05, 0.5)


def test_bands_are_told_for_the_repetition_time():
    name = "cohmag_multitaper_mean_fs-1_fmin-0-25_fmax-0-5"
    assert bands(name, tr=0.8).loc[name].tolist() == pytest.approx([0.25, 0.5, 0.3125, 0.625])
    assert bands(name)["low_hz"].isna().all()
    assert "in Hz divide by the TR" in band_in_hz(name, None)
    assert band_in_hz("kendalltau", 2.0) == ""
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="above 0 seconds"):
            bands(name, tr=wrong)
