"""What a predictor is worth on new subjects: nothing may pass from one half to the other."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sclcs.stats import make_question, rank
from sclcs.stats.criteria import CRITERIA
from sclcs.stats.inference import new_subjects_worth
from sclcs.stats.permutations import half_draws
from sclcs.stats.prediction import FoldRules, Harmoniser, Predictor, cross_fit, make_folds
from sclcs.stats.sources import ArraySource

from small_fc import make_cohort, make_fc  # isort: skip
from test_prediction import refit  # isort: skip

SCORE = CRITERIA["predict"].predictions


@pytest.fixture
def problem(rng):
    n = 22
    features = rng.normal(size=(n, 15))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    covariates = np.c_[np.ones(n), rng.normal(size=(n, 2))]
    target = 4 * features[:, 0] + covariates[:, 1] + 0.3 * rng.normal(size=n)
    return features, covariates, target


def test_numbers_equal_training_on_one_half_and_testing_on_the_other_with_scikit_learn(problem):
    features, covariates, target = problem
    folds = make_folds(np.arange(22), None, FoldRules(3, 1), seed=1)
    halves = half_draws(np.zeros(22, int), 1, seed=5)
    predictor = Predictor(target[:, None], covariates, folds)
    found = cross_fit(predictor, features @ features.T, halves, SCORE)
    for place, half in enumerate(halves):
        mine = np.flatnonzero(half)
        inside = refit(features[mine], covariates[mine], target[mine], folds[place // 2][mine])
        outside = [values[half == 0] for values in refit(features, covariates, target, half)]
        assert found[0, place] == pytest.approx(np.corrcoef(inside)[0, 1], abs=1e-8)
        assert found[1, place] == pytest.approx(np.corrcoef(outside)[0, 1], abs=1e-8)


def test_classes_equal_training_on_one_half_and_testing_on_the_other_with_scikit_learn(problem):
    features, covariates, target = problem
    classes = (target > np.median(target)).astype(int)
    codes = (classes[:, None] == [0, 1]).astype(float)
    folds = make_folds(np.arange(22), classes, FoldRules(3, 1), seed=2)
    halves = half_draws(classes, 1, seed=3)
    found = cross_fit(
        Predictor(codes, covariates, folds), features @ features.T, halves, SCORE, classes
    )
    for place, half in enumerate(halves):
        mine, others = half > 0, half == 0
        inside, _ = refit(features[mine], covariates[mine], codes[mine, 1], folds[0][mine])
        outside, _ = refit(features, covariates, codes[:, 1], half)
        assert found[0, place] == pytest.approx(roc_auc_score(classes[mine], inside))
        assert found[1, place] == pytest.approx(roc_auc_score(classes[others], outside[others]))


def test_nothing_of_the_other_half_reaches_a_choice(problem, rng):
    features, covariates, target = problem
    folds = make_folds(np.arange(22), None, FoldRules(5, 1))
    halves = half_draws(np.zeros(22, int), 1, seed=0)
    others = halves[0] == 0
    changed = [features.copy(), covariates.copy(), target.copy()]
    for values in changed:
        values[others] = rng.normal(size=values[others].shape)
    scores = [
        cross_fit(Predictor(t[:, None], z, folds), x @ x.T, halves[:1], SCORE)[0]
        for x, z, t in (problem, changed)
    ]
    np.testing.assert_array_equal(*scores)


def test_without_an_effect_the_chosen_operator_is_worth_nothing_on_new_subjects(rng):
    """The best of forty operators looks good in any cohort; on the other half it is 0."""
    own, other = [], []
    for repeat in range(12):
        target = rng.normal(size=(40, 1))
        predictor = Predictor(
            target, np.ones((40, 1)), make_folds(np.arange(40), None, FoldRules(5, 1))
        )
        halves = half_draws(np.zeros(40, int), 3, seed=repeat)
        tables = rng.normal(size=(40, 40, 10))
        found = np.array([cross_fit(predictor, t @ t.T, halves, SCORE) for t in tables])
        worth = new_subjects_worth(found[:, 0], found[:, 1])
        own.append(worth.same_subjects)
        other.append(worth.new_subjects)
    assert np.mean(own) > 0.4
    assert abs(np.mean(other)) < 3 * np.std(other, ddof=1) / np.sqrt(12)


def people(n, **facts):
    return make_cohort([f"p{k:02d}" for k in range(n)], **facts)


def test_the_ranking_says_what_a_prediction_is_worth_and_whether_halves_agree(rng):
    cohort = people(48, diagnosis=["HC", "MDD"] * 24)
    fc = make_fc(cohort, 3, rng, effect=0.0)
    patients = (cohort.samples["diagnosis"] == "MDD").to_numpy()
    fc[2:, patients] += 1.5 * rng.normal(size=fc.shape[-2:])
    source = ArraySource(fc, ["pec", "gwtau", "prec_OAS"], cohort)
    options = {"permutations": 60, "bootstrap": 40, "folds": 6, "repeats": 2}
    ranking = rank(source, "diagnosis", score="predict", **options)
    worth = ranking.findings["worth"]
    assert 0.8 < worth["new_subjects"] <= 1.0
    assert {"kendall", "ndcg@10"} <= set(ranking.findings["halves"])
    said = [text for text in ranking.answer if "Chosen and trained on half of the subjects" in text]
    assert len(said) == 1
    assert f"{worth['new_subjects']:.3g}" in said[0]


def test_leaving_sites_out_is_judged_on_new_sites(rng):
    sites = [f"s{k % 5}" for k in range(40)]
    cohort = people(40, age=list(rng.normal(40, 9, 40)), site=sites)
    question = make_question(cohort.samples, "age", folds=FoldRules(leave_out="site"))
    halves = question.training_halves(3, seed=1)
    column = question.cases.table["site"].to_numpy()
    for half in halves:
        assert not set(column[half > 0]) & set(column[half == 0])
    np.testing.assert_array_equal(halves[::2] + halves[1::2], 1.0)
    fc = make_fc(cohort, 2, rng)
    older = (cohort.samples["age"].to_numpy() - 40) / 9
    fc += older[None, :, None, None] * rng.normal(size=(6, 6))
    source = ArraySource(fc, ["pec", "gwtau"], cohort)
    options = {"score": "predict", "permutations": 40, "bootstrap": 20}
    told = rank(source, "age", leave_out="site", **options)
    assert any("half of the groups of site" in text for text in told.answer)
    # With three sites one half is a single site: nothing is left to choose by.
    few = people(40, age=cohort.samples["age"].tolist(), site=[f"s{k % 3}" for k in range(40)])
    told = rank(ArraySource(fc, ["pec", "gwtau"], few), "age", leave_out="site", **options)
    assert "worth" not in told.findings
    assert any("too little to train on" in text for text in told.answer)


def test_halves_are_harmonised_by_their_own_subjects_and_skipped_if_a_site_is_too_small(problem):
    features, covariates, target = problem
    folds = make_folds(np.arange(22), None, FoldRules(3, 1))
    predictor = Predictor(target[:, None], covariates, folds)
    halves = half_draws(np.zeros(22, int), 1, seed=1)
    sites = np.arange(22) % 2
    harmoniser = Harmoniser(sites, covariates[:, 1:], ["x", "y"])
    found = cross_fit(predictor, np.empty((0, 0)), halves, SCORE, harmonise=(harmoniser, features))
    mine, others = np.flatnonzero(halves[0]), np.flatnonzero(halves[1])
    kernel = harmoniser.kernel(features, mine)
    predicted, beyond = predictor.predict_others(kernel, mine, others)
    expected = np.corrcoef(predicted[0, :, 0], beyond[0, :, 0])[0, 1]
    assert found[1, 0] == pytest.approx(expected)
    assert np.isfinite(found).all()
    rare = sites.copy()
    rare[np.flatnonzero(halves[0])[:1]] = 2  # one subject of a third site, in the first half
    small = Harmoniser(rare, covariates[:, 1:], ["x", "y", "z"])
    found = cross_fit(predictor, np.empty((0, 0)), halves, SCORE, harmonise=(small, features))
    assert np.isnan(found).all()
