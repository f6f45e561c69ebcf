import numpy as np
import pytest

from sclcs._core.identity import generator
from sclcs.coresets.designs import best, chances
from sclcs.coresets.scored import (
    DensityParameters,
    Scores,
    balanced_choice,
    draw_balanced,
    stable_pool,
)

OPTIONS = {"beta": 0.05, "bw_method": "scott", "bw_adjust": 1.0, "epsilon": 1e-8}


def test_draws_are_unique_and_from_the_pool(rng):
    scores = rng.normal(size=300)
    pool = stable_pool(scores, beta=0.2)
    rows = draw_balanced(pool, 100, rng)
    assert len(set(rows)) == 100
    assert scores[rows].max() <= np.quantile(scores, 0.8)


def test_the_sparse_cluster_is_over_represented():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(0, 0.3, 900), rng.normal(6, 0.3, 100)])
    pool = stable_pool(scores, beta=0.0)
    shares = [
        (draw_balanced(pool, 100, generator(seed, "test")) >= 900).mean() for seed in range(20)
    ]
    assert np.mean(shares) > 0.2  # its share of the samples is 0.1


def test_constant_scores_are_drawn_uniformly():
    pool = stable_pool(np.full(50, 0.25), beta=0.05)
    np.testing.assert_allclose(pool.weights, 1 / 50)
    hits = np.zeros(50)
    for seed in range(400):
        hits[draw_balanced(pool, 10, generator(seed, "test"))] += 1
    assert hits.min() > 50
    assert hits.max() < 115


@pytest.mark.parametrize(("keep", "sign"), [("low", 1), ("high", -1)])
def test_the_filter_discards_the_end_that_is_not_kept(keep, sign, small_cohort, rng):
    values = sign * rng.random(72)
    options = DensityParameters(density=True, beta=0.5)
    choice = balanced_choice(small_cohort, 30, 0, Scores(values, keep), options)
    worst_half = np.argsort(sign * values)[36:]
    assert set(choice.rows).isdisjoint(worst_half)
    np.testing.assert_array_equal(choice.scores, values)


def test_chances_belong_to_names():
    names = [f"s{i}" for i in range(500)]
    lots = chances(0, "x", names)
    assert chances(0, "x", names[::-1]).tolist() == lots[::-1].tolist()
    assert len(set(lots)) == 500
    assert 0.4 < lots.mean() < 0.6
    assert not np.array_equal(lots, chances(0, "y", names))
    assert not np.array_equal(lots, chances(1, "x", names))


def test_best_skips_scores_that_are_not_finite():
    scores = np.array([np.nan, 1.0, np.inf, 0.5, -np.inf, 1.0])
    ties = np.array([0.1, 0.9, 0.3, 0.4, 0.5, 0.2])
    assert best(scores, 3, "low", ties).tolist() == [3, 5, 1]
    assert best(scores, 2, "high", ties).tolist() == [5, 1]
