"""Kriging against the conditional normal distribution, and its promises on simulated operators."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from sclcs._core.constants import ERROR_NUGGETS, NUGGETS
from sclcs._core.errors import InputError
from sclcs.decision import krige, look_ahead, next_operator
from sclcs.decision.kriging import Process, left_out_halves

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


def test_left_out_halves_are_refitted_without_them(rng):
    _, geometry = random_geometry(rng)
    values = rng.normal(size=N)
    process = Process.learn(geometry, values, FAMILIES, (0.1,))
    parts = left_out_halves(FAMILIES)
    squares, weights = [], []
    for members, found in zip(parts, process.leave_out(parts), strict=True):
        out = np.isin(np.arange(N), members)
        whole = geometry + 0.1 * np.eye(N)
        gain = whole[np.ix_(out, ~out)] @ np.linalg.inv(whole[np.ix_(~out, ~out)])
        error = values[out] - gain @ values[~out]
        spread = whole[np.ix_(out, out)] - gain @ whole[np.ix_(~out, out)]
        np.testing.assert_allclose(found.error, error, rtol=1e-7)
        np.testing.assert_allclose(found.covariance, process.variance * spread, atol=1e-9)
        squares.append(error @ np.linalg.solve(spread, error) / out.sum())
        weights.append(np.sqrt(out.sum()))
    assert process.variance == pytest.approx(np.average(squares, weights=weights), rel=1e-8)


def test_halves_hold_whole_families_and_every_operator_once_in_two():
    parts = left_out_halves(FAMILIES)
    for first, second in zip(parts[::2], parts[1::2], strict=True):
        assert sorted([*first, *second]) == list(range(N))
        assert not {FAMILIES[k] for k in first} & {FAMILIES[k] for k in second}


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


def test_a_stranger_is_computed_first_among_operators_that_are_surely_worse():
    """Only data can speak for it: its wide interval is what makes it worth its price."""
    rng = np.random.default_rng(11)
    first = []
    for _ in range(10):
        points, geometry = random_geometry(rng)
        direction = rng.normal(size=6)
        scores = 1 + points @ direction / np.linalg.norm(direction)
        hidden = np.argsort(scores)[: N // 3]  # the worst third is not known, nor the stranger
        whole = np.eye(N + 1)
        whole[:N, :N] = geometry
        known = np.r_[scores, np.nan]
        known[hidden] = np.nan
        found = krige(range(N + 1), whole, known, [*FAMILIES, "new"])
        look = look_ahead(found, seed=3)
        first.append(next_operator(look, np.where(np.isnan(known), 1.0, np.inf)))
        assert look.best[N] > 0.005
    assert first.count(N) >= 8  # now and then a hidden operator is nearly a stranger, too


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


def many_operators(rng, noise, own=0.5):
    """Scores that follow geometry and something of their own; core-set scores with noise."""
    families = [f"f{k // 4}" for k in range(48)]
    points = np.repeat(rng.normal(size=(12, 6)), 4, axis=0) + 0.6 * rng.normal(size=(48, 6))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    scores = points @ rng.normal(size=6) + own * rng.normal(size=48)
    told = scores + 0.3 * noise + noise * rng.normal(size=48)
    hidden = np.array([int(name[1:]) % 2 == 0 for name in families])
    return points @ points.T, scores, told, families, hidden


@pytest.mark.parametrize(("noise", "least"), [(0.05, 0.85), (0.4, 0.5)])
def test_own_scores_sharpen_the_estimate_and_intervals_still_hold(noise, least):
    rng = np.random.default_rng(8)
    held, with_own, without = [], [], []
    for _ in range(60):
        geometry, scores, told, families, hidden = many_operators(rng, noise)
        known = np.where(hidden, np.nan, scores)
        plain = krige(range(48), geometry, known, families)
        found = krige(range(48), geometry, known, families, own=told)
        low, high = found.interval(0.9)
        held += ((low <= scores) & (scores <= high))[hidden].tolist()
        with_own.append(kendalltau(found.mean[hidden], scores[hidden]).statistic)
        without.append(kendalltau(plain.mean[hidden], scores[hidden]).statistic)
    assert 0.85 <= np.mean(held) <= 0.97
    assert np.mean(with_own) > max(least, np.mean(without) + 0.1)


def test_own_scores_that_are_noise_change_nothing(rng):
    geometry, scores, _, families, hidden = many_operators(rng, 0.0, own=0.1)
    known, noise = np.where(hidden, np.nan, scores), 20 * rng.normal(size=48)
    plain = krige(range(48), geometry, known, families)
    found = krige(range(48), geometry, known, families, own=scores + noise)
    assert found.own_weight == 0
    np.testing.assert_array_equal(found.mean, plain.mean)
    np.testing.assert_array_equal(found.covariance, plain.covariance)


def test_the_posterior_is_the_conditional_normal_distribution(rng):
    """Up to its widening: of scores, given exact ones and noisy ones, in one large matrix."""
    geometry, scores, told, families, hidden = many_operators(rng, 0.2)
    told[hidden.nonzero()[0][:3]] = np.nan  # too expensive even for the core-set
    known = ~hidden
    target = np.where(hidden, np.nan, scores)
    found = krige(range(48), geometry, target, families, own=told)
    names = [name for name, there in zip(families, known, strict=True) if there]
    inner = geometry[np.ix_(known, known)]
    score = Process.learn(inner, scores[known], names, NUGGETS)
    error = Process.learn(inner, (told - scores)[known], names, ERROR_NUGGETS)
    prior = score.variance * (geometry + score.nugget * np.eye(48))
    noise = error.variance * (geometry + error.nugget * np.eye(48))
    there = np.isfinite(told)
    whole = np.block([[prior, prior[:, there]], [prior[there], (prior + noise)[there][:, there]]])
    seen = np.r_[known, np.ones(there.sum(), dtype=bool)]
    gain = np.linalg.solve(whole[np.ix_(seen, seen)], whole[seen][:, :48]).T
    expected = gain @ np.r_[scores[known], told[there]]
    left = prior - gain @ whole[seen][:, :48]
    np.testing.assert_allclose(found.mean[hidden], expected[hidden], rtol=1e-6)
    ratio = found.covariance[np.ix_(hidden, hidden)] / left[np.ix_(hidden, hidden)]
    assert 1 <= ratio[0, 0] < 5
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-5)
    assert 0.2 <= found.own_weight <= 1


def test_own_scores_of_too_few_known_operators_are_left_out(rng):
    geometry, scores, told, families, hidden = many_operators(rng, 0.05)
    told[~hidden] = np.nan
    known = np.where(hidden, np.nan, scores)
    found = krige(range(48), geometry, known, families, own=told)
    assert found.own_weight == 0
