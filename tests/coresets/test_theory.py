"""The paper's statements, checked on numbers."""

import numpy as np
import pytest

from sclcs.coresets.designs import best
from sclcs.coresets.encoder import EncoderSettings
from sclcs.coresets.encoder_training import Tracker
from sclcs.coresets.scored import draw_balanced, stable_pool


def entropy(rows):
    logs = np.log(np.where(rows > 0, rows, 1))
    return -(rows * logs).sum(axis=-1)


def disjoint_heads(rng, n_heads=3, n_regions=11):
    """Row-stochastic maps whose rows have supports that no two heads share."""
    maps = np.zeros((n_heads, n_regions, n_regions))
    for row in range(n_regions):
        owner = rng.integers(0, n_heads, n_regions)
        owner[rng.permutation(n_regions)[:n_heads]] = np.arange(n_heads)  # none is empty
        for head in range(n_heads):
            maps[head, row, owner == head] = rng.dirichlet(np.ones((owner == head).sum()))
    return maps


def test_theorem_1_averaging_heads_widens_support_and_raises_entropy(rng):
    for _ in range(20):
        heads = disjoint_heads(rng)
        mean = heads.mean(axis=0)
        support = heads > 0
        assert ((mean > 0) == support.any(axis=0)).all()
        assert (support.sum(axis=2) < (mean > 0).sum(axis=1)).all()
        assert (entropy(mean) > entropy(heads).mean(axis=0)).all()
        assert (entropy(mean) > entropy(heads).min(axis=0)).all()


def test_proposition_1_mixture_perturbation(rng):
    prototypes = rng.normal(size=(4, 5, 5))
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    distances = ((prototypes[:, None] - prototypes[None]) ** 2).sum(axis=(2, 3))
    expected = shares @ distances @ shares
    drawn = prototypes[rng.choice(4, size=40_000, p=shares)]
    steps = ((drawn[1:] - drawn[:-1]) ** 2).sum(axis=(1, 2))
    error = steps.std() / np.sqrt(len(steps) / 3)  # neighbouring steps share a draw
    assert abs(steps.mean() - expected) < 4 * error
    apart = distances[~np.eye(4, dtype=bool)]
    impurity = 1 - (shares**2).sum()
    assert apart.min() * impurity <= expected <= apart.max() * impurity


def test_lemma_1_the_running_score_converges_on_a_stationary_process(rng):
    import torch

    n_samples, epochs = 6, 4000
    scale = np.linspace(0.5, 3, n_samples)
    inputs = torch.zeros(n_samples, 2, 3)
    score = Tracker(inputs, EncoderSettings(epochs=epochs), keep_curves=False)
    state, errors = rng.normal(size=n_samples), {}
    for epoch in range(1, epochs + 1):
        # A first-order autoregression: stationary and ergodic, steps depend on each other.
        state = 0.8 * state + 0.6 * rng.normal(size=n_samples)
        score.add(slice(None), torch.from_numpy(scale * np.abs(state)), epoch)
        if epoch in (100, epochs):
            errors[epoch] = np.abs(score.scores / scale**2 - 1).mean()
    np.testing.assert_allclose(score.scores, scale**2, rtol=0.2)
    assert errors[epochs] < errors[100]
    assert (np.diff(score.scores) > 0).all()  # the order of the samples is that of the limits


def test_theorem_3_top_k_is_biased_towards_the_steadier_cluster(rng):
    share_p, ratio, n = 0.3, 0.2, 200_000
    in_p = rng.random(n) < share_p
    # Scores: uniform on [0, 1] in p, on [0, 2] in q. Threshold: 0.3 t + 0.7 t / 2 = ratio.
    scores = rng.random(n) * np.where(in_p, 1, 2)
    threshold = ratio / (share_p + (1 - share_p) / 2)
    limit = share_p * threshold / ratio
    gap = threshold - threshold / 2
    assert limit == pytest.approx(share_p + share_p * (1 - share_p) / ratio * gap)
    chosen = best(scores, int(ratio * n), "low", np.arange(n))
    assert in_p[chosen].mean() == pytest.approx(limit, abs=0.006)
    assert limit > share_p + 0.1


