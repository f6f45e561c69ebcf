"""The study splits by family and never lets a held-out operator guide."""

import numpy as np
import pandas as pd
import pytest

from sclcs.benchmark import ArraySource, rank
from sclcs.cohort.simulation import simulate_cohort
from sclcs.core.errors import InputError
from sclcs.experiments.guided_splits import default_split, random_half
from sclcs.experiments.guided_study import UnseenFamilies
from sclcs.experiments.options import Options
from sclcs.experiments.setup import Setup
from sclcs.experiments.studies.guided import GUIDED_STUDY, summarise
from sclcs.selection.guided.panel import make_panel
from sclcs.spi import compute, resolve

OPERATORS = ["panel", "family:covariance", "family:crosscorrelation", "kendalltau*", "je_kernel*"]


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(24, 3, 5, length=40, stride=20, seed=5)


@pytest.fixture(scope="module")
def matrices(cohort):
    names = [name for name in resolve(OPERATORS) if "Graphical" not in name]
    fc = compute(np.asarray(cohort.signals), names, sample_keys=cohort.sample_ids)
    return ArraySource.from_dataarray(fc, cohort)


@pytest.fixture(scope="module")
def everything(cohort, matrices):
    ordered = cohort.take(sorted(cohort.sample_ids))
    return make_panel(ordered, ["diagnosis"], list(matrices.operators), fc=matrices)


def test_no_family_is_on_both_sides():
    families = [f"family {k}" for k in range(12) for _ in range(1 + k)]
    for number in range(6):
        split = random_half(families, number)
        guiding = {families[k] for k in split.guiding}
        held_out = {families[k] for k in split.held_out}
        assert not guiding & held_out
        assert len(split.guiding) <= 12
        assert len(split.held_out) >= 25
    assert set(random_half(families, 0).held_out) != set(random_half(families, 1).held_out)


def test_the_default_panel_guides_and_its_families_are_not_scored(everything):
    split = default_split(everything)
    panel = set(resolve("panel"))
    guiding = {everything.operators[k] for k in split.guiding}
    assert len(guiding) >= len(panel) - 1  # mi_gaussian ties with a squared covariance
    seen = {everything.families[k] for k in split.guiding}
    assert not seen & {everything.families[k] for k in split.held_out}


def test_too_few_families_are_refused():
    with pytest.raises(InputError, match="at least 50 operators of 8 families"):
        random_half(["one", "two"] * 30, 0)
    with pytest.raises(InputError, match="one of them is too large"):
        random_half(["large"] * 60 + [f"family {k}" for k in range(9)], 0)


def test_every_method_is_measured_on_every_split(run):
    out = run("guided", methods=("random", "stratified", "guided"), tasks=("diagnosis",))
    measured = pd.read_csv(out / "cells.csv")
    # Two splits, two sizes, two repeats.
    assert measured.groupby("method").size().to_dict() == {
        "guided": 8, "random": 8, "stratified": 8, "prior": 2,
    }  # fmt: skip
    certified = measured["ndcg_low"].notna()
    assert (certified <= (measured["method"] == "guided")).all()
    assert measured.loc[certified, "ndcg_expected"].between(0, 1).all()
    assert {"halves-diagnosis-ndcg10", "certificates"} <= {
        table.name for table in GUIDED_STUDY.tables(pd.read_csv(out / "summary.csv"))
    }


def test_an_unguided_core_set_is_scored_as_a_ranking_scores_it(toy_cohort, tmp_path):
    options = Options.make(toy=True, tasks=["diagnosis"])
    setup = Setup(toy_cohort, tmp_path / "fc", options)
    study = UnseenFamilies.of(setup)
    core = setup.select("stratified", 0.5, 3)
    found = pd.Series(study.scores("diagnosis", study.rows(core)), study.everything.operators)
    papers_way = {"score": "cohen_d", "pooled": True, "overlapping": True}
    expected = rank(setup.store(), "diagnosis", coreset=core, **papers_way).scores[found.index]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_coverage_counts_certificates_only():
    rows = [
        {"protocol": "halves", "task": "diagnosis", "ratio": 0.1, "repeat": 0, "method": method}
        | dict.fromkeys(("ndcg@5", "ndcg@10", "ndcg@20", "kendall"), value)
        | ends
        for method, value, ends in (
            ("guided", 0.9, {"ndcg_low": 0.8, "ndcg_high": 1.0, "ndcg_expected": 0.9}),
            ("guided", 0.7, {"ndcg_low": 0.8, "ndcg_high": 1.0, "ndcg_expected": 0.9}),
            ("random", 0.2, {}),
        )
    ]
    summary = summarise(pd.DataFrame(rows)).set_index("method")
    guided = summary.loc["guided", ["ndcg_covered", "ndcg_below", "ndcg10", "ndcg10_worst"]]
    assert guided.tolist() == [0.5, 0.5, pytest.approx(0.8), 0.7]
    assert np.isnan(summary.loc["random", "ndcg_covered"])
