"""Labelling a cohort changes metadata, not signals: matrices that are there stay good."""

import pandas as pd
import pytest
import zarr

from sclcs._core import DamagedStoreError, InputError
from sclcs.cohort import Cohort, label_cohort
from sclcs.store import compute_store
from sclcs.store.fc_store import FCStore

SOME = ["cov_EmpiricalCovariance", "pec"]


@pytest.fixture
def made(saved_cohort, tmp_path):
    """A cohort on disk, a store of it, and a table of one new column."""
    home = tmp_path / "labelled.zarr"
    cohort = Cohort.open(saved_cohort)
    cohort.save(home)
    store = compute_store(home, tmp_path / "fc", SOME)
    subjects = sorted(set(cohort.samples["subject"]))
    table = tmp_path / "scores.csv"
    scores = pd.DataFrame({"subject": subjects, "score": [k + 0.5 for k in range(len(subjects))]})
    scores.to_csv(table, index=False)
    return home, store, table


def written(path):
    """Return when every file of matrices was written."""
    return {str(file): file.stat().st_mtime_ns for file in (path / "matrices").rglob("c.*")}


def test_a_store_takes_new_metadata_and_nothing_is_computed_again(made):
    home, store, table = made
    before = written(store.path)
    assert before
    cohort, _ = label_cohort(home, table, id_column="subject")
    assert cohort.fingerprint != store.fingerprint
    again = compute_store(home, store.path, SOME)
    assert again.fingerprint == cohort.fingerprint
    assert again.samples["score"].tolist() == cohort.samples["score"].tolist()
    assert written(store.path) == before
    assert FCStore.open(store.path).samples["score"].notna().all()  # its seal is right, too


def test_a_store_of_other_signals_is_refused_as_before(made):
    home, store, _ = made
    cohort = Cohort.open(home)
    other = Cohort(cohort.signals[:] + 1.0, cohort.samples, cohort.regions, cohort.tr)
    with pytest.raises(InputError, match="another cohort"):
        compute_store(other, store.path, SOME)


def test_signals_that_changed_on_disk_are_not_labelled(made):
    """Or their matrices would be taken for those of the signals as they are now."""
    home, _, table = made
    signals = zarr.open_group(str(home), mode="r+")["signals"]
    signals[0, 0, 0] = signals[0, 0, 0] + 1.0
    with pytest.raises(DamagedStoreError):
        label_cohort(home, table, id_column="subject")