def test_density_sampling_covers_rare_scores_better_than_the_lowest(rng):
    common, rare = rng.normal(0, 1, 900), rng.normal(12, 1, 100)
    scores = np.concatenate([common, rare])
    pool = stable_pool(scores, beta=0.0)
    drawn = [draw_balanced(pool, 100, np.random.default_rng(seed)) for seed in range(30)]
    share_of_rare = np.mean([(rows >= 900).mean() for rows in drawn])
    assert share_of_rare > 0.2  # one in ten samples is rare
    assert (best(scores, 100, "low", np.arange(len(scores))) < 900).all()

    def cover(rows):  # farthest any sample is from a chosen one
        return np.abs(scores[:, None] - scores[rows][None]).min(axis=1).max()

    uniform = [rng.permutation(1000)[:100] for _ in range(30)]
    assert np.mean([cover(rows) for rows in drawn]) < np.mean([cover(rows) for rows in uniform])


def test_a_ball_is_missed_no_more_often_than_the_proof_says(rng):
    scores = rng.gamma(2.0, size=60)
    pool = stable_pool(scores, beta=0.0)
    ball = np.argsort(scores)[-4:]
    mass = pool.weights[np.isin(pool.rows, ball)].sum()
    size, draws = 10, 3000
    missed = np.mean(
        [
            not np.isin(draw_balanced(pool, size, np.random.default_rng(seed)), ball).any()
            for seed in range(draws)
        ]
    )
    bound = (1 - mass) ** size
    assert missed <= bound + 3 * np.sqrt(bound * (1 - bound) / draws)


def nearest_chosen(places, chosen):
    """Return for every sample the chosen one that is nearest to it, and how far it is at most."""
    distances = np.linalg.norm(places[:, None] - places[chosen][None], axis=2)
    return distances.argmin(axis=1), distances.min(axis=1).max()


def test_theorem_5_weighted_by_whom_they_stand_for_means_differ_by_no_more_than_the_cover(rng):
    for _ in range(20):
        places = rng.normal(size=(300, 4))  # of the samples' maps
        chosen = rng.permutation(300)[:30]
        stands_for, cover = nearest_chosen(places, chosen)
        weights = np.bincount(stands_for, minlength=30) / 300
        directions = rng.normal(size=(50, 4))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        values = np.abs(places @ directions.T)  # each changes by at most the distance: L = 1
        gap = np.abs(values.mean(axis=0) - weights @ values[chosen])
        assert (gap <= cover).all()
        # The bound is reached if all samples lie at the edge of the ball of the chosen one.
    edge = np.array([[0.0], [1.0], [1.0], [1.0]])
    stands_for, cover = nearest_chosen(edge, np.array([0]))
    assert (stands_for == 0).all()
    far = edge[1:].mean() - edge[0].mean()
    assert far == pytest.approx(cover)


def test_theorem_5_says_nothing_about_the_plain_mean_of_a_core_set():
    # A cover that takes one sample of a crowd and one of a few: rankings count both alike.
    places = np.concatenate([np.zeros((99, 1)), np.ones((1, 1))])
    chosen = np.array([0, 99])
    stands_for, cover = nearest_chosen(places, chosen)
    weights = np.bincount(stands_for, minlength=2) / 100
    assert cover == 0
    assert weights @ places[chosen, 0] == pytest.approx(places.mean())
    assert abs(places[chosen, 0].mean() - places.mean()) > 0.4


def test_the_size_that_theorem_4_asks_for_is_never_below_all_samples(rng):
    for balls, missed in ((2, 0.3), (10, 0.1), (100, 0.05)):
        density = rng.gamma(2.0, size=500)
        spread = (density.max() + 1e-3) / (density.min() + 1e-3)
        asked = len(density) * spread * (np.log(balls) + np.log(1 / missed))
        assert asked > len(density)
