"""Guided core-sets on simulated cohorts: constraints, certificate, benefit, mistakes."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from sclcs import Cohort, Ranking
from sclcs.benchmark import ArraySource, rank
from sclcs.benchmark.consistency import agreement
from sclcs.cohort.simulation import simulate_cohort
from sclcs.core.errors import InputError, UnknownNameError
from sclcs.selection import select
from sclcs.selection.guided.certificate import (
    FLATTEST,
    LeftOut,
    _kendall,
    certify,
    leave_groups_out,
)
from sclcs.selection.guided.guide import CAREFUL, DISTRUST
from sclcs.selection.guided.objective import (
    asked_scores,
    core_scores,
    fit_line,
    operator_weights,
)
from sclcs.selection.guided.panel import make_panel, unseen_families
from sclcs.selection.guided.search import Found
from sclcs.selection.guided.weights import MOST
from sclcs.spi import catalogue, compute, resolve

FAST = {"proposals": 1500, "restarts": 1}
PANEL = ["cov_EmpiricalCovariance", "prec_ShrunkCovariance", "pdist_cityblock", "kendalltau", "pec"]
GUIDING = [
    "cov_EmpiricalCovariance", "prec_ShrunkCovariance", "mi_gaussian", "pdist_cityblock",
    "pdist_chebyshev", "gwtau", "pec", "sgc_parametric_max_fs-1_fmin-1e-05_fmax-0-5_order-1",
    "psi_wavelet_max_fs-1_fmin-0_fmax-0-5_max", "bary-sq_euclidean_max",
]  # fmt: skip


@pytest.fixture(scope="module")
def cohort():
    """140 samples: 35 subjects x 4 windows, 7 regions, 40 time points."""
    return simulate_cohort(35, 4, 7, length=40, stride=20, seed=11)


@pytest.fixture(scope="module")
def matrices(cohort):
    fc = compute(np.asarray(cohort.signals), PANEL, sample_keys=cohort.sample_ids)
    return ArraySource.from_dataarray(fc, cohort)


def guided(cohort, matrices, ratio=0.2, seed=0, **parameters):
    options = {"panel": PANEL, "fc": matrices, **FAST, **parameters}
    return select(cohort, "guided", ratio, seed, **options)


def test_it_is_certified_and_reproducible(cohort, matrices):
    core = guided(cohort, matrices, task=["subject", "diagnosis"])
    assert guided(cohort, matrices, task="subject,diagnosis").sample_ids == core.sample_ids
    assert guided(cohort, matrices, task="subject", seed=1).sample_ids != core.sample_ids
    assert len(core) == 28
    assert core.parameters["panel_used"] == PANEL
    assert [item["task"] for item in core.parameters["certificate"]] == ["subject", "diagnosis"]
    for item in core.parameters["certificate"]:
        assert (item["operators"], item["confidence"]) == (5, 0.9)
        assert 3 <= item["groups"] <= 4
        for name in ("ndcg@10", "kendall"):
            value = item[name]
            assert -1 <= value["low"] <= value["expected"] <= value["high"] <= 1


def test_a_store_and_the_cohort_give_the_same(cohort, matrices):
    assert guided(cohort, None).sample_ids == guided(cohort, matrices).sample_ids


@pytest.mark.parametrize("task", ["subject", "diagnosis"])
def test_the_panel_is_ranked_better_than_on_the_start(cohort, matrices, task):
    core = guided(cohort, matrices, task=task, distrust=0.1)
    assert core.parameters["swaps"] > 0
    assert core.parameters["objective"] < core.parameters["objective_at_start"]


def test_shares_of_strata_are_those_of_the_design(cohort, matrices):
    core = guided(cohort, matrices, task="diagnosis", distrust=0.1)
    chosen = cohort.take(list(core.sample_ids)).samples
    for column in ("diagnosis", "site"):
        shares = chosen[column].value_counts(normalize=True)
        whole = cohort.samples[column].value_counts(normalize=True)
        assert np.abs(shares.sub(whole, fill_value=0)).max() < 0.08


def test_whole_subjects_and_fewest_subjects(cohort, matrices):
    core = guided(cohort, matrices, whole_subjects=True, distrust=0.3)
    assert set(pd.Series(core.subjects).value_counts()) == {4}
    assert len(core) == 28
    many = guided(cohort, matrices, task="diagnosis", min_subjects=26, distrust=0.1)
    assert len(set(many.subjects)) >= 26
    with pytest.raises(InputError, match="At least 30 subjects are wanted"):
        guided(cohort, matrices, min_subjects=30)


def test_unseen_families_are_ranked_better_than_on_random_samples():
    """A small group effect is there, but drowns in ten or fifteen random samples."""
    cohort = simulate_cohort(150, 2, 8, length=60, stride=40, seed=2, group=0.08)
    unseen = ["kendalltau*", "xcorr*", "je_kernel*", "ce_kernel*", "cohmag*mean*", "plv*mean*"]
    names = resolve([*GUIDING, *unseen])
    fc = compute(np.asarray(cohort.signals), names, sample_keys=cohort.sample_ids)
    matrices = ArraySource.from_dataarray(fc, cohort)
    whole = rank(matrices, "diagnosis", resolve(unseen)).scores
    reached = {"guided": [], "random": []}
    for seed in range(6):
        cores = {
            "guided": guided(
                cohort, matrices, 0.05, seed, task="diagnosis", panel=GUIDING, proposals=6000,
                distrust=0.1,
            ),
            "random": select(cohort, "random", 0.05, seed),
        }  # fmt: skip
        for name, core in cores.items():
            scores = rank(matrices, "diagnosis", resolve(unseen), core).scores
            measured = agreement(whole.to_numpy(), scores.reindex(whole.index).to_numpy())
            reached[name].append((measured["ndcg@10"], measured["kendall"]))
    better = np.mean(reached["guided"], axis=0) - np.mean(reached["random"], axis=0)
    assert np.all(better > 0.2)
    assert np.mean(reached["guided"], axis=0)[0] > 0.9


def test_candidates_are_whole_subjects_when_memory_is_short(cohort, matrices):
    core = guided(cohort, matrices, memory_gb=4 * 5 * 60**2 / 1e9)
    assert core.parameters["candidates"] == 60
    assert len(core) == 28


def test_large_effects_are_guided_more_carefully_than_small_ones(cohort, matrices, monkeypatch):
    ordered = cohort.take(sorted(cohort.sample_ids))
    full = make_panel(ordered, ["subject", "diagnosis"], PANEL, fc=matrices).full
    between = float(np.mean(full.std(axis=1)))
    assert full[0].std() > between > full[1].std()
    monkeypatch.setattr("sclcs.selection.guided.guide.LARGE", between)
    core = guided(cohort, matrices, task="subject,diagnosis")
    assert core.parameters["distrust_used"] == [CAREFUL, DISTRUST]
    given = guided(cohort, matrices, task="subject,diagnosis", distrust=0.7)
    assert given.parameters["distrust_used"] == [0.7, 0.7]


def test_weights_are_fitted_and_used_when_operators_are_scored(cohort, matrices):
    options = {"task": "diagnosis", "distrust": 0.1}
    plain = guided(cohort, matrices, **options)
    core = guided(cohort, matrices, weights=True, **options)
    assert plain.weight is None
    assert core.sample_ids == plain.sample_ids
    assert core.parameters["objective"] < plain.parameters["objective"]
    assert np.mean(core.weight) == pytest.approx(1)
    assert max(core.weight) / min(core.weight) <= MOST**2 + 1e-9
    assert len(set(core.weight)) > 5
    ordered = cohort.take(sorted(cohort.sample_ids))
    panel = make_panel(ordered, ["diagnosis"], PANEL, fc=matrices)
    rows, weights = core.rows(ordered.sample_ids), np.asarray(core.weight)
    expected = core_scores(panel, rows, weights)[0]
    measured = rank(matrices, "diagnosis", PANEL, core, "cohen_d", pooled=True).scores
    np.testing.assert_allclose(measured[panel.operators], expected, rtol=1e-4)
    assert not np.allclose(expected, core_scores(panel, rows)[0], rtol=1e-3)


def test_the_sidecar_keeps_the_certificate(cohort, matrices, tmp_path):
    core = guided(cohort, matrices, task="diagnosis", k=5, confidence=0.8)
    facts = json.loads(core.save(tmp_path / "core.csv").with_suffix(".json").read_text())
    (item,) = facts["parameters"]["certificate"]
    assert set(item) == {
        "task", "score", "ndcg@5", "kendall", "confidence", "groups", "operators",
        "unseen_operators",
    }  # fmt: skip
    assert (item["task"], item["confidence"]) == ("diagnosis", 0.8)
    for name in ("ndcg@5", "kendall"):
        assert set(item[name]) == {"expected", "low", "high"}


def test_auto_is_guided_for_labels_and_stratified_for_numbers(cohort, matrices):
    options = {"panel": PANEL, "fc": matrices, **FAST}
    core = select(cohort, "auto", 0.2, task="diagnosis", **options)
    assert core.sample_ids == guided(cohort, matrices, task="diagnosis").sample_ids
    assert core.parameters["chosen"] == "guided"
    assert core.follows_target
    samples = cohort.samples.assign(age=np.arange(len(cohort)) * 0.5)
    aged = Cohort(cohort.signals, samples, cohort.regions)
    drawn = select(aged, "auto", 0.2, task="age", **options)
    assert drawn.sample_ids == select(aged, "stratified", 0.2).sample_ids
    assert drawn.parameters["chosen"] == "stratified"
    assert not drawn.follows_target
    with pytest.raises(UnknownNameError, match="parameter of auto: candidates"):
        select(cohort, "auto", 0.2, candidates=["random"], **options)


def test_nothing_on_a_guided_core_set_is_an_effect(cohort, matrices, tmp_path):
    core = guided(cohort, matrices, task="diagnosis")
    found = rank(matrices, "diagnosis", PANEL, core)
    assert found.ranks_only
    assert found.table[["low", "high", "p", "p_single", "rank_low", "best_p"]].isna().all(None)
    assert not found.table["best_set"].any()
    assert set(found.table["source"]) == {"core-set"}
    assert set(found.findings) <= {"entries", "classes"}
    (sentence,) = found.answer
    assert "nothing about the size of effects" in sentence
    assert "order only" in repr(found)
    again = Ranking.open(found.save(tmp_path / "r.csv"))
    assert again.ranks_only
    # A core-set that nothing guided is a smaller cohort, and says what it can.
    drawn = rank(matrices, "diagnosis", PANEL, select(cohort, "stratified", 0.5))
    assert not drawn.ranks_only
    assert drawn.table["p"].notna().all()


def test_kendall_is_that_of_scipy():
    first, second = np.random.default_rng(1).normal(size=(2, 17))
    assert _kendall(first, second) == pytest.approx(kendalltau(first, second).statistic)


def test_a_perfect_prediction_is_certified_as_such():
    full = np.linspace(0, 1, 9)[None]
    families = list("aabbccdde")
    (perfect,) = certify(LeftOut(full, full.copy(), families, ["subject"], ("cohen_d",)))
    assert perfect.ndcg[0] == pytest.approx(1)
    assert perfect.kendall[1] == pytest.approx(1)
    noise = np.random.default_rng(2).normal(size=full.shape)
    (noisy,) = certify(LeftOut(full, full + noise, families, ["subject"], ("cohen_d",)))
    assert noisy.ndcg[0] < 0.9
    assert certify(LeftOut(full, full * np.nan, families, ["subject"], ("cohen_d",))) == []


def test_few_large_families_are_less_certain_than_many_lone_operators():
    random = np.random.default_rng(3)
    full = random.normal(size=(1, 12))
    errors = 0.4 * random.normal(size=full.shape)
    left_out = LeftOut(full, full + errors, list("abcdefghijkl"), ["x"], ("cohen_d",))
    (lone,) = certify(left_out, sizes=[1] * 60)
    (large,) = certify(left_out, sizes=[50, 10])
    assert large.unseen == lone.unseen == 60
    widths = [item.kendall[2] - item.kendall[1] for item in (lone, large)]
    assert widths[1] > 1.5 * widths[0]


def test_families_outside_the_panel_are_the_unseen_ones(cohort, matrices):
    ordered = cohort.take(sorted(cohort.sample_ids))
    panel = make_panel(ordered, ["subject"], PANEL, fc=matrices)
    table = catalogue()
    fast = table[table["paper_fast"]]
    assert sum(unseen_families(panel)) == (~fast["family"].isin(panel.families)).sum()


def test_mistakes_are_named(cohort, matrices):
    with pytest.raises(InputError, match="at least 4 operators of 3 families, but 2 of 1"):
        guided(cohort, None, panel=["pdist_cityblock", "pdist_chebyshev"])
    with pytest.raises(UnknownNameError, match="no column 'colour'"):
        guided(cohort, matrices, task="colour")
    with pytest.raises(InputError, match="restarts to be a whole number of at least 1"):
        guided(cohort, matrices, restarts=0)
    with pytest.raises(UnknownNameError, match="parameter of guided: target_ndcg"):
        guided(cohort, matrices, target_ndcg=0.95)
    with pytest.raises(InputError, match="weights to be true or false"):
        guided(cohort, matrices, weights="some")
    with pytest.raises(InputError, match="distrust to be a number of at least 0"):
        guided(cohort, matrices, distrust=-1)
    with pytest.raises(UnknownNameError, match="not in the FC store"):
        guided(cohort, matrices, panel=["gwtau", "phase_multitaper*", "pec", "kendalltau"])
    with pytest.raises(InputError, match="whole cohort"):
        guided(simulate_cohort(36, 4, 7, length=40, stride=20, seed=11), matrices)


@pytest.mark.parametrize(
    ("score", "searched"),
    [
        ("cohen_d", "cohen_d"),
        ("difference", "difference"),
        ("auc", "cohen_d"),
        ("discr", "cohen_d"),
    ],
)
def test_the_certificate_is_about_the_score_that_was_asked_for(cohort, matrices, score, searched):
    """The first version certified Cohen's d whatever was asked for: fault 4."""
    core = guided(cohort, matrices, task="diagnosis", distrust=0.1, score=score)
    (item,) = core.parameters["certificate"]
    assert (item["score"], core.parameters["score"]) == (score, score)
    assert core.parameters["score_searched"] == searched
    ordered = cohort.take(sorted(cohort.sample_ids))
    panel = make_panel(ordered, ["diagnosis"], PANEL, fc=matrices, score=score)
    whole = rank(matrices, "diagnosis", PANEL, score=score).scores
    np.testing.assert_allclose(panel.asked[0], whole[panel.operators], rtol=1e-4)
    followed = rank(matrices, "diagnosis", PANEL, score=searched, pooled=True).scores
    np.testing.assert_allclose(panel.full[0], followed[panel.operators], rtol=1e-4)
    rows = core.rows(ordered.sample_ids)
    on_core = rank(matrices, "diagnosis", PANEL, core, score=score).scores
    np.testing.assert_allclose(
        asked_scores(panel, rows)[0], on_core[panel.operators], rtol=1e-3, atol=1e-4
    )


