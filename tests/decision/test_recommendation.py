"""Evidence, recommendation and the posterior of population scores, on planted effects."""

from __future__ import annotations

import numpy as np
import pytest

from sclcs._core.errors import InputError
from sclcs.decision import (
    BLEND,
    TANGENT,
    WITHOUT,
    Evidence,
    Prediction,
    baseline_kernel,
    best_set,
    learn_population,
    measure_candidates,
    recommend,
    score_halves,
)
from sclcs.decision.kernels import centred_kernel
from sclcs.decision.recommendation import PRIORS

REFERENCE = "pearson"


def evidence(gains, spread=0.05, folds=30, n_subjects=200):
    """Scores on folds whose gains over the reference are as given, give or take."""
    rng = np.random.default_rng(0)
    names = (REFERENCE, *gains)
    rows = [np.full(folds, 0.6)]
    for gain in gains.values():
        noise = rng.normal(size=folds)
        rows.append(0.6 + gain + spread * (noise - noise.mean()) / noise.std())
    return Evidence(names, np.array(rows), 0.25, "auc", n_subjects)


def test_without_data_worth_the_name_the_prior_speaks():
    choice, _ = recommend(evidence({TANGENT: 0.0, BLEND: 0.0}, spread=2.0), reference=REFERENCE)
    assert (choice.kind, choice.spi) == ("blend", BLEND)
    assert choice.gain == pytest.approx(PRIORS["auc"].blend[0], abs=0.005)


def test_strong_evidence_overrules_it():
    many = evidence({TANGENT: 0.0, BLEND: 0.0, "dcorr": 0.1}, spread=0.005)
    choice, worth = recommend(many, reference=REFERENCE)
    assert (choice.kind, choice.spi) == ("switch", "dcorr")
    assert choice.low < choice.gain < choice.high
    assert choice.probability > 0.99
    roles = {row.role: row for row in worth}
    assert roles["recommended"].spi == "dcorr"
    assert roles["reference"].score == pytest.approx(0.6)


def test_the_reference_is_kept_where_all_are_worse():
    choice, _ = recommend(
        evidence({TANGENT: -0.06, BLEND: -0.05}, spread=0.005), reference=REFERENCE
    )
    assert (choice.kind, choice.spi) == ("keep", REFERENCE)
    assert choice.gain < 0


def test_the_reference_is_kept_where_there_is_no_effect():
    many = evidence({TANGENT: 0.1, BLEND: 0.1}, spread=0.005)
    choice, worth = recommend(many, reference=REFERENCE, p=0.2)
    assert (choice.kind, choice.spi, choice.gain) == ("keep", REFERENCE, 0.0)
    assert {row.role for row in worth} >= {"reference", "recommended", "blend"}
    assert recommend(many, reference=REFERENCE, p=0.01)[0].kind != "keep"


def test_undecided_says_how_many_subjects_it_takes():
    many = evidence({TANGENT: -0.005}, spread=0.05)
    choice, _ = recommend(many, reference=REFERENCE)
    assert (choice.kind, choice.spi, choice.candidate) == ("undecided", REFERENCE, TANGENT)
    assert choice.needed is not None
    assert choice.needed > 200


def test_the_baseline_is_measured_but_never_recommended():
    many = evidence({WITHOUT: 0.3, BLEND: 0.02}, spread=0.005)
    choice, worth = recommend(many, reference=REFERENCE, without=WITHOUT)
    assert choice.spi != WITHOUT
    assert "without connectivity" in {row.role for row in worth}
    with pytest.raises(InputError, match="not among"):
        recommend(many, reference="nothing")


@pytest.fixture(scope="module")
def planted():
    """Twelve kernels; the first four see the target, the first the most."""
    rng = np.random.default_rng(0)
    count = 160
    y = rng.normal(size=count)
    kernels = {}
    for place in range(12):
        features = rng.normal(size=(count, 40))
        if place < 4:
            features[:, :4] += (1.2 - 0.25 * place) * y[:, None]
        kernels[f"op{place}"] = centred_kernel(features.astype(np.float32))
    return y, kernels


def test_out_of_sample_scores_see_the_planted_effect(planted):
    y, kernels = planted
    found = measure_candidates(kernels, Prediction.make(y))
    assert found.score("op0")[0] > 0.5
    assert abs(found.score("op9")[0]) < 0.25
    gains, noise = found.differences(["op0", "op9"], "op5")
    assert gains[0] > gains[1]
    assert np.linalg.eigvalsh(noise)[0] >= 0
    labels = np.where(y > 0, "a", "b")
    assert measure_candidates(kernels, Prediction.make(labels)).score("op0")[0] > 0.75


def test_noise_is_scored_at_chance():
    rng = np.random.default_rng(5)
    kernels = {
        f"op{k}": centred_kernel(rng.normal(size=(80, 30)).astype(np.float32)) for k in range(6)
    }
    found = measure_candidates(kernels, Prediction.make(np.repeat(["a", "b"], 40)))
    assert abs(float(found.scores.mean()) - 0.5) < 0.08


def test_population_finds_the_planted_operator_and_its_set_is_small(planted):
    y, kernels = planted
    scores = score_halves(kernels.items(), Prediction.make(y))
    population = learn_population(scores)
    assert population.operators[population.chosen] == "op0"
    assert population.front(2)[0] == "op0"
    held = best_set(scores, population)
    assert "op0" in held.operators
    assert len(held.operators) <= 4
    assert held.coverage >= held.level
    regret = population.regret()
    assert regret.argmin() == population.chosen
    assert (regret >= 0).all()


def test_noise_makes_a_large_set_and_a_flat_posterior():
    rng = np.random.default_rng(7)
    y = rng.normal(size=120)
    kernels = {
        f"op{k}": centred_kernel(rng.normal(size=(120, 40)).astype(np.float32)) for k in range(20)
    }
    scores = score_halves(kernels.items(), Prediction.make(y))
    population = learn_population(scores)
    assert np.ptp(population.mean) < np.ptp(scores.whole)
    assert len(best_set(scores, population).operators) >= 5


def test_an_estimated_score_is_trusted_less(planted):
    y, kernels = planted
    scores = score_halves(kernels.items(), Prediction.make(y))
    unsure = np.zeros((12, 12))
    unsure[0, 0] = 100 * float(np.var(scores.whole))
    plain, doubted = learn_population(scores), learn_population(scores, estimated=unsure)
    assert doubted.mean[0] < plain.mean[0]
    assert doubted.covariance[0, 0] > plain.covariance[0, 0]


def test_baseline_sees_variance_and_motion_but_no_connectivity():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    scans = [rng.normal(size=(60, 4)) * np.exp(0.5 * value) for value in y]
    kernel = baseline_kernel(scans)
    found = measure_candidates({WITHOUT: kernel}, Prediction.make(y))
    assert found.score(WITHOUT)[0] > 0.6
    motion = baseline_kernel([rng.normal(size=(60, 4)) for _ in y], motion=y)
    assert measure_candidates({WITHOUT: motion}, Prediction.make(y)).score(WITHOUT)[0] > 0.6
