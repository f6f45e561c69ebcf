"""``sclcs.select``, ``sclcs.compare`` and ``sclcs.balance`` as a user calls them."""

import numpy as np
import pytest

import sclcs
from sclcs._core.errors import InputError


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    cohort = sclcs.simulate_cohort(12, 3, 4, length=60, seed=2)
    path = tmp_path_factory.mktemp("study") / "cohort.zarr"
    cohort.save(path)
    return cohort, path


def test_a_path_is_as_good_as_a_cohort(study, tmp_path):
    cohort, path = study
    core = sclcs.select(path, "sclcs-dense", 0.25, epochs=2, device="cpu", cache=False)
    again = sclcs.select(cohort, "sclcs-dense", 0.25, epochs=2, cache=False)
    assert list(core.sample_ids) == list(again.sample_ids)
    assert core.parameters["epochs"] == 2
    file = core.save(tmp_path / "core.csv")
    assert sclcs.balance(path, file) == sclcs.balance(cohort, core)
    assert sclcs.compare(file, again)["jaccard"] == 1


def test_epochs_are_refused_by_methods_that_do_not_train(study):
    with pytest.raises(InputError, match="epochs"):
        sclcs.select(study[0], "random", epochs=3)


def test_core_sets_are_compared_by_what_they_share(study):
    cohort = study[0]
    ids = cohort.sample_ids
    one = sclcs.CoreSet(ids[:4], score=[1, 2, 3, 4]).bound_to(cohort)
    other = sclcs.CoreSet(ids[1:6], score=[2, 3, 4, 0, 0]).bound_to(cohort)
    found = sclcs.compare(one, other)
    assert (found["shared"], found["jaccard"], found["spearman"]) == (3, 0.5, 1)
    persons = [set(core.subjects) for core in (one, other)]
    assert found["subjects_jaccard"] == len(persons[0] & persons[1]) / len(persons[0] | persons[1])
    unknown = sclcs.compare(sclcs.CoreSet(ids[:2]), other)
    assert np.isnan([unknown["spearman"], unknown["subjects_jaccard"]]).all()


def test_a_ranking_and_a_core_set_do_not_compare(study, tmp_path):
    core = sclcs.select(study[0], "random")
    ranking = sclcs.stats.rank(study[0], "subject", ["spearmanr", "cov_EmpiricalCovariance"])
    assert sclcs.compare(ranking, ranking.save(tmp_path / "r.csv"), k=[1])["ndcg@1"] == 1
    with pytest.raises(InputError, match="one of each"):
        sclcs.compare(ranking, core)
