import numpy as np
import pytest
from small_fc import make_cohort, make_fc

from sclcs._core.errors import InputError
from sclcs.cohort.coreset import CoreSet
from sclcs.stats import (
    CRITERIA,
    ArraySource,
    make_question,
    rank,
    score_reliability,
    split_half_ceiling,
)
from sclcs.stats.concordance import consistency

NAMES = ["kendalltau", "gwtau", "pec", "pec_orth", "prec_OAS", "mi_gaussian", "tlmi_gaussian"]


@pytest.fixture
def many(rng):
    """Thirty subjects with three samples each, seven operators of growing quality."""
    subjects = np.repeat([f"p{i:02d}" for i in range(30)], 3)
    labels = np.repeat(["u", "v"] * 15, 3)
    cohort = make_cohort(subjects, label=labels)
    return ArraySource(make_fc(cohort, 7, rng, effect=1.5), NAMES, cohort)


ON_SUBJECTS = [name for name, c in CRITERIA.items() if "subject" in c.kinds]


@pytest.mark.parametrize("score", ON_SUBJECTS)
def test_a_half_scores_like_the_core_set_of_its_samples(many, score):
    question = make_question(many.samples, "subject")
    design = question.pairs
    draws = question.halves(1, seed=0)
    halves = []
    for draw in draws:
        members = design.rows[draw[design.subjects] == 1]
        core = CoreSet([many.sample_ids[row] for row in members])
        halves.append(rank(many, coreset=core, score=score, bootstrap=0, permutations=0))
    expected = consistency(*halves, k=[3])
    found = split_half_ceiling(many, score=score, splits=1, k=[3])
    for name in ("ndcg@3", "kendall", "overlap@3"):
        assert found[name]["mean"] == pytest.approx(expected[name], abs=1e-4)


def test_ceiling_is_high_for_clear_operators_and_low_for_noise(many, rng):
    clear = split_half_ceiling(many, "subject", splits=10, k=[3], seed=2)
    noise = split_half_ceiling(many, "label", splits=10, k=[3], seed=2)
    assert clear["kendall"]["mean"] > 0.8
    assert abs(noise["kendall"]["mean"]) < 0.6
    assert clear["ndcg@3"]["low"] <= clear["ndcg@3"]["mean"] <= clear["ndcg@3"]["high"]


def test_reliability_lists_every_score(many):
    table = score_reliability(many, "subject", splits=8, k=3)
    assert table["score"].tolist() == ON_SUBJECTS
    by_name = table.set_index("score")
    assert by_name.loc["cohen_d", "spearman"] > 0.8
    assert by_name.loc["cohen_d", "pearson"] > by_name.loc["ratio", "pearson"]
    assert set(table.columns[1:]) == {
        "pearson",
        "spearman",
        "kendall",
        "ndcg@3 raw",
        "ndcg@3 minmax",
    }


def test_too_little_to_split_is_said(many):
    with pytest.raises(InputError, match="no within pair"):
        split_half_ceiling(many, coreset=CoreSet(["s0", "s3"]))
    with pytest.raises(InputError, match="at least two operators"):
        split_half_ceiling(many, spis=["pec"])
    with pytest.raises(InputError, match="too few subjects"):
        split_half_ceiling(many, coreset=CoreSet(["s0", "s1", "s3"]))
    with pytest.raises(InputError, match="splits must be"):
        split_half_ceiling(many, splits=0)
