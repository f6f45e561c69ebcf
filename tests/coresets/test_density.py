import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import gaussian_kde

from sclcs._core import InputError
from sclcs.coresets.designs import best, chances
from sclcs.coresets.scored import (
    DensityParameters,
    Scores,
    balanced_choice,
    draw_balanced,
    stable_pool,
)

FINITE = st.floats(-1e6, 1e6, allow_subnormal=False)


@settings(max_examples=50)
@given(
    scores=st.lists(FINITE, min_size=5, max_size=60),
    beta=st.floats(0, 0.5),
    seed=st.integers(0, 1000),
)
def test_a_draw_is_unique_and_from_the_pool(scores, beta, seed):
    pool = stable_pool(scores, beta=beta)
    size = max(1, len(pool.rows) // 2)
    rows = draw_balanced(pool, size, np.random.default_rng(seed))
    assert len(set(rows)) == size
    assert set(rows) <= set(pool.rows)
    values = np.asarray(scores)
    assert (values[pool.rows] <= pool.threshold).all()
    assert pool.weights.sum() == pytest.approx(1)
    assert len(pool.rows) >= (1 - beta) * len(scores) - 1


def test_the_weights_are_the_inverse_density(rng):
    scores = rng.gamma(2.0, 1e-4, size=200)
    pool = stable_pool(scores, beta=0.05)
    kept = scores[scores <= np.percentile(scores, 95)]
    density = gaussian_kde(kept)(kept)
    expected = 1 / (density + 1e-8)
    np.testing.assert_allclose(pool.density, density, rtol=1e-6)
    np.testing.assert_allclose(pool.weights, expected / expected.sum(), rtol=1e-6)


def test_a_wider_bandwidth_evens_the_weights(rng):
    scores = rng.gamma(2.0, size=200)
    narrow, wide = (stable_pool(scores, bw_adjust=width).weights for width in (1, 10))
    assert wide.std() < narrow.std()


def test_the_sparse_cluster_is_over_represented(rng):
    scores = np.concatenate([rng.normal(0, 1, 950), rng.normal(30, 1, 50)])
    pool = stable_pool(scores, beta=0)
    share = np.mean(
        [(draw_balanced(pool, 100, np.random.default_rng(i)) >= 950).mean() for i in range(20)]
    )
    assert share > 2 * 0.05


def test_constant_scores_are_drawn_uniformly():
    pool = stable_pool(np.full(20, 3.0))
    np.testing.assert_allclose(pool.weights, 1 / 20)
    counts = np.zeros(20)
    for seed in range(2000):
        counts[draw_balanced(pool, 5, np.random.default_rng(seed))] += 1
    assert np.abs(counts / 500 - 1).max() < 0.25


def test_the_draw_is_sequential_and_proportional():
    # Two draws from weights 1:2:3; the first is proportional, the second among the rest.
    pool = stable_pool([0.0, 0.0, 0.0])
    pool = type(pool)(pool.rows, pool.threshold, pool.density, np.array([1, 2, 3]) / 6)
    draws = [tuple(draw_balanced(pool, 2, np.random.default_rng(i))) for i in range(8_000)]
    for first in range(3):
        for second in set(range(3)) - {first}:
            weight = pool.weights
            expected = weight[first] * weight[second] / (1 - weight[first])
            assert draws.count((first, second)) / 8_000 == pytest.approx(expected, abs=0.02)


def test_smaller_draws_are_part_of_larger_ones(rng):
    pool = stable_pool(rng.gamma(2.0, size=50))
    small, large = (draw_balanced(pool, size, np.random.default_rng(1)) for size in (5, 20))
    assert small.tolist() == large[:5].tolist()


def test_scores_that_are_not_numbers_are_never_drawn():
    pool = stable_pool([np.inf, 0.1, np.nan, 0.2, 0.3, -np.inf], beta=0)
    assert pool.rows.tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": 1.0}, "beta"),
        ({"beta": -0.1}, "beta"),
        ({"bw_adjust": 0}, "bw_adjust"),
        ({"bw_method": "narrow"}, "scott, silverman or a number"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(InputError, match=message):
        stable_pool([1.0, 2.0, 3.0], **options)


def test_nothing_to_draw_from():
    with pytest.raises(InputError, match="No sample has a finite score"):
        stable_pool([np.inf, np.nan])
    with pytest.raises(InputError, match=r"needs 4 samples, but only 3 .* lower the ratio or beta"):
        draw_balanced(stable_pool([1.0, 2.0, 3.0], beta=0), 4, np.random.default_rng(0))


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
