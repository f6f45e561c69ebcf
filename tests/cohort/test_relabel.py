"""Labels for a cohort on disk: joined by id, types kept, old or new but never half."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sclcs import Cohort, simulate_cohort
from sclcs._core import InputError, UnknownNameError
from sclcs.cohort import label_cohort
from sclcs.cohort.check import check_cohort
from sclcs.cohort.storage import aside_path


@pytest.fixture
def stored(tmp_path):
    return simulate_cohort(5, 2, 3, length=40, stride=40, sites=2, seed=2).save(tmp_path / "c.zarr")


@pytest.fixture
def table(stored, tmp_path):
    subjects = Cohort.open(stored).samples["subject"].unique()
    rows = pd.DataFrame(
        {
            "ID": subjects,
            "Symptom score": [1.5, 2.25, np.nan, 4.0, 0.5],
            "Visits": [1, 2, 3, 4, 5],
            "code": ["007", "008", "009", "010", "011"],
            "age": [71, 72, 73, 74, 75],
            "func_mean_fd": [0.1, 0.2, 0.3, 0.4, 0.9],
        }
    )
    rows.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_columns_are_added_and_replaced_with_their_types(stored, table):
    before = Cohort.open(stored)
    after, done = label_cohort(stored, table, id_column="ID")
    assert done.added == ["symptom_score", "visits", "code", "mean_fd"]
    assert done.replaced == ["age"]
    assert (done.by, done.unused, done.unlabelled) == ("subject", 0, [])
    assert after.samples["symptom_score"].dtype == np.float64
    assert after.samples["visits"].dtype == np.int64
    assert after.samples["code"].iloc[0] == "007"
    assert after.samples["age"].tolist() == [71, 71, 72, 72, 73, 73, 74, 74, 75, 75]
    assert after.samples["symptom_score"].isna().sum() == 2
    assert after.fingerprint != before.fingerprint
    assert not any(problem.kind == "damaged" for problem in check_cohort(after))
    np.testing.assert_array_equal(np.asarray(after.signals), np.asarray(before.signals))
    (history,) = after.provenance["relabelled"]
    assert history["fingerprint_before"] == before.fingerprint
    again, _ = label_cohort(stored, table, columns=["visits"])
    assert again.fingerprint == after.fingerprint  # the same content
    assert len(again.provenance["relabelled"]) == 2


def test_single_scans_and_samples_can_be_labelled(stored, tmp_path):
    samples = Cohort.open(stored).samples
    rows = pd.DataFrame({"file": samples.index, "arousal": np.arange(10) / 4})
    rows.to_csv(tmp_path / "s.csv", index=False)
    after, done = label_cohort(stored, tmp_path / "s.csv")
    assert done.by == "sample"
    assert after.samples["arousal"].tolist() == (np.arange(10) / 4).tolist()


def test_subjects_without_a_row_are_named_and_keep_what_they_have(stored, table, tmp_path):
    rows = pd.read_csv(table, dtype=str).iloc[1:]
    rows.to_csv(tmp_path / "part.csv", index=False)
    first = Cohort.open(stored).samples["subject"].iloc[0]
    age = Cohort.open(stored).samples["age"].iloc[0]
    with pytest.raises(InputError, match=rf"no row for 1 subjects.*{first}.*--partial"):
        label_cohort(stored, tmp_path / "part.csv")
    after, done = label_cohort(stored, tmp_path / "part.csv", partial=True)
    assert done.unlabelled == [first]
    assert after.samples["age"].iloc[0] == age
    assert np.isnan(after.samples["visits"].iloc[0])
    with pytest.raises(UnknownNameError, match="no column 'patient'"):
        label_cohort(stored, table, id_column="patient")
    with pytest.raises(InputError, match="No id in the column Visits"):
        label_cohort(stored, table, id_column="Visits")
    with pytest.raises(InputError, match="no column iq"):
        label_cohort(stored, table, columns=["iq"])


@pytest.mark.parametrize("step", ["before", "between"])
def test_interrupted_the_cohort_is_the_old_or_the_new_one(stored, table, monkeypatch, step):
    before = Cohort.open(stored)
    rename = Path.rename

    def stop(self, target):
        if Path(target) == (aside_path(stored) if step == "before" else stored):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stop)
    with pytest.raises(KeyboardInterrupt):
        label_cohort(stored, table)
    monkeypatch.undo()
    if step == "before":
        found = Cohort.open(stored)
        pd.testing.assert_frame_equal(found.samples, before.samples)
        assert found.fingerprint == before.fingerprint
    else:
        assert not stored.exists()
        assert Cohort.open(aside_path(stored)).fingerprint == before.fingerprint
    after, _ = label_cohort(stored, table)
    assert after.samples["visits"].iloc[0] == 1
    assert not any(problem.kind == "damaged" for problem in check_cohort(after))
    assert [path.name for path in stored.parent.iterdir() if path.name.startswith(".")] == []
