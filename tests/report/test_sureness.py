from unittest.mock import Mock

import pandas as pd
import pytest

from sclcs.report.answers import judge
from sclcs.stats.criteria import CRITERIA
from sclcs.stats.ranking_table import COLUMNS, Ranking
from sclcs.stats.targets import Target

NAMES = ["kendalltau", "cov_OAS", "mi_gaussian"]
LEARNED = {"method": "el2n", "samples": 9, "follows_target": True}
DRAWN = {"method": "stratified", "samples": 9, "follows_target": False}


def make_run_stub(ranking=None, confirmed=None, truth=None, *, design=()):
    """A run as far as the judgement is concerned."""
    parts = {"ranking": ranking, "confirmed": confirmed, "truth": truth}
    run = Mock(**{f"{name}.return_value": value for name, value in parts.items()})
    run.budgeted, run.answer = False, {}
    run.check = {"design": design}
    run.config.covariates, run.config.within = ["age", "mean_fd"], None
    run.config.taken_out = {"age", "mean_fd"}
    run.confirmation = {"tasks": {"diagnosis": {}}}
    return run


def make_ranking(
    scores, half_width=0.1, *, score="cohen_d", names=NAMES, p=0.001, coreset=None, halves=0.7
):
    table = pd.DataFrame({"spi": names, "name": names, "score": scores})
    table["low"], table["high"] = table["score"] - half_width, table["score"] + half_width
    table["rank"] = table["score"].rank(ascending=False)
    table["rank_low"], table["rank_high"] = table["rank"], table["rank"]
    reach = table["score"].max() - 2 * half_width
    table["best_set"] = table["score"] >= reach
    table["best_p"] = table["best_set"].astype(float).where(table["low"].notna())
    table["n_samples"], table["status"] = 9, "ok"
    texts = {"source", "scatter_class", "equivalents", "reason", "rank_group"}
    for name in set(COLUMNS) - set(table.columns):
        table[name] = "" if name in texts else float("nan")
    findings = {
        "entries": len(names),
        "effect": {"p": p, "operators": 1, "exchangeable": None},
        "halves": {"kendall": halves},
    }
    if table["best_p"].notna().any():
        findings["best_set"] = {"entries": int(table["best_set"].sum()), "confidence": 0.9}
    return Ranking(table[list(COLUMNS)], "diagnosis", score, coreset, findings=findings)


def judged(basis, **parts):
    found = judge(make_run_stub(**parts), "diagnosis", basis)
    return found.badge, " ".join([found.headline, *(remark.text for remark in found.remarks)])


@pytest.mark.parametrize(
    ("scores", "half_width", "changes", "badge", "first"),
    [
        ([0.9, 0.5, 0.4], 0.1, {}, "Clear winner", "The best operator is kendalltau"),
        (
            [0.9, 0.85, 0.4],
            0.1,
            {},
            "Several could be the best",
            "The data cannot tell these 2 operators apart",
        ),
        (
            [0.9, 0.5, 0.4],
            0.1,
            {"p": 0.3},
            "No effect found",
            "No operator is shown to see diagnosis",
        ),
        ([0.9, 0.5, 0.4], 0.1, {"p": None}, "Cannot be tested", "Whether any operator sees"),
        (
            [0.9, 0.5, 0.4],
            0.1,
            {"halves": 0.19},
            "Cannot be answered",
            "This cohort cannot answer the question: halves of it agree at 0.19",
        ),
        ([0.9, 0.5, 0.4], float("nan"), {}, "No intervals", "First is kendalltau"),
    ],
)
def test_the_answer_is_read_from_all_operators_on_everybody(
    scores, half_width, changes, badge, first
):
    truth = make_ranking(scores, half_width, **changes)
    core = make_ranking(scores, half_width, coreset=DRAWN)
    found, text = judged(truth, ranking=core, confirmed=core, truth=truth)
    assert found.text == badge
    assert text.startswith(first)


def test_an_effect_is_claimed_from_permutations_only():
    _, text = judged(make_ranking([0.9, 0.2, 0.1], p=0.2))
    assert text.startswith("No operator is shown to see diagnosis")
    assert "family-wise p = 0.2" in text
    assert "could be" not in text
    _, text = judged(make_ranking([0.9, 0.2, 0.1], p=0.001))
    assert "There is an effect of diagnosis" in text


def test_winners_are_not_tested_with_the_labels_that_chose_them():
    confirmed = make_ranking([0.9, 0.5], names=NAMES[:2], p=0.001)
    drawn = make_ranking([0.9, 0.5, 0.4], coreset=DRAWN, p=0.3)
    badge, text = judged(confirmed, ranking=drawn, confirmed=confirmed)
    assert badge.text == "Effect not sure"
    assert "where all 3 operators were tested, none sees diagnosis beyond chance (p = 0.3)" in text
    assert "There is an effect" not in text
    drawn = make_ranking([0.9, 0.5, 0.4], coreset=DRAWN, p=0.01)
    badge, text = judged(confirmed, ranking=drawn, confirmed=confirmed)
    assert "On the core-set already: There is an effect of diagnosis" in text
    assert badge.text == "Best of those checked"
    searched = make_ranking([0.9, 0.5, 0.4], coreset=LEARNED, p=0.001)
    badge, text = judged(confirmed, ranking=searched, confirmed=confirmed)
    assert badge.text == "Effect not sure"
    assert "chosen with the same labels, so that p is too small" in text


