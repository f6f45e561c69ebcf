import math

import numpy as np
import pandas as pd
import pytest

from sclcs._core.errors import UnknownNameError
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.stats import balance

# The paper's cohort: subjects per site, 458 patients and 446 controls, five windows each.
SITES = {"15": 67, "17": 82, "19": 49, "20": 479, "21": 144, "22": 38, "23": 45}


@pytest.fixture(scope="module")
def paper_cohort():
    sites = np.repeat(list(SITES), list(SITES.values()))
    diagnosis = np.random.default_rng(0).permutation(["MDD"] * 458 + ["HC"] * 446)
    subjects = np.repeat(np.arange(904), 5)
    samples = pd.DataFrame(
        {
            "subject": subjects.astype(str),
            "window": np.tile(range(5), 904),
            "site": sites[subjects],
            "diagnosis": diagnosis[subjects],
        },
        index=[f"s{i}" for i in range(4520)],
    )
    return Cohort(np.zeros((4520, 1, 2)), samples)


def test_the_whole_cohort_is_balanced(paper_cohort):
    found = balance(paper_cohort, CoreSet(paper_cohort.sample_ids))
    assert found["samples_per_subject"] == 5
    assert found["class_ratio"] == pytest.approx(458 / 446)
    assert found["log_class_ratio"] == pytest.approx(math.log(458 / 446))
    assert found["class_ratio_of"] == "MDD / HC"
    assert found["site_l1_samples"] == found["site_l1_subjects"] == 0
    assert found["subject_coverage"] == 1
    assert found["shares"]["site"]["20"]["coreset_subjects"] == pytest.approx(479 / 904)


@pytest.mark.parametrize(
    ("ratio", "per_subject", "l1_samples", "l1_subjects"),
    [(0.1, 1.22, 0.073, 0.065), (0.3, 1.80, 0.037, 0.024), (0.5, 2.58, 0.025, 0.010)],
)
def test_random_core_sets_match_the_method(
    paper_cohort, ratio, per_subject, l1_samples, l1_subjects
):
    rows = []
    for draw in range(30):
        chosen = np.random.default_rng(draw).permutation(4520)[: int(ratio * 4520)]
        core = CoreSet([f"s{i}" for i in chosen])
        rows.append(balance(paper_cohort, core, labels=["site"]))
    table = pd.DataFrame(rows)
    error = table[["site_l1_samples", "site_l1_subjects"]].std() / np.sqrt(len(table))
    assert table["samples_per_subject"].mean() == pytest.approx(per_subject, abs=0.01)
    assert table["site_l1_samples"].mean() == pytest.approx(l1_samples, abs=4 * error.iloc[0])
    assert table["site_l1_subjects"].mean() == pytest.approx(l1_subjects, abs=4 * error.iloc[1])


def test_small_example_by_hand(cohort):
    # s0..s2 subject a (MDD), s3, s4 b (HC), s5, s6 c (HC)
    found = balance(cohort, CoreSet(["s0", "s1", "s3"]), labels=["diagnosis"])
    assert found["samples"] == 3
    assert found["subjects"] == 2
    assert found["subject_coverage"] == pytest.approx(2 / 3)
    assert found["samples_per_subject"] == 1.5
    assert found["class_ratio"] == 2
    assert found["diagnosis_l1_samples"] == pytest.approx(2 * (2 / 3 - 3 / 7))
    assert found["diagnosis_l1_subjects"] == pytest.approx(2 * (1 / 2 - 1 / 3))


def test_one_class_only(cohort):
    assert balance(cohort, CoreSet(["s0"]))["class_ratio"] == math.inf
    assert balance(cohort, CoreSet(["s0"]))["log_class_ratio"] == math.inf
    nobody = balance(cohort, CoreSet(["s3"]))
    assert (nobody["class_ratio"], nobody["log_class_ratio"]) == (0, -math.inf)
    assert balance(cohort, CoreSet(["s0"]), case="HC")["class_ratio"] == 0


def test_unknown_names_are_named(cohort):
    with pytest.raises(UnknownNameError, match="no column 'scanner'"):
        balance(cohort, CoreSet(["s0"]), labels=["scanner"])
    with pytest.raises(UnknownNameError, match="No sample has the class 'BD'"):
        balance(cohort, CoreSet(["s0"]), case="BD")
    with pytest.raises(UnknownNameError, match="s99"):
        balance(cohort, CoreSet(["s99"]))
