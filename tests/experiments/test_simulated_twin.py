"""A rule is tuned on a cohort of the same shape, and its choice never sees the given cohort."""

import itertools

import pandas as pd
import pytest

from sclcs import simulate_cohort
from sclcs.experiments.simulated_twin import simulated_twin
from sclcs.experiments.studies.transfer import RULES, TRANSFER

MEASURES = ("ndcg@5", "ndcg@10", "ndcg@20", "kendall")
FIRST, SECOND, THIRD = list(RULES)[:3]


def test_a_twin_has_the_shape_and_not_the_signals():
    sites = {"north": 7, "south": 4}
    cohort = simulate_cohort(11, 3, 6, length=28, stride=9, sites=sites, tr=1.5, seed=1)
    twin = simulated_twin(cohort)
    for name in ("n_subjects", "n_regions", "n_timepoints", "tr"):
        assert getattr(twin, name) == getattr(cohort, name)
    assert len(twin) == len(cohort)
    assert twin.samples["site"].value_counts().to_dict() == {"north": 21, "south": 12}
    assert sorted(set(twin.samples["start"])) == [0, 9, 18]
    assert twin.fingerprint != cohort.fingerprint
    assert twin.fingerprint == simulated_twin(cohort.take(cohort.sample_ids[::-1])).fingerprint


def measured(values):
    """Return cells with these values by cohort and rule, the same for all measures."""
    rows = [
        {"cohort": cohort, "task": task, "split": split, "ratio": ratio, "repeat": 0, "rule": rule}
        | dict.fromkeys(MEASURES, value + 0.01 * split)
        for (cohort, rule), value in values.items()
        for task, split, ratio in itertools.product(("diagnosis",), (0, 1), (0.02, 0.05))
    ]
    return pd.DataFrame(rows)


def test_the_simulated_cohort_alone_chooses():
    values = {(cohort, rule): 0.5 for cohort in ("simulated", "given") for rule in RULES}
    values |= {(cohort, rule): 0.3 for cohort in ("simulated", "given") for rule in ("start",)}
    values |= {(cohort, "default"): 0.95 for cohort in ("simulated", "given")}
    values |= {("simulated", FIRST): 0.9, ("given", FIRST): 0.6, ("given", SECOND): 0.8}
    summary = TRANSFER.summarise(measured(values))
    assert set(summary["rule"][summary["tuned"]]) == {FIRST}
    assert set(summary["rule"][summary["hindsight"]]) == {SECOND}
    verdict = TRANSFER.tables(summary)[0]
    shown = {row[0]: row[1] for row in verdict.rows}
    assert shown[f"tuned on the simulated cohort: {FIRST}"] == "60.5 ±0.7 (60.0)"
    assert shown[f"best in hindsight: {SECOND}"] == "80.5 ±0.7 (80.0)"
    assert shown["the package's default"] == "95.5 ±0.7 (95.0)"
    assert shown["stratified start, not guided"] == "30.5 ±0.7 (30.0)"


def test_the_order_of_rules_is_compared():
    values = {("simulated", rule): 0.1 + 0.05 * k for k, rule in enumerate(RULES)}
    values |= {("given", rule): 0.9 - 0.05 * k for k, rule in enumerate(RULES)}
    values |= {
        (cohort, rule): 0.3 for cohort in ("simulated", "given") for rule in ("start", "default")
    }
    caption = TRANSFER.tables(TRANSFER.summarise(measured(values)))[0].caption
    assert caption.endswith("order on the two cohorts: -1.00.")


def test_a_rule_without_any_score_is_not_chosen():
    values = {(cohort, rule): 0.5 for cohort in ("simulated", "given") for rule in RULES}
    values |= {
        (cohort, rule): 0.3 for cohort in ("simulated", "given") for rule in ("start", "default")
    }
    values[("simulated", FIRST)] = float("nan")
    values[("simulated", THIRD)] = 0.6
    summary = TRANSFER.summarise(measured(values))
    assert set(summary["rule"][summary["tuned"]]) == {THIRD}
    assert summary["undefined"].max() == 2


@pytest.mark.slow
def test_gains_are_differences_on_the_same_problem(run):
    out = run("searches", tasks=("diagnosis",), ratios=(0.5,), repeats=1)
    cells, summary = pd.read_csv(out / "cells.csv"), pd.read_csv(out / "summary.csv")
    wide = cells.pivot_table(index="split", columns="search", values="ndcg@10")
    gains = summary[summary["measure"] == "ndcg@10 - swaps"].set_index("search")["mean"]
    assert gains["swaps"] == 0
    expected = (wide["design"] - wide["swaps"]).mean()
    assert gains["design"] == pytest.approx(expected, abs=1e-4)
    objective = summary[summary["measure"] == "objective"].set_index("search")["mean"]
    assert objective["swaps"] <= objective["design"]
    assert objective["weighted"] <= objective["swaps"] + 1e-4
