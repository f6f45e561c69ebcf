"""Kriging against the conditional normal distribution, and its promises on simulated operators."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from sclcs.core.errors import InputError
from sclcs.estimation import krige, look_ahead, next_operator
from sclcs.estimation.kriging import NUGGETS, _left_out_families

FAMILIES = ["a"] * 5 + ["b"] * 4 + ["c"] * 6 + ["d"] * 3 + ["e"] * 4
N = len(FAMILIES)


def random_geometry(rng, n=N, dimensions=6):
    """Operators as directions: those of one family are close."""
    centres = {name: rng.normal(size=dimensions) for name in set(FAMILIES)}
    points = np.array([centres[name] + 0.6 * rng.normal(size=dimensions) for name in FAMILIES[:n]])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, points @ points.T


def test_the_estimate_is_the_conditional_normal_distribution(rng):
    _, geometry = random_geometry(rng)
    scores = rng.normal(size=N)
    known = np.array([name in "abd" for name in FAMILIES])
    found = krige(range(N), geometry, np.where(known, scores, np.nan), FAMILIES, chance=0.3)
    whole = geometry + found.nugget * np.eye(N)
    weights = whole[np.ix_(~known, known)] @ np.linalg.inv(whole[np.ix_(known, known)])
    expected = 0.3 + weights @ (scores[known] - 0.3)
    np.testing.assert_allclose(found.mean[~known], expected, rtol=1e-9)
    np.testing.assert_array_equal(found.mean[known], scores[known])
    inside = whole[np.ix_(~known, ~known)] - weights @ whole[np.ix_(known, ~known)]
    ratio = found.covariance[np.ix_(~known, ~known)] / inside
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-8)  # up to the learned variance
    assert (found.covariance[known] == 0).all()
    assert found.freedom == 2


def test_left_out_families_are_refitted_without_them(rng):
    _, geometry = random_geometry(rng)
    target, groups = rng.normal(size=N), np.unique(FAMILIES, return_inverse=True)[1]
    variance, _ = _left_out_families(geometry, target, groups, 0.1)
    squares, weights = [], []
    for group in range(5):
        out = groups == group
        whole = geometry + 0.1 * np.eye(N)
        gain = whole[np.ix_(out, ~out)] @ np.linalg.inv(whole[np.ix_(~out, ~out)])
        error = target[out] - gain @ target[~out]
        spread = whole[np.ix_(out, out)] - gain @ whole[np.ix_(~out, out)]
        squares.append(error @ np.linalg.solve(spread, error) / out.sum())
        weights.append(np.sqrt(out.sum()))
    assert variance == pytest.approx(np.average(squares, weights=weights), rel=1e-8)


def test_scores_that_follow_the_geometry_are_found_and_intervals_hold():
    rng = np.random.default_rng(3)
    held, agreement = [], []
    families = [f"f{k // 4}" for k in range(48)]
    for _ in range(60):
        points = np.repeat(rng.normal(size=(12, 6)), 4, axis=0) + 0.6 * rng.normal(size=(48, 6))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        scores = points @ rng.normal(size=6) + 0.15 * rng.normal(size=48)
        hidden = np.array([int(name[1:]) % 2 == 0 for name in families])
        found = krige(range(48), points @ points.T, np.where(hidden, np.nan, scores), families)
        low, high = found.interval(0.9)
        held += ((low <= scores) & (scores <= high))[hidden].tolist()
        agreement.append(kendalltau(found.mean[hidden], scores[hidden]).statistic)
    assert 0.85 <= np.mean(held) <= 0.97
    assert np.mean(agreement) > 0.5


def test_an_operator_unlike_all_others_is_chance_with_a_wide_interval(rng):
    points, geometry = random_geometry(rng)
    stranger = np.zeros((N + 1, N + 1))
    stranger[:N, :N], stranger[N, N] = geometry, 1.0
    scores = np.r_[points @ rng.normal(size=6) + 4, np.nan]
    scores[2] = np.nan
    found = krige(range(N + 1), stranger, scores, [*FAMILIES, "new"], chance=4.0)
    assert found.mean[N] == 4.0
    assert found.deviation[N] > 1.5 * found.deviation[2]


def test_a_scale_carries_over_and_back(rng):
    _, geometry = random_geometry(rng)
    scale = rng.uniform(0.5, 3, size=N)
    base = rng.normal(size=N)
    hidden = np.array([name == "c" for name in FAMILIES])
    plain = krige(range(N), geometry, np.where(hidden, np.nan, base), FAMILIES)
    scaled = krige(
        range(N), geometry, np.where(hidden, np.nan, base / scale), FAMILIES, scale=scale
    )
    np.testing.assert_allclose(scaled.mean[hidden] * scale[hidden], plain.mean[hidden])
    np.testing.assert_allclose(scaled.deviation * scale, plain.deviation)


def test_draws_have_the_estimates_mean_and_spread_and_keep_exact_scores(rng):
    _, geometry = random_geometry(rng)
    scores = rng.normal(size=N)
    scores[5:9] = np.nan
    found = krige(range(N), geometry, scores, FAMILIES)
    drawn = found.draws(20_000, seed=1)
    np.testing.assert_allclose(np.median(drawn, axis=1), found.mean, atol=0.05)
    low, high = found.interval(0.8)
    inside = (drawn >= low[:, None]) & (drawn <= high[:, None])
    np.testing.assert_allclose(inside[5:9].mean(axis=1), 0.8, atol=0.02)
    assert (drawn[:5] == scores[:5, None]).all()
    np.testing.assert_array_equal(drawn, found.draws(20_000, seed=1))


def test_the_outlook_counts_draws_and_asks_for_what_promises_most(rng):
    _, geometry = random_geometry(rng)
    scores = np.linspace(0, 1, N)
    scores[[3, 20]] = np.nan
    found = krige(range(N), geometry, scores, FAMILIES)
    outlook = look_ahead(found, k=3, seed=2)
    assert outlook.chosen == 21
    assert outlook.best.sum() == pytest.approx(1)
    assert outlook.top.sum() == pytest.approx(3)
    assert outlook.members[21]
    assert outlook.gain[[3, 20]].min() >= 0
    assert (np.delete(outlook.gain, [3, 20]) == 0).all()
    assert outlook.regret >= outlook.gain.max() > 0
    free = np.full(N, np.inf)
    free[[3, 20]] = 1.0
    assert next_operator(outlook, free) == int(outlook.gain.argmax())
    free[int(outlook.gain.argmax())] = 1e9
    other = 3 + 20 - int(outlook.gain.argmax())
    assert next_operator(outlook, free) == other or outlook.gain[other] == 0
    assert next_operator(outlook, np.full(N, np.inf)) is None


def test_sequential_confirmation_finds_the_best_operator_soon():
    """Eight of sixty expensive operators are enough; at random they are not."""
    rng = np.random.default_rng(5)
    regret = {"gain": [], "random": []}
    for _ in range(12):
        points = rng.normal(size=(80, 8))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        scores = points @ rng.normal(size=8) + 0.1 * rng.normal(size=80)
        families = [f"f{k % 16}" for k in range(80)]
        for strategy, found in regret.items():
            known = np.array([k % 16 < 4 for k in range(80)])
            for _ in range(8):
                estimate = krige(
                    range(80), points @ points.T, np.where(known, scores, np.nan), families
                )
                place = int(rng.choice(np.flatnonzero(~known)))
                if strategy == "gain":
                    costs = np.where(known, np.inf, 1.0)
                    place = next_operator(look_ahead(estimate), costs)
                    if place is None:
                        break
                known[place] = True
            found.append((scores.max() - scores[known].max()) / np.ptp(scores))
    assert np.mean(regret["gain"]) < 0.02
    assert np.mean(regret["gain"]) < 0.5 * np.mean(regret["random"])


def test_too_few_exact_scores_are_refused(rng):
    _, geometry = random_geometry(rng)
    scores = np.full(N, np.nan)
    scores[:3] = 1.0
    with pytest.raises(InputError, match="at least 4 operators of two families, got 3"):
        krige(range(N), geometry, scores, FAMILIES)
    assert min(NUGGETS) > 0
