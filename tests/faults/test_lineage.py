"""Whatever joins two artefacts compares whose they are, and says so."""

import numpy as np
import pandas as pd
import pytest

from sclcs import Cohort, CoreSet, balance, rank, simulate_cohort
from sclcs._core import InputError
from sclcs.cohort import label_cohort
from sclcs.run_folder import verify_path
from sclcs.stats import Ranking
from sclcs.store import FCStore, compute_store

QUICK = {"bootstrap": 0, "permutations": 0}


@pytest.fixture
def stored(tmp_path):
    return simulate_cohort(8, 2, 4, length=40, stride=40, seed=2).save(tmp_path / "c.zarr")


@pytest.fixture
def core(stored):
    """Half of the samples, as `select` binds them."""
    cohort = Cohort.open(stored)
    return CoreSet(cohort.sample_ids[:8], method="random").bound_to(cohort)


@pytest.fixture
def other(stored):
    """A cohort of the same samples with other signals: another preprocessing."""
    cohort = Cohort.open(stored)
    return Cohort(np.asarray(cohort.signals) ** 3, cohort.samples, cohort.regions, cohort.tr)


def relabel(path):
    samples = Cohort.open(path).samples
    flipped = samples["diagnosis"].map({"HC": "MDD", "MDD": "HC"}).groupby(samples["subject"])
    table = pd.DataFrame({"diagnosis": flipped.first()}).rename_axis("subject").reset_index()
    table.to_csv(path.parent / "t.csv", index=False)
    return label_cohort(path, path.parent / "t.csv")[0]


@pytest.mark.parametrize("use", ["rank", "store", "compute", "balance"])
def test_a_core_set_of_another_cohort_is_refused(use, core, other, tmp_path):
    uses = {
        "rank": lambda: rank(other, "diagnosis", "pec", core, **QUICK),
        "store": lambda: rank(compute_store(other, tmp_path / "fc", "pec"), coreset=core, **QUICK),
        "compute": lambda: compute_store(other, tmp_path / "fc", "pec", coreset=core),
        "balance": lambda: balance(other, core),
    }
    with pytest.raises(InputError, match="chosen from another cohort"):
        uses[use]()


def test_sample_ids_alone_belong_to_nobody(core, other, stored):
    plain = CoreSet(core.sample_ids)
    assert balance(other, plain)["samples"] == balance(stored, core)["samples"] == 8


def test_labels_that_came_later_make_no_other_cohort(core, stored):
    cohort = relabel(stored)
    assert balance(cohort, core)["samples"] == 8
    assert len(rank(cohort, "diagnosis", "pec", core, **QUICK)) == 1


def test_a_store_with_old_labels_says_so_until_it_has_the_new_ones(stored, tmp_path):
    store = compute_store(stored, tmp_path / "fc", ["pec"])
    old = store.samples["diagnosis"].tolist()
    ranking = rank(store, "diagnosis", **QUICK)
    ranking.save(tmp_path / "r.csv")
    assert verify_path(tmp_path / "r.csv").findings == []
    relabel(stored)
    with pytest.raises(InputError, match=r"labelled since.*sclcs compute"):
        rank(FCStore.open(tmp_path / "fc"), "diagnosis", **QUICK)
    for place in ("fc", "r.csv"):
        (finding,) = verify_path(tmp_path / place).findings
        assert "labelled since" in finding.what
    again = compute_store(stored, tmp_path / "fc", ["pec"])
    assert again.samples["diagnosis"].tolist() != old
    assert verify_path(tmp_path / "fc").findings == []
    assert len(rank(again, "diagnosis", **QUICK)) == 1
    assert Ranking.open(tmp_path / "r.csv").task == "diagnosis"


def test_a_store_that_moved_with_its_cohort_still_knows_it(stored, tmp_path):
    compute_store(stored, tmp_path / "fc", ["pec"])
    new = tmp_path / "elsewhere"
    new.mkdir()
    for name in ("c.zarr", "fc"):
        (tmp_path / name).rename(new / name)
    relabel(new / "c.zarr")
    with pytest.raises(InputError, match="labelled since"):
        rank(FCStore.open(new / "fc"), "diagnosis", **QUICK)
