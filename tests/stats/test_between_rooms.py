"""One ranking, whoever hands out the matrices (array, store, cohort); before and after disk."""

import json

import numpy as np
import pandas as pd
import pytest

from sclcs import CoreSet, Ranking, simulate_cohort
from sclcs.spi import compute_batch as compute
from sclcs.stats import rank
from sclcs.store import compute_store

# Two families, twins (Pearson and its distances) and an order that no source keeps.
OPERATORS = ["pdist_euclidean", "pec", "kendalltau", "cov_EmpiricalCovariance", "pdist_cityblock"]
QUESTIONS = {
    "subject": {"task": "subject"},
    "label": {"task": "diagnosis", "within": False},
    "number": {"task": "age"},
    "covariates": {"task": "diagnosis", "covariates": ["sex"], "within": False},
    "pairs": {"task": "diagnosis", "score": "auc", "within": False},
    "core-set": {"task": "diagnosis", "within": False, "coreset": "half"},
}
QUICK = {"bootstrap": 40, "permutations": 39, "seed": 3}


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    cohort = simulate_cohort(24, 3, 6, length=31, stride=31, seed=4)
    fc = compute(np.asarray(cohort.signals), OPERATORS, sample_keys=cohort.sample_ids)
    path = tmp_path_factory.mktemp("rooms") / "fc"
    store = compute_store(cohort, path, OPERATORS)
    return {"cohort": (cohort, {}), "array": (fc, {"cohort": cohort}), "store": (store, {})}


def asked(question, cohort):
    given = dict(QUESTIONS[question])
    if given.pop("coreset", None):
        given["coreset"] = CoreSet(cohort.sample_ids[::2])
    return given


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_ranking_is_the_same_from_everywhere(rooms, question, tmp_path):
    cohort = rooms["cohort"][0]
    given = asked(question, cohort)
    found = {
        (room, n_jobs): rank(source, spis=OPERATORS, n_jobs=n_jobs, **more, **given, **QUICK)
        for room, (source, more) in rooms.items()
        for n_jobs in (1, 2)
    }
    first = found["array", 1]
    assert first.table["score"].notna().all()
    for ranking in found.values():
        pd.testing.assert_frame_equal(ranking.table, first.table, check_exact=True)
        assert json.dumps(ranking.findings) == json.dumps(first.findings)
    again = Ranking.open(first.save(tmp_path / "ranking.csv"))
    pd.testing.assert_frame_equal(again.table, first.table, check_exact=True)
    assert again.findings == first.findings
    assert again.answer == first.answer


def test_the_order_in_which_operators_are_asked_does_not_matter(rooms):
    source, more = rooms["array"]
    one = rank(source, "diagnosis", OPERATORS, **more, **QUICK)
    other = rank(source, "diagnosis", OPERATORS[::-1], **more, **QUICK)
    pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)
