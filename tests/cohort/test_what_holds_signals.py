"""Signals come in many containers: names go with them, and nothing is dropped on the way."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sclcs import Cohort, Ranking, Scan, Scans, plot, simulate_cohort
from sclcs._core import InputError, UnreadableFileError
from sclcs.decision import map_operators
from sclcs.spi import compute
from sclcs.stats import rank

ARRAY = np.random.default_rng(0).normal(size=(3, 4, 20))  # sample, region, time
TABLE = pd.DataFrame({"subject": list("xyz"), "window": 0}, index=["s0", "s1", "s2"])
FRAMES = [pd.DataFrame(sample.T, columns=list("abcd")) for sample in ARRAY]


def same(cohort):
    np.testing.assert_array_equal(cohort.signals, ARRAY.astype(np.float32))


def test_frames_with_names_are_put_into_the_order_of_the_table():
    cohort = Cohort({f"s{k}": FRAMES[k] for k in (2, 0, 1)}, TABLE)
    same(cohort)
    assert cohort.regions == tuple("abcd")
    short = {f"s{k}": frame.iloc[: 10 + k] for k, frame in enumerate(FRAMES)}
    turned = Cohort(dict(reversed(short.items())), TABLE)
    assert turned.lengths.tolist() == [10, 11, 12]
    with pytest.raises(InputError, match=r"without a partner are s2, t2; give a list"):
        Cohort({"s0": FRAMES[0], "s1": FRAMES[1], "t2": FRAMES[2]}, TABLE)


def test_data_arrays_go_by_the_names_of_their_dimensions():
    named = xr.DataArray(
        ARRAY,
        dims=("sample", "region", "time"),
        coords={"sample": TABLE.index, "region": [*"abcd"]},
    )
    for turned in (named, named.transpose("time", "sample", "region"), named[::-1]):
        cohort = Cohort(turned, TABLE)
        same(cohort)
        assert cohort.regions == tuple("abcd")
    fc = compute(named.transpose("time", "region", "sample"), "pearson")
    np.testing.assert_array_equal(fc, compute(ARRAY, "pearson"))
    assert fc.sel(source="b", target="c", sample="s1").size == 1
    one = compute(named[1].transpose(), "pearson")
    np.testing.assert_array_equal(one[0, 0], fc[0, 1])
    bare = compute(xr.DataArray(ARRAY), "pearson")  # no names: the order counts
    np.testing.assert_array_equal(bare, fc)
    with pytest.raises(InputError, match=r"got \('scan', 'region', 'time'\); rename"):
        compute(named.rename(sample="scan"), "pearson")


@pytest.mark.parametrize(
    ("signals", "message"),
    [
        (np.ma.masked_greater(ARRAY, 1), "masked"),
        ([np.ma.masked_greater(sample, 1) for sample in ARRAY], "masked"),
        (ARRAY * 1j, "real numbers, got the type complex128"),
        (ARRAY.astype("M8[s]"), "real numbers"),
        (ARRAY.astype(str), "real numbers"),
        ([FRAMES[0], FRAMES[1], FRAMES[2].assign(b="text")], "something else: b"),
        ([[[1, 2], [3]]] * 3, "unequal"),
        ("cohort.zarr", r"Cohort\.open"),
        ((frame for frame in FRAMES), "generator"),
        (None, "NoneType"),
    ],
)
def test_what_would_be_dropped_or_is_no_number_is_refused(signals, message):
    with pytest.raises(InputError, match=message):
        Cohort(signals, TABLE)
    with pytest.raises(InputError, match=message):
        compute(signals, "pearson")


def test_plain_containers_are_taken():
    same(Cohort(np.ma.masked_array(ARRAY, False), TABLE))
    same(Cohort(ARRAY.tolist(), TABLE))
    same(Cohort([frame.astype("Float64") for frame in FRAMES], TABLE))
    ARRAY.setflags(write=False)
    same(Cohort(ARRAY, TABLE))
    ARRAY.setflags(write=True)


def test_no_time_points_and_too_many():
    with pytest.raises(InputError, match="0 regions x 0 time points"):
        compute(pd.DataFrame(), "pearson")
    with pytest.raises(InputError, match="4 regions x 0 time points"):
        compute(ARRAY, "pearson", lengths=[0, 0, 0])
    with pytest.raises(InputError, match="at most 20 time points"):
        compute(ARRAY, "pearson", lengths=[20, 20, 21])


def test_scans_of_frames_are_time_by_region():
    scans = Scans.from_arrays([frame.iloc[: 15 + k] for k, frame in enumerate(FRAMES)], list("xyz"))
    assert scans.regions == tuple("abcd")
    assert [scan.signals().shape for scan in scans] == [(4, 15), (4, 16), (4, 17)]
    np.testing.assert_array_equal(scans[2].signals(), ARRAY[2, :, :17].astype(np.float32))


def test_columns_of_scans_go_by_their_order_not_by_their_index():
    turned = [2, 1, 0]
    scans = Scans.from_arrays(
        ARRAY, pd.Series(list("xyz"), turned), facts=pd.DataFrame({"site": [7, 8, 9]}, turned)
    )
    assert scans.table["subject"].tolist() == ["x", "y", "z"]
    assert scans.table["site"].tolist() == [7, 8, 9]
    series = Scans.from_arrays(ARRAY, list("xyz"), facts={"site": pd.Series([7, 8, 9], turned)})
    assert series.table["site"].tolist() == [7, 8, 9]
    part = scans[1:]
    assert isinstance(part, Scans)
    assert part.table["site"].tolist() == [8, 9]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signals": ARRAY[:, 0]}, r"\(region, time\), but the shape of scan 0, 1, 2"),
        ({"signals": ["a.csv"] * 3}, "got the text 'a.csv'; read it first"),
        ({"signals": np.ma.masked_greater(ARRAY, 1)}, "masked"),
        ({"signals": ARRAY * 1j}, "complex128"),
        ({"subjects": ["x", None, "z"]}, r"missing for scan 1 \(counted from 0\)"),
        ({"facts": {"subject": list("abc")}}, "in subjects=, not in facts="),
        ({"facts": {"site": [1]}}, "one value of site per scan"),
    ],
)
def test_scans_say_what_is_wrong(arguments, message):
    with pytest.raises(InputError, match=message):
        Scans.from_arrays(**({"signals": ARRAY, "subjects": list("xyz")} | arguments))


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (lambda: 1 / 0, "broken .ZeroDivisionError: division by zero"),
        (lambda: "text", "broken .Expected an array"),
        (lambda: ARRAY[0] * 1j, "broken .*complex128"),
    ],
)
def test_a_scan_that_cannot_be_loaded_is_named_and_can_be_left_out(load, message):
    good = Scan("good", "x", lambda: ARRAY[0])
    scans = Scans([good, Scan("broken", "y", load)], list("abcd"))
    with pytest.raises(UnreadableFileError, match=message):
        scans.to_cohort()
    assert scans.to_cohort(on_bad="skip").samples["subject"].tolist() == ["x"]


def test_scans_are_not_samples():
    with pytest.raises(InputError, match=r"scans\.to_cohort\(\)"):
        compute(Scans.from_arrays(ARRAY, list("xyz")), "pearson")


def test_a_table_that_cannot_be_kept_is_refused(tmp_path):
    with pytest.raises(InputError, match="these are repeated: subject, window"):
        Cohort(ARRAY, pd.concat([TABLE, TABLE], axis=1))
    for window in ("first", np.nan, None, 0.5):
        with pytest.raises(InputError, match="column window is the number of the sample"):
            Cohort(ARRAY, TABLE.assign(window=window))
    for odd in (object(), ARRAY):
        with pytest.raises(InputError, match="provenance of JSON values"):
            Cohort(ARRAY, TABLE, provenance={"odd": odd}).save(tmp_path / "cohort")
    assert list(tmp_path.iterdir()) == []
    kept = Cohort(ARRAY, TABLE, provenance={"n": np.int64(3)}).save(tmp_path / "cohort")
    assert Cohort.open(kept).provenance["n"] == 3


def test_a_path_is_opened_first():
    with pytest.raises(InputError, match=r"got str; open a file first"):
        rank("c.zarr", "subject")
    with pytest.raises(InputError, match=r"Open it first: Ranking\.open\('r.csv'\)"):
        plot.ranking("r.csv")
    with pytest.raises(InputError, match="name of a CSV file, got the folder"):
        Ranking.open(".")


def test_infinite_numbers_are_named_before_anything_is_computed():
    cohort = simulate_cohort(6, 1, 3, length=20, stride=20, seed=0)
    ages = [30.0, np.inf, 31, 32, 33, 34]
    cohort = Cohort(cohort.signals, cohort.samples.assign(age=ages))
    for arguments in ({"task": "age"}, {"task": "diagnosis", "covariates": ["age"]}):
        with pytest.raises(
            InputError, match=r"column age, but it is infinite for sub-\S+; correct"
        ):
            rank(cohort, spis="pearson", treat_as="age=number", **arguments)


def test_nothing_to_draw_is_said():
    with pytest.raises(InputError, match="at least one region"):
        plot.matrix(np.zeros((0, 0)))
    with pytest.raises(InputError, match="finite similarities"):
        map_operators(np.full((3, 3), np.nan))
