"""Arrays (time, region), as nilearn returns them, at every door: nothing is swapped or dropped."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import sclcs
from sclcs import Cohort, compute
from sclcs._core import AxesWarning, InputError
from sclcs.spi import compute_batch

RNG = np.random.default_rng(3)
LENGTHS = (61, 47, 53)
SERIES = [RNG.normal(size=(length, 5)) for length in LENGTHS]
EQUAL = RNG.normal(size=(3, 44, 5))  # scan, time, region
NAMES = ["PCC", "mPFC", "AGL", "AGR", "vmPFC"]
BOTH = ["pearson", "gc_gaussian_k-1_kt-1_l-1_lt-1"]
FRAMES = [pd.DataFrame(scan, columns=NAMES) for scan in SERIES]
XARRAY = xr.DataArray(
    EQUAL, dims=("scan", "time", "region"), coords={"scan": list("abc"), "region": NAMES}
)


def holds(cohort, series):
    assert cohort.lengths.tolist() == [len(scan) for scan in series]
    for row, scan in zip(cohort.signals, series, strict=True):
        np.testing.assert_array_equal(row[:, : len(scan)], scan.T.astype(np.float32))


@pytest.mark.parametrize(
    ("given", "series", "regions"),
    [
        (SERIES, SERIES, None),
        (tuple(SERIES), SERIES, None),
        (EQUAL, list(EQUAL), None),
        (EQUAL.tolist(), list(EQUAL), None),
        (EQUAL[0], [EQUAL[0]], None),
        (np.ma.masked_array(EQUAL, False), list(EQUAL), None),
        (FRAMES, SERIES, NAMES),
        (FRAMES[1], SERIES[1:2], NAMES),
        ([frame.astype("Float64") for frame in FRAMES], SERIES, NAMES),
        (dict(zip("xyz", FRAMES, strict=True)), SERIES, NAMES),
        (XARRAY, list(EQUAL), NAMES),
        (XARRAY.transpose("region", "scan", "time"), list(EQUAL), NAMES),
        (XARRAY.rename(scan="subject").transpose("time", "region", "subject"), list(EQUAL), NAMES),
        (list(XARRAY.transpose("scan", "region", "time")), list(EQUAL), NAMES),
        (xr.DataArray(EQUAL), list(EQUAL), None),  # no names: the order counts
    ],
)
def test_all_that_holds_series_is_taken(given, series, regions):
    cohort = Cohort.from_arrays(given)
    holds(cohort, series)
    expected = [f"region-{i}" for i in range(5)] if regions is None else regions
    assert list(cohort.regions) == expected
    fc = compute(given, BOTH)
    assert fc.dims == ("spi", "scan", "source", "target")
    for place, scan in enumerate(series):
        alone = compute_batch(scan.T, BOTH)
        np.testing.assert_array_equal(fc[:, place], alone[:, 0])
    assert list(fc["source"].values) == (regions or list(range(5)))


def test_a_cohort_gives_what_its_arrays_give():
    cohort = Cohort.from_arrays([scan.astype(np.float32) for scan in SERIES], regions=NAMES)
    fc = compute(cohort, BOTH)
    np.testing.assert_array_equal(fc, compute([s.astype(np.float32) for s in SERIES], BOTH))
    assert fc.sel(scan="subject-002", source="AGL", target="PCC").shape == (2,)
    assert compute(cohort, "pearson", regions=list("abcde")).sel(source="c").size == 15


@pytest.mark.parametrize("call", [Cohort.from_arrays, lambda x: compute(x, "pearson")])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([scan.T for scan in SERIES], r"axes look swapped: all scans have 5 rows .*\[scan\.T for"),
        ([SERIES[0], SERIES[1][:, :4]], "found scans with 4, 5 regions"),
        ([FRAMES[0], FRAMES[1][NAMES[::-1]]], "those of scan 1"),
        ([FRAMES[0], SERIES[1]], "those of scan 1"),
        ([], "found 0 scans"),
        (EQUAL[0, 0], r"found the shape \(5,\)"),
        ([EQUAL], r"shape of scan 0 \(counted from 0\) is \(3, 44, 5\)"),
        (np.ma.masked_greater(EQUAL, 1), "masked"),
        ([np.ma.masked_greater(scan, 1) for scan in SERIES], "masked"),
        (EQUAL * 1j, "real numbers, got the type complex128"),
        (EQUAL.astype(str), "real numbers"),
        ([FRAMES[0].assign(PCC="text")], "something else: PCC"),
        ([[[1, 2], [3]]] * 3, "unequal"),
        (["a.csv"], "got the text 'a.csv'; read it first"),
        ("cohort.zarr", r"Cohort\.open"),
        ((frame for frame in FRAMES), "generator"),
        (None, "NoneType"),
        (XARRAY.rename(time="t"), r"dimensions time, region and at most one more"),
        ([np.full((9, 3), np.nan)], "NaN"),
    ],
)
def test_what_is_swapped_or_would_be_dropped_is_refused(call, given, message):
    with pytest.raises(InputError, match=message):
        call(given)


def test_names_of_regions_tell_a_swapped_axis_for_sure():
    for door in (Cohort.from_arrays, compute):
        with pytest.raises(InputError, match=r"axes look swapped.*5 region names"):
            door([scan.T[:, :44] for scan in SERIES], regions=NAMES)
        with pytest.raises(InputError, match="Expected 5 region names, got 2"):
            door(SERIES, regions=["a", "b"])
    table = pd.DataFrame({"subject": list("abc"), "window": 0}, index=list("uvw"))
    with pytest.raises(InputError, match=r"axes look swapped.*swapaxes\(1, 2\)"):
        Cohort(EQUAL, table, regions=NAMES)
    with pytest.raises(InputError, match=r"Cohort\.from_arrays takes these"):
        Cohort([pd.DataFrame(scan) for scan in EQUAL], table)


def test_more_regions_than_time_points_are_asked_about_where_nothing_tells():
    wide = RNG.normal(size=(2, 20, 30))
    with pytest.warns(AxesWarning, match="30 regions and only 20 time points"):
        Cohort.from_arrays(wide)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AxesWarning)
        Cohort.from_arrays(wide, regions=[f"r{k}" for k in range(30)])


@pytest.mark.parametrize("column", ["subject", "participant_id", "Sub", "ID", "SubID", None])
def test_a_table_tells_who_is_who_in_the_order_of_its_rows(column):
    table = pd.DataFrame({"who": [7, 3, 7], "age": [30.5, np.nan, 31], "Site": ["x", "y", None]})
    table = table.set_index("who") if column is None else table.rename(columns={"who": column})
    cohort = Cohort.from_arrays(SERIES, table, tr=2.0)
    assert cohort.samples["subject"].tolist() == ["7", "3", "7"]
    assert cohort.sample_ids == ["7_scan-1", "3", "7_scan-2"]
    assert cohort.samples["Site"].tolist() == ["x", "y", None]
    np.testing.assert_array_equal(cohort.samples["age"], [30.5, np.nan, 31])
    assert cohort.tr == 2.0
    holds(cohort, SERIES)


def test_scans_with_names_find_their_rows():
    by_name = dict(zip(["sub-03", "sub-01", "sub-02"], SERIES, strict=True))
    table = pd.DataFrame({"participant_id": ["sub-01", "sub-02", "sub-03"], "age": [1, 2, 3]})
    cohort = Cohort.from_arrays(by_name, table)
    assert cohort.samples["age"].tolist() == [3, 1, 2]
    assert cohort.sample_ids == ["sub-03", "sub-01", "sub-02"]
    numbers = table.assign(participant_id=[1.0, 2.0, 3.0])
    assert Cohort.from_arrays(by_name, numbers).samples["age"].tolist() == [3, 1, 2]
    visits = {f"sub-01_ses-{k}": scan for k, scan in enumerate(SERIES)}
    cohort = Cohort.from_arrays(visits, table)
    assert cohort.samples["age"].tolist() == [1, 1, 1]
    assert cohort.samples["subject"].unique().tolist() == ["sub-01"]
    indexed = table.set_index(pd.Index(visits, name="scan"))
    assert Cohort.from_arrays(visits, indexed).samples["age"].tolist() == [1, 2, 3]
    assert Cohort.from_arrays(visits).samples["session"].tolist() == ["0", "1", "2"]
    with pytest.raises(InputError, match=r"none for sub-09; rows are found by"):
        Cohort.from_arrays({**by_name, "sub-09": SERIES[0]}, table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"age": [1, 2]}), "found 2 rows for 3 scans"),
        (pd.DataFrame({"subject": ["a", None, "c"]}), "column subject is empty in row 1"),
        (pd.DataFrame([[1, 2]] * 3, columns=["a", "a"]), "repeated: a"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        Cohort.from_arrays(SERIES, table)


def test_columns_that_a_cohort_needs_itself_are_renamed_and_options_cut():
    table = pd.DataFrame({"window": [5, 6, 7], "Group": list("abb")})
    cohort = Cohort.from_arrays(SERIES, table, window=20, stride=20)
    assert cohort.samples["window_label"].tolist() == [5, 5, 5, 6, 6, 7, 7]
    assert cohort.samples["window"].tolist() == [0, 1, 2, 0, 1, 0, 1]
    assert cohort.sample_ids[1] == "subject-001_w1"
    assert "Group" in cohort.samples


def test_names_and_units_come_with_the_matrices():
    found = compute(SERIES, ["mi_gaussian", "pearson", "phase_multitaper_mean*"])
    assert found["units"].to_numpy().tolist() == ["nats", "1", "radians", "radians", "radians"]
    assert found.sel(spi="pearson")["operator"].item() == "Pearson correlation"
    assert found.attrs["long_name"] == "Functional connectivity"
    assert found.attrs["units"] == "see the coordinate units"
    assert compute(SERIES, "mi_gaussian").attrs["units"] == "nats"
    assert xr.DataArray.from_dict(found.to_dict()).identical(found)
    assert sclcs.compute is compute


def test_matrices_are_ranked_with_the_cohort_they_come_from():
    cohort = sclcs.simulate_cohort(10, 2, 5, length=40, stride=40, seed=1)
    quick = {"permutations": 50, "bootstrap": 50}
    of_matrices = sclcs.rank(compute(cohort, BOTH), "subject", cohort=cohort, **quick)
    of_cohort = sclcs.rank(cohort, task="subject", spis=BOTH, **quick)
    columns = ["spi", "score"]
    pd.testing.assert_frame_equal(of_matrices.table[columns], of_cohort.table[columns])
    assert of_cohort.best in BOTH
    assert len(of_cohort.plot().get_yticklabels()) == 2
    assert len(sclcs.select(cohort, "random", ratio=0.5)) == 10


def test_swapped_axes_show_in_what_scans_have_in_common():
    rng = np.random.default_rng(8)
    mixing = rng.normal(size=(9, 9))
    white = rng.normal(size=(6, 63, 9))
    scans = [sum(one[k : k + 60] for k in range(4)) @ mixing for one in white]
    assert sclcs.Cohort.from_arrays(scans).n_regions == 9
    with pytest.raises(InputError, match=r"axes look swapped.*scan\.T"):
        sclcs.Cohort.from_arrays([scan.T for scan in scans])
