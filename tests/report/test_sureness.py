from unittest.mock import Mock

import pandas as pd
import pytest

from sclcs.benchmark.criteria import CRITERIA
from sclcs.benchmark.ranking import COLUMNS, Ranking
from sclcs.report.html.sections.sureness import close_rivals, judge

NAMES = ["kendalltau", "cov_OAS", "mi_gaussian"]


def make_run_stub(ranking=None, confirmed=None, truth=None, certificate=None):
    """A run as far as the judgement is concerned."""
    parts = {
        "ranking": ranking,
        "confirmed": confirmed,
        "truth": truth,
        "certificate": certificate,
    }
    run = Mock(**{f"{name}.return_value": value for name, value in parts.items()})
    run.core.parameters = {}
    return run


def make_ranking(scores, half_width=0.1, score="cohen_d", names=NAMES, p=0.001):
    table = pd.DataFrame({"spi": names, "name": names, "score": scores})
    table["low"], table["high"] = table["score"] - half_width, table["score"] + half_width
    table["rank"] = table["score"].rank(ascending=False)
    table["rank_low"], table["rank_high"] = table["rank"], table["rank"]
    reach = table["score"].max() - 2 * half_width
    table["best_set"] = table["score"] >= reach
    table["best_p"] = table["best_set"].astype(float).where(table["low"].notna())
    table["n_samples"], table["status"], table["reason"], table["rank_group"] = 9, "ok", "", ""
    for name in set(COLUMNS) - set(table.columns):
        table[name] = "" if name in {"source", "scatter_class"} else float("nan")
    findings = {"entries": len(names), "effect": {"p": p, "operators": 1, "exchangeable": None}}
    return Ranking(table[list(COLUMNS)], "diagnosis", score, findings=findings)


def judged(basis, **parts):
    verdict, remarks = judge(make_run_stub(**parts), "diagnosis", basis, basis.groups)
    return verdict, " ".join(remark.text for remark in remarks)


@pytest.mark.parametrize(
    ("scores", "half_width", "p", "verdict"),
    [
        ([0.9, 0.5, 0.4], 0.1, 0.001, "Clear winner"),
        ([0.9, 0.85, 0.4], 0.1, 0.001, "Close call"),
        ([0.9, 0.5, 0.4], 0.1, 0.3, "No effect found"),
        ([0.9, 0.5, 0.4], float("nan"), 0.001, "No intervals"),
    ],
)
def test_permutations_and_the_best_set_decide_the_verdict(scores, half_width, p, verdict):
    basis = make_ranking(scores, half_width, p=p)
    found, _ = judged(basis, ranking=basis, confirmed=basis)
    assert found.text == verdict


def test_an_effect_is_claimed_from_permutations_only():
    _, text = judged(make_ranking([0.9, 0.2, 0.1], p=0.2))
    assert "No operator sees diagnosis" in text
    assert "family-wise p = 0.2" in text
    _, text = judged(make_ranking([0.9, 0.2, 0.1], p=0.001))
    assert "There is an effect of diagnosis" in text


def test_rivals_are_counted():
    assert close_rivals(make_ranking([0.9, 0.85, 0.72]).groups) == 2
    assert close_rivals(make_ranking([0.9, 0.5, 0.4]).groups) == 0
    _, text = judged(make_ranking([0.9, 0.75, 0.4]))
    assert "cannot tell 1 other operator from the best" in text


def test_the_whole_cohort_confirms_or_corrects():
    core, everybody = make_ranking([0.9, 0.5, 0.4]), make_ranking([0.3, 0.8, 0.1])
    _, text = judged(core, ranking=core)
    assert "Not confirmed on the whole cohort yet" in text
    _, text = judged(core, ranking=core, confirmed=core)
    assert "Confirmed: first on the core-set and first on the whole cohort." in text
    _, text = judged(everybody, ranking=core, confirmed=everybody)
    assert "Corrected by the whole cohort: on the core-set it had place 2 of 3." in text


def test_operators_nobody_looked_at_are_counted():
    core = make_ranking([0.9, 0.5, 0.85])
    confirmed = make_ranking([0.9, 0.5], names=NAMES[:2])
    verdict, text = judged(confirmed, ranking=core, confirmed=confirmed)
    assert verdict.text == "Best of those checked"
    assert "1 more operator could be as good, but only the best 2 were computed" in text
    verdict, text = judged(confirmed, ranking=core, confirmed=confirmed, truth=core)
    assert verdict.text == "Clear winner"
    assert "could be as good" not in text


def test_ties_share_the_first_place():
    core = make_ranking([0.9, 0.9, 0.4])
    everybody = make_ranking([0.7, 0.8, 0.1])
    _, text = judged(everybody, ranking=core, confirmed=everybody)
    assert "Confirmed: first" in text


def test_truth_and_certificate_are_told():
    core, truth = make_ranking([0.9, 0.5, 0.4]), make_ranking([0.5, 0.6, 0.1])
    certificate = {
        "task": "diagnosis",
        "ndcg@10": {"expected": 0.951, "low": 0.9, "high": 1.0},
        "confidence": 0.9,
    }
    _, text = judged(core, ranking=core, confirmed=core, truth=truth, certificate=certificate)
    assert "on everybody it has place 2 of 3 (better than 33\u00a0% of them)" in text
    assert "nDCG@10 0.95 (90\u00a0% interval 0.90 to 1.00" in text


@pytest.mark.parametrize(
    ("score", "searched", "says"),
    [
        ("auc", "cohen_d", "The search for it followed Cohen's d"),
        ("cohen_d", "cohen_d", ""),
        ("difference", "difference", ""),
    ],
)
def test_what_was_searched_is_said_where_it_is_not_what_is_certified(score, searched, says):
    """A report by AUC showed a certificate of Cohen's d as if it were its own: fault 4."""
    core = make_ranking([0.9, 0.5, 0.4], score=score)
    ends = {"expected": 0.951, "low": 0.9, "high": 1.0}
    certificate = {"task": "diagnosis", "score": score, "ndcg@10": ends, "confidence": 0.9}
    run = make_run_stub(ranking=core, confirmed=core, certificate=certificate)
    run.core.parameters = {"score_searched": searched}
    _, remarks = judge(run, "diagnosis", core, core.groups)
    (text,) = [remark.text for remark in remarks if remark.text.startswith("Certificate")]
    assert f"never saw by {CRITERIA[score].label} with nDCG@10 0.95" in text
    assert says in text
    assert ("The search" in text) == bool(says)