def test_another_score_gives_another_certificate_and_perhaps_another_search(cohort, matrices):
    cores = {
        score: guided(cohort, matrices, task="diagnosis", distrust=0.1, score=score)
        for score in ("cohen_d", "difference", "auc")
    }
    # AUC is searched by its proxy: the same samples, but judged by AUC.
    assert cores["auc"].sample_ids == cores["cohen_d"].sample_ids
    assert cores["difference"].sample_ids != cores["cohen_d"].sample_ids
    certified = {
        score: core.parameters["certificate"][0]["ndcg@10"]["expected"]
        for score, core in cores.items()
    }
    assert len(set(certified.values())) == 3


def test_an_unknown_score_is_named(cohort, matrices):
    with pytest.raises(UnknownNameError, match="No score is called 'cohens'"):
        guided(cohort, matrices, score="cohens")


@pytest.mark.parametrize("score", ["auc", "cohen_d"])
def test_left_out_operators_are_predicted_in_the_score_that_was_asked_for(cohort, matrices, score):
    ordered = cohort.take(sorted(cohort.sample_ids))
    panel = make_panel(ordered, ["diagnosis"], PANEL, fc=matrices, score=score)
    core = select(cohort, "stratified", 0.2, seed=3)
    rows = np.sort(core.rows(ordered.sample_ids))
    groups = [f"group {k}" for k in range(len(panel.operators))]
    unguided = Found(rows, np.inf, np.inf, 0)
    found = leave_groups_out(panel, groups, [unguided] * len(groups))
    assert found.scores == (score,)
    whole = rank(matrices, "diagnosis", PANEL, score=score).scores[panel.operators].to_numpy()
    on_core = rank(matrices, "diagnosis", PANEL, core, score).scores[panel.operators].to_numpy()
    for place in range(len(panel.operators)):
        out = np.arange(len(panel.operators)) == place
        line = fit_line(whole, on_core, operator_weights(panel.families, out))
        expected = (on_core[place] - line.shift) / max(line.slope, FLATTEST)
        assert found.implied[0, place] == pytest.approx(expected, abs=1e-4)
