"""Prediction against scikit-learn's own pipeline on the same features, refitted in every fold."""

from contextlib import nullcontext
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline

from sclcs._core.errors import InputError
from sclcs.stats import make_kernel, make_question, rank
from sclcs.stats.evaluation import KernelView
from sclcs.stats.permutations import permutation_table
from sclcs.stats.prediction import (
    PENALTIES,
    FoldRules,
    Predictor,
    area_under_curve,
    correlation,
    explained_variance,
    make_folds,
)
from sclcs.stats.sources import ArraySource

from small_fc import make_cohort, make_fc  # isort: skip


class WithoutCovariates(TransformerMixin, BaseEstimator):
    """The first columns are covariates (with an intercept); they are regressed out of the rest."""

    def __init__(self, n_covariates):
        self.n_covariates = n_covariates

    def fit(self, X, y=None):  # noqa: ARG002
        covariates, features = X[:, : self.n_covariates], X[:, self.n_covariates :]
        self.fit_ = LinearRegression(fit_intercept=False).fit(covariates, features)
        return self

    def transform(self, X):
        return X[:, self.n_covariates :] - self.fit_.predict(X[:, : self.n_covariates])


def refit(features, covariates, target, folds):
    """Predict every fold from the others; penalty by leave-one-out, all with scikit-learn."""
    found = np.empty_like(target, dtype=float)
    beyond = np.empty_like(found)
    table = np.hstack([covariates, features])
    for fold in np.unique(folds):
        train, test = folds != fold, folds == fold
        line = LinearRegression(fit_intercept=False).fit(covariates[train], target[train])
        rest = target[train] - line.predict(covariates[train])
        pipelines = [
            make_pipeline(WithoutCovariates(covariates.shape[1]), Ridge(p, fit_intercept=False))
            for p in PENALTIES
        ]
        losses = []
        for pipeline in pipelines:
            alone = cross_val_predict(pipeline, table[train], target[train], cv=LeaveOneOut())
            # What covariates predict is refitted without the left-out subject as well.
            lines = cross_val_predict(
                LinearRegression(fit_intercept=False),
                covariates[train],
                target[train],
                cv=LeaveOneOut(),
            )
            losses.append(((target[train] - lines - alone) ** 2).sum())
        best = pipelines[int(np.argmin(losses))].fit(table[train], rest)
        found[test] = best.predict(table[test])
        beyond[test] = target[test] - line.predict(covariates[test])
    return found, beyond


@pytest.fixture
def problem(rng):
    n = 26
    features = rng.normal(size=(n, 15))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    covariates = np.c_[np.ones(n), rng.normal(size=(n, 2))]
    target = 3 * features[:, 0] + covariates[:, 1] + 0.3 * rng.normal(size=n)
    return features, covariates, target


@pytest.mark.parametrize("n_covariates", [1, 3])
def test_numbers_equal_refitting_with_scikit_learn(problem, n_covariates):
    features, covariates, target = problem
    covariates = covariates[:, :n_covariates]
    folds = make_folds(np.arange(26), None, FoldRules(5, 2), seed=1)
    predictor = Predictor(target[:, None], covariates, folds)
    found = predictor.out_of_fold(features @ features.T)[..., 0]
    for repeat in range(2):
        expected, beyond = refit(features, covariates, target, folds[repeat])
        np.testing.assert_allclose(found[repeat], expected, atol=1e-8)
        np.testing.assert_allclose(predictor.residual_target[repeat, :, 0], beyond, atol=1e-8)


def test_classes_equal_refitting_with_scikit_learn(problem):
    features, covariates, target = problem
    classes = (target > np.median(target)).astype(int)
    folds = make_folds(np.arange(26), classes, FoldRules(4, 1), seed=2)
    codes = (classes[:, None] == [0, 1]).astype(float)
    predictor = Predictor(codes, covariates, folds)
    found = predictor.out_of_fold(features @ features.T)
    expected, _ = refit(features, covariates, codes[:, 1], folds[0])
    np.testing.assert_allclose(found[0, :, 1], expected, atol=1e-8)
    auc = area_under_curve(found, classes, np.ones((1, 26)))[0]
    assert auc == pytest.approx(roc_auc_score(classes, expected))


