from unittest.mock import Mock

import pandas as pd
import pytest

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
    return Mock(**{f"{name}.return_value": value for name, value in parts.items()})


def make_ranking(scores, half_width=0.1, score="cohen_d", names=NAMES):
    table = pd.DataFrame({"spi": names, "score": scores})
    table["low"], table["high"] = table["score"] - half_width, table["score"] + half_width
    table["rank"] = table["score"].rank(ascending=False)
    table["rank_low"], table["rank_high"] = table["rank"], table["rank"]
    table["n_samples"], table["status"], table["reason"], table["rank_group"] = 9, "ok", "", ""
    return Ranking(table[list(COLUMNS)], "diagnosis", score)


def judged(basis, **parts):
    verdict, remarks = judge(make_run_stub(**parts), "diagnosis", basis, basis.groups)
    return verdict, " ".join(remark.text for remark in remarks)


@pytest.mark.parametrize(
    ("scores", "half_width", "verdict"),
    [
        ([0.9, 0.5, 0.4], 0.1, "Clear winner"),
        ([0.9, 0.85, 0.4], 0.1, "Close call"),
        ([0.05, -0.3, -0.4], 0.1, "No better than chance"),
        ([0.9, 0.5, 0.4], float("nan"), "No intervals"),
    ],
)
def test_the_verdict_follows_from_the_intervals(scores, half_width, verdict):
    basis = make_ranking(scores, half_width)
    found, _ = judged(basis, ranking=basis, confirmed=basis)
    assert found.text == verdict


def test_chance_depends_on_the_score():
    basis = make_ranking([0.55, 0.4, 0.3], 0.1, "auc")
    verdict, text = judged(basis, ranking=basis, confirmed=basis)
    assert verdict.text == "No better than chance"
    assert "(0.45 to 0.65) does not lie above 0.5" in text
    _, text = judged(make_ranking([0.9, 0.2, 0.1], 0.1, "ident_rate"))
    assert "chance" not in text


def test_rivals_are_counted():
    assert close_rivals(make_ranking([0.9, 0.85, 0.72]).groups) == 2
    assert close_rivals(make_ranking([0.9, 0.5, 0.4]).groups) == 0
    _, text = judged(make_ranking([0.9, 0.75, 0.4]))
    assert "the interval of 1 other operator overlaps" in text


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
