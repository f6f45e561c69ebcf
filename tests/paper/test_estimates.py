"""The parts of the experiment ``estimation``: designs and the table of bars."""

import numpy as np
import pandas as pd
import pytest

from paper.estimation import bars_table
from paper.estimation_study import DESIGNS, random_half
from sclcs._core import InputError


def clustered_kernel(rng, sizes=(20, 3, 2), noise=0.05):
    """Similarities of samples in a large cluster and two small ones."""
    centres = np.eye(len(sizes), 7)
    points = np.repeat(centres, sizes, axis=0) + noise * rng.normal(size=(sum(sizes), 7))
    return points @ points.T, np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("name", DESIGNS)
def test_designs_choose_different_samples_and_the_same_for_a_seed(rng, name):
    kernel, _ = clustered_kernel(rng)
    first = DESIGNS[name](kernel, 6, 4)
    assert len(set(first.tolist())) == 6
    np.testing.assert_array_equal(first, DESIGNS[name](kernel, 6, 4))
    assert any(set(DESIGNS[name](kernel, 6, s)) != set(first) for s in range(5, 12))


@pytest.mark.parametrize("name", ["d-optimal", "kernel-center"])
def test_designs_that_spread_reach_every_cluster_with_one_sample_each(rng, name):
    kernel, cluster = clustered_kernel(rng)
    for seed in range(5):
        assert set(cluster[DESIGNS[name](kernel, 3, seed)]) == {0, 1, 2}


def test_leverage_draws_rare_samples_more_often_than_chance(rng):
    kernel, cluster = clustered_kernel(rng)
    share = np.mean([(cluster[DESIGNS["leverage"](kernel, 5, s)] > 0).mean() for s in range(60)])
    assert share > 1.3 * (cluster > 0).mean()


def row(**facts):
    usual = {
        "task": "diagnosis", "score": "share", "given": "nothing", "known": "half",
        "method": "random", "ratio": 0.02, "effect_p": 0.01, "ndcg@10": 0.97, "kendall": 0.7,
        "ndcg@10_worst": 0.9, "halves_agree": 0.5, "coverage": 0.9, "regret_8": 0.0,
        "in_best_set_8": 1.0, "set_holds_best_8": 1.0,
    }  # fmt: skip
    return usual | facts


def reached(rows):
    return {line[0]: line[2:] for line in bars_table(pd.DataFrame(rows)).rows}


def test_bars_count_criteria_with_an_effect_as_a_run_draws_its_core_set():
    rows = [
        row(),
        row(score="predict", effect_p=np.nan, **{"ndcg@10": 0.93}),
        row(given="site", effect_p=0.4, **{"ndcg@10": 0.2}),  # nothing is there to be ranked
        row(method="kcenter", **{"ndcg@10": 0.1}),
        row(known="fast", **{"ndcg@10": 0.1}),
        row(ratio=0.05, **{"ndcg@10": 0.1}),
        row(task="subject", score="cohen_d", method="random", kendall=0.1),
        row(task="subject", score="cohen_d", method="pairs", kendall=0.8),
    ]
    found = reached(rows)
    assert found["nDCG@10, mean"][:3] == ["0.957", "3", "**no**"]
    assert found["Kendall, mean"][:3] == ["0.700", "2", "yes"]
    assert found["Kendall, fingerprinting"][:3] == ["0.800", "1", "**no**"]
    assert found["permuted: says no effect"][0] == "not measured"


def test_bars_are_also_told_where_halves_of_the_cohort_agree_on_the_order():
    rows = [
        row(),
        row(score="predict", effect_p=np.nan, halves_agree=np.nan, **{"ndcg@10": 0.95}),
        row(task="age", halves_agree=0.05, **{"ndcg@10": 0.6}),
    ]
    found = reached(rows)["nDCG@10, mean"]
    assert found == ["0.840", "3", "**no**", "0.960", "2", "yes"]


def test_no_family_is_on_both_sides():
    families = [f"family {k}" for k in range(12) for _ in range(1 + k)]
    for number in range(6):
        known = random_half(families, number)
        one, other = ({families[k] for k in np.flatnonzero(side)} for side in (known, ~known))
        assert not one & other
        assert min(known.sum(), (~known).sum()) >= 25
    assert (random_half(families, 0) != random_half(families, 1)).any()


def test_too_few_families_are_refused():
    with pytest.raises(InputError, match="at least 50 operators of 8 families"):
        random_half(["one", "two"] * 30, 0)
    with pytest.raises(InputError, match="one of them is too large"):
        random_half(["large"] * 60 + [f"family {k}" for k in range(9)], 0)