def test_leaving_sites_out_equals_refitting_with_scikit_learn(rng):
    sites = np.array([f"s{k % 3}" for k in range(26)])
    cohort = make_cohort(
        [f"p{k:02d}" for k in range(26)],
        age=list(rng.normal(40, 9, 26)),
        motion=list(rng.random(26)),
        site=list(sites),
    )
    (fc,) = make_fc(cohort, 1, rng)
    question = make_question(
        cohort.samples, "age", covariates="motion", folds=FoldRules(leave_out="site")
    )
    view = KernelView(make_kernel(fc), question)
    target = cohort.samples["age"].to_numpy()
    expected, beyond = refit(view._case_vectors, question.covariate_matrix, target, sites)
    np.testing.assert_allclose(view.predictions[0, :, 0], expected, atol=1e-6)
    np.testing.assert_allclose(question.predictor.residual_target[0, :, 0], beyond, atol=1e-8)


def test_a_covariate_that_only_left_out_cases_have_explains_nothing(problem):
    features, _, target = problem
    kernel = features @ features.T
    site = np.array([0] * 12 + [1] * 13 + [2])  # the last subject is alone at its site
    columns = np.c_[np.ones(26), site == 1, site == 2].astype(float)
    permutations = permutation_table(np.zeros(26, int), 30, seed=0)
    for folds in (make_folds(np.arange(26), None, FoldRules(5, 1), seed=1), site[None, :]):
        predictor = Predictor(target[:, None], columns, folds)
        found = predictor.out_of_fold(kernel)
        assert np.isfinite(found).all()
        assert np.isfinite(predictor.statistics(kernel, permutations)).all()
        for left_out in (np.flatnonzero(folds[0] == fold) for fold in np.unique(folds[0])):
            kept = np.setdiff1d(np.arange(26), left_out)
            known = columns[:, columns[kept].any(axis=0)]  # what training knows of
            if np.linalg.matrix_rank(known[kept]) == known.shape[1]:
                only = Predictor(target[:, None], known, folds)._refit(kernel, kept, left_out)
                both = predictor._refit(kernel, kept, left_out)
                np.testing.assert_allclose(both, only, atol=1e-8)


def test_scores_of_draws_equal_scikit_learn_and_numpy(rng):
    predictions, target = rng.normal(size=(3, 50)), rng.normal(size=(3, 50))
    draws = (rng.random((4, 50)) < 0.6).astype(float)
    classes = rng.integers(0, 3, 50)
    columns = np.round(rng.normal(size=(3, 50, 3)), 1)  # with ties
    auc = area_under_curve(columns, classes, draws)
    for number, draw in enumerate(draws):
        kept = draw > 0
        expected = np.mean(
            [np.corrcoef(p[kept], t[kept])[0, 1] for p, t in zip(predictions, target, strict=True)]
        )
        assert correlation(predictions, target, draws)[number] == pytest.approx(expected)
        r2 = np.mean([
            1 - ((t - p)[kept] ** 2).sum() / (t[kept] ** 2).sum()
            for p, t in zip(predictions, target, strict=True)
        ])  # fmt: skip
        assert explained_variance(predictions, target, draws)[number] == pytest.approx(r2)
        pairs = []
        for table in columns:
            for one, other in [(0, 1), (0, 2), (1, 2)]:
                members = kept & np.isin(classes, [one, other])
                decision = (table[:, one] - table[:, other])[members]
                pairs.append(roc_auc_score(classes[members] == one, decision))
        assert auc[number] == pytest.approx(np.mean(pairs))


def test_folds_keep_subjects_together_and_classes_in_proportion():
    subjects = np.repeat(np.arange(30), 2)
    classes = np.repeat([0] * 20 + [1] * 10, 2)
    folds = make_folds(subjects, classes, FoldRules(5, 3), seed=0)
    assert folds.shape == (3, 60)
    assert (folds[:, ::2] == folds[:, 1::2]).all()
    for row in folds:
        for fold in range(5):
            assert np.bincount(classes[row == fold]).tolist() == [8, 4]
    assert (folds[0] != folds[1]).any()
    with pytest.raises(InputError, match="at least 2 folds"):
        FoldRules(1)


