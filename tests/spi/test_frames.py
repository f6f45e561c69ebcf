"""One axis order: arrays have time last, data frames have a column per region."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sclcs import Cohort
from sclcs._core import AxesWarning, InputError
from sclcs.spi import compute

NAMES = ["PCC", "mPFC", "AGL", "AGR", "vmPFC"]
BOTH = ["pearson", "gc_gaussian_k-1_kt-1_l-1_lt-1"]


def frames_of(signals):
    return [pd.DataFrame(sample.T, columns=NAMES) for sample in signals]


def test_a_data_frame_is_time_by_region(signals):
    found = compute(frames_of(signals)[1], BOTH)
    np.testing.assert_array_equal(found, compute(signals[1], BOTH))
    assert list(found["source"].values) == NAMES == list(found["target"].values)
    assert found.sel(source="AGL", target="PCC")[1, 0] == compute(signals[1], BOTH)[1, 0, 2, 0]


def test_several_data_frames_are_samples(signals):
    found = compute(frames_of(signals), BOTH)
    np.testing.assert_array_equal(found, compute(signals, BOTH))
    named = compute(dict(zip("xyz", frames_of(signals), strict=True)), BOTH)
    assert list(named["sample"].values) == ["x", "y", "z"]
    np.testing.assert_array_equal(named, found)


def test_their_lengths_may_differ(signals):
    frames = frames_of(signals)
    frames[1] = frames[1].iloc[:47]
    found = compute(frames, BOTH)
    np.testing.assert_array_equal(found[:, 1], compute(signals[1, :, :47], BOTH)[:, 0])
    np.testing.assert_array_equal(found[:, 2], compute(signals[2], BOTH)[:, 0])
    assert list(found["source"].values) == NAMES


def table_of(n):
    return pd.DataFrame({"subject": list("abc")[:n], "window": 0}, index=list("uvw")[:n])


def test_cohorts_take_data_frames_and_compute_takes_cohorts(signals):
    cohort = Cohort(frames_of(signals), table_of(3), tr=2)
    assert cohort.regions == tuple(NAMES)
    np.testing.assert_array_equal(cohort.signals, signals.astype(np.float32))
    found = compute(cohort, BOTH)
    assert list(found["sample"].values) == ["u", "v", "w"]
    assert list(found["source"].values) == NAMES
    np.testing.assert_array_equal(found, compute(signals.astype(np.float32), BOTH))
    frames = frames_of(signals)
    frames[2] = frames[2].iloc[:40]
    unequal = Cohort(frames, table_of(3))
    assert unequal.lengths.tolist() == [61, 61, 40]
    np.testing.assert_array_equal(
        compute(unequal, BOTH)[:, 2], compute(signals[2, :, :40].astype(np.float32), BOTH)[:, 0]
    )


def test_more_regions_than_time_points_are_asked_about(signals):
    wide = signals.swapaxes(1, 2)
    with pytest.warns(AxesWarning, match=r"61 regions and only 5 time points.*swapaxes"):
        compute(wide, "pearson")
    with pytest.warns(AxesWarning, match="61 regions"):
        compute(wide[0], "pearson")
    with pytest.warns(AxesWarning, match=r"data frame time x region"):
        compute(pd.DataFrame(wide[0].T), "pearson")
    with pytest.warns(AxesWarning, match="61 regions"):
        Cohort(wide, table_of(3))


def test_names_of_regions_tell_a_swapped_axis_for_sure(signals):
    with pytest.raises(InputError, match=r"axes look swapped.*swapaxes\(1, 2\)"):
        Cohort(signals.swapaxes(1, 2), table_of(3), regions=NAMES)


def test_names_and_units_come_with_the_matrices(signals):
    found = compute(signals, ["mi_gaussian", "pearson", "phase_multitaper_mean*"])
    assert found["units"].to_numpy().tolist() == ["nats", "1", "radians", "radians", "radians"]
    assert found.sel(spi="pearson")["operator"].item() == "Pearson correlation"
    assert found.attrs["long_name"] == "Functional connectivity"
    assert found.attrs["units"] == "see the coordinate units"
    assert compute(signals, "mi_gaussian").attrs["units"] == "nats"
    assert xr.DataArray.from_dict(found.to_dict()).identical(found)


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})], "something else: b"),
        (
            [pd.DataFrame(np.ones((4, 2)), columns=list("ab")),
             pd.DataFrame(np.ones((4, 2)), columns=list("ba"))],
            "those of 1 differ",
        ),
        ([pd.DataFrame(np.ones((4, 2))), np.ones((4, 2))], "some are not"),
        ({"a": np.ones((4, 2))}, "some are not"),
        (pd.DataFrame({"a": [1.0, np.nan, 2.0], "b": [1.0, 2.0, 3.0]}), "finite"),
        ([np.ones((3, 9)), np.ones((3, 8))], "differ in shape"),
    ],
)  # fmt: skip
def test_mistakes_are_named(frames, message):
    with pytest.raises(InputError, match=message):
        compute(frames, "pearson")
