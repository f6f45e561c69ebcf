"""The study splits by family and never lets a held-out operator guide."""

import numpy as np
import pandas as pd
import pytest

from sclcs.benchmark import ArraySource
from sclcs.cohort.simulation import simulate_cohort
from sclcs.experiments.guided_splits import default_split, random_half
from sclcs.experiments.guided_study import Plan, guided_study, summarise
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


def test_every_method_is_measured_on_every_split(cohort, matrices, monkeypatch):
    monkeypatch.setattr("sclcs.experiments.guided_splits.FEWEST_HELD_OUT", 5)
    plan = Plan(
        tasks=("diagnosis",),
        ratios=(0.3,),
        splits=1,
        few_seeds=1,
        methods=("random", "stratified"),
        rules={"guided": {"proposals": 200}, "weighted": {"proposals": 200, "weights": True}},
    )
    results = pd.DataFrame(guided_study(cohort, matrices, plan))
    assert set(results["method"]) == {"random", "stratified", "guided", "weighted"}
    assert (results.groupby("method").size() == 2).all()  # one half and the default panel
    summary = summarise(results).set_index(["protocol", "method"])
    assert summary.loc[("halves", "guided"), "ndcg_covered"] in (0.0, 1.0)
    assert np.isnan(summary.loc[("halves", "random"), "ndcg_covered"])
    assert summary["undefined"].sum() == 0