def test_the_permutation_test_keeps_its_level_and_finds_an_effect():
    rng = np.random.default_rng(9)
    folds = make_folds(np.arange(30), None, FoldRules(5, 1))
    permutations = permutation_table(np.zeros(30, int), 59, seed=0)
    hits = 0
    for _ in range(150):
        features = rng.normal(size=(30, 12))
        covariates = np.c_[np.ones(30), rng.normal(size=30)]
        target = covariates[:, 1] + rng.normal(size=30)
        predictor = Predictor(target[:, None], covariates, folds)
        found = predictor.statistics(features @ features.T, permutations)
        hits += (found >= found[0]).mean() <= 0.05
    assert hits / 150 <= 0.11
    strong = Predictor((3 * features[:, 0])[:, None], covariates, folds)
    found = strong.statistics(features @ features.T, permutations)
    assert (found >= found[0]).mean() == 1 / 60


def test_predict_ranks_like_any_score_and_leaves_sites_out(rng):
    names = [f"p{k:02d}" for k in range(36)]
    cohort = make_cohort(
        names, diagnosis=["HC", "MDD"] * 18, site=["x", "x", "y", "y", "z", "z"] * 6
    )
    fc = make_fc(cohort, 3, rng, effect=0.0)
    patients = (cohort.samples["diagnosis"] == "MDD").to_numpy()
    fc[2:, patients] += 1.5 * rng.normal(size=fc.shape[-2:])
    source = ArraySource(fc, ["pec", "gwtau", "prec_OAS"], cohort)
    options = {"permutations": 60, "bootstrap": 40, "folds": 6, "repeats": 3}
    ranking = rank(source, "diagnosis", score="predict", **options)
    assert ranking.table["spi"].iloc[0] == "prec_OAS"
    assert ranking.table["score"].iloc[0] > 0.9
    assert ranking.table["p"].iloc[0] < 0.05 < ranking.table["p"].iloc[1]
    assert ranking.table["low"].iloc[0] <= ranking.table["score"].iloc[0]
    by_site = rank(source, "diagnosis", score="predict", leave_out="site", **options)
    question = make_question(cohort.samples, "diagnosis", folds=FoldRules(leave_out="site"))
    view = KernelView(make_kernel(fc[2]), question)
    site = question.cases.table["site"].to_numpy()
    for label in "xyz":
        assert len(set(question.predictor.folds[0][site == label])) == 1
    assert by_site.scores["prec_OAS"] == pytest.approx(
        area_under_curve(view.predictions, question.values, np.ones((1, 36)))[0]
    )
    with pytest.raises(InputError, match="cannot be used for subject"):
        rank(source, "subject", score="predict")


def test_a_label_that_changes_within_subjects_is_predicted_within_them(rng):
    subjects = np.repeat([f"p{k:02d}" for k in range(14)], 2)
    cohort = make_cohort(list(subjects), drug=["off", "on"] * 14)
    fc = make_fc(cohort, 1, rng)  # large differences between persons
    fc += 3 * rng.normal(size=(14, 1, 6, 6)).repeat(2, axis=0).reshape(1, 28, 6, 6)
    on = (cohort.samples["drug"] == "on").to_numpy()
    fc[:, on] += 0.8 * rng.normal(size=(6, 6))
    source = ArraySource(fc, ["pec"], cohort)
    options = {"permutations": 99, "bootstrap": 0, "folds": 7, "repeats": 2}
    found = rank(source, "drug", score="predict", **options).table.iloc[0]
    assert found["score"] > 0.8
    assert found["p"] <= 0.05
    assert pd.isna(found["low"])


@pytest.mark.parametrize(("score", "most"), [("predict", 1), ("share", None)])
def test_predictions_keep_linear_algebra_to_one_thread(rng, monkeypatch, score, most):
    """Threads that wait for each other took thirty times the CPU time on a busy machine."""
    told = []

    def limit_threads(limits):
        told.append(limits)
        return nullcontext()

    module = import_module("sclcs.stats.evaluation")  # a function has the same name
    monkeypatch.setattr(module, "threadpool_limits", limit_threads)
    cohort = make_cohort([f"p{k:02d}" for k in range(20)], age=list(rng.normal(size=20)))
    source = ArraySource(make_fc(cohort, 1, rng), ["pec"], cohort)
    rank(source, "age", score=score, folds=4, repeats=1, permutations=5, bootstrap=4)
    assert told == ([] if most is None else [most])