def test_a_core_set_of_a_classifier_alone_gives_ranks_only():
    core = make_ranking([0.9, 0.5, 0.4], coreset=LEARNED)
    badge, text = judged(core, ranking=core)
    assert badge.text == "Ranks only"
    assert "nothing about the size of effects" in text
    assert "First by rank is kendalltau" in text
    assert "There is an effect" not in text
    assert "0.9" not in text


def test_the_whole_cohort_confirms_or_corrects():
    core = make_ranking([0.9, 0.5, 0.4], coreset=DRAWN)
    everybody = make_ranking([0.3, 0.8, 0.1])
    badge, text = judged(core, ranking=core)
    assert badge.text == "Not confirmed"
    assert "Not confirmed on the whole cohort yet" in text
    same = make_ranking([0.9, 0.5, 0.4])
    _, text = judged(same, ranking=core, confirmed=same)
    assert "Confirmed: first on the core-set and first on the whole cohort." in text
    assert text.startswith(
        "Of the 3 operators computed on everybody: the best operator is kendalltau"
    )
    _, text = judged(everybody, ranking=core, confirmed=everybody)
    assert "cov_OAS (cov_OAS) is first there and had place 2 of 3 on the core-set." in text


def test_operators_nobody_looked_at_are_counted():
    core = make_ranking([0.9, 0.5, 0.85], coreset=DRAWN)
    confirmed = make_ranking([0.9, 0.5], names=NAMES[:2])
    badge, text = judged(confirmed, ranking=core, confirmed=confirmed)
    assert badge.text == "Best of those checked"
    assert "1 more operator could be as good, but only the first 2 were computed" in text
    truth = make_ranking([0.9, 0.5, 0.4])
    badge, text = judged(truth, ranking=core, confirmed=confirmed, truth=truth)
    assert badge.text == "Clear winner"
    assert "could be as good" not in text


def test_what_the_label_goes_with_is_said_unless_it_is_taken_out():
    design = [
        {
            "kind": "goes-with-site",
            "where": "diagnosis",
            "detail": "site: Cramér's V 0.51, p 0.001",
        },
        {"kind": "goes-with-motion", "where": "diagnosis", "detail": "mean_fd: eta 0.2, p 0.001"},
        {"kind": "small-class", "where": "diagnosis=MDD", "detail": "4 subjects"},
        {"kind": "goes-with-site", "where": "sex", "detail": "site: Cramér's V 0.77, p 0.001"},
    ]
    _, text = judged(make_ranking([0.9, 0.5, 0.4]), design=design)
    assert "diagnosis goes with the site (Cramér's V 0.51, p 0.001); take the site out" in text
    assert "Classes with fewer than ten subjects (diagnosis=MDD: 4 subjects)" in text
    assert "motion" not in text
    assert "0.77" not in text


def test_what_sites_tell_is_said_once_and_warns():
    design = [
        {"kind": "goes-with-site", "where": "diagnosis", "detail": "site: eta 0.78, p 0.001"},
        {"kind": "mixed-tr", "where": "tr", "detail": "2, 3"},
    ]
    ranking = make_ranking([0.9, 0.5, 0.4])
    ranking.findings["effect"] |= {"exchangeable": "site", "between": 0.5, "shuffled": 0.38}
    found = judge(make_run_stub(design=design), "diagnosis", ranking)
    told = [remark for remark in found.remarks if "site" in remark.text]
    assert [remark.kind for remark in told] == ["good", "caution", "caution"]
    effect, between, times = (remark.text for remark in told)
    assert effect == found.effect.text
    assert between.startswith("diagnosis differs between groups of site, which explain 50% of it.")
    assert "still predicts it at 0.38); p does not. Give site as a covariate" in between
    assert times.startswith("Repetition times that differ")


def test_ties_share_the_first_place():
    core = make_ranking([0.9, 0.9, 0.4], coreset=DRAWN)
    everybody = make_ranking([0.7, 0.8, 0.1])
    _, text = judged(everybody, ranking=core, confirmed=everybody)
    assert "Confirmed: first" in text


def test_the_truth_is_told():
    core = make_ranking([0.9, 0.5, 0.4], coreset=LEARNED)
    confirmed, truth = make_ranking([0.9, 0.5, 0.4]), make_ranking([0.5, 0.6, 0.1])
    _, text = judged(truth, ranking=core, confirmed=confirmed, truth=truth)
    assert "would have answered kendalltau, which has place 2 of 3 on everybody" in text
    assert "(better than 33\u00a0% of them)" in text


def test_a_prediction_says_in_what_it_is_measured():
    predict, share = CRITERIA["predict"], CRITERIA["share"]
    assert predict.label_for(Target("age", "number")) == "cross-validated prediction (r)"
    assert predict.label_for(Target("diagnosis", "classes")) == "cross-validated prediction (AUC)"
    assert share.label_for(Target("age", "number")) == share.label
