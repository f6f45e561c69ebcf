"""Signals, tables and matrices that cannot be used are refused with a reason."""

import numpy as np
import pandas as pd
import pytest

from sclcs import Cohort, Ranking, Scan, Scans, plot, simulate_cohort
from sclcs._core import InputError, UnreadableFileError
from sclcs.decision import map_operators
from sclcs.spi import compute
from sclcs.stats import rank

ARRAY = np.random.default_rng(0).normal(size=(3, 4, 20))  # sample, region, time
TABLE = pd.DataFrame({"subject": list("xyz"), "window": 0}, index=["s0", "s1", "s2"])


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
    with pytest.raises(InputError, match="got Scans"):
        compute(Scans([Scan("a", "a", lambda: ARRAY[0])], list("abcd")), "pearson")


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
