"""ComBat against combatlearn, learned from training subjects only, blind to the target."""

import warnings

import numpy as np
import pandas as pd
import pytest
from combatlearn import ComBat

from sclcs._core.errors import InputError
from sclcs.stats import make_kernel, make_question, rank
from sclcs.stats.evaluation import KernelView
from sclcs.stats.prediction import (
    FoldRules,
    Harmoniser,
    Predictor,
    area_under_curve,
    fit_combat,
    make_folds,
)
from sclcs.stats.sources import ArraySource

from small_fc import make_cohort, make_fc  # isort: skip


@pytest.fixture
def problem(rng):
    """Features of 31 subjects at three sites, which shift and widen them."""
    sites = np.array([0] * 13 + [1] * 10 + [2] * 8)
    covariates = np.c_[rng.normal(size=31), rng.integers(0, 2, 31)]
    features = rng.normal(size=(31, 7)) * (1 + sites[:, None]) + covariates[:, :1]
    return features + sites[:, None] * rng.normal(size=7), sites, covariates


def oracle(features, sites, covariates, training):
    """Fit and apply combatlearn, its covariates looked up by subject."""
    index = [f"s{k}" for k in range(len(features))]
    frame = pd.DataFrame(features, index=index)
    model = ComBat(
        pd.Series(sites, index=index),
        continuous_covariates=pd.DataFrame({"age": covariates[:, 0]}, index=index),
        discrete_covariates=pd.DataFrame({"sex": covariates[:, 1].astype(int)}, index=index),
        method="fortin",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(frame.iloc[training]).transform(frame).to_numpy()


def test_combat_equals_combatlearn_on_new_subjects_too(problem):
    features, sites, covariates = problem
    training = np.setdiff1d(np.arange(31), [0, 14, 15, 30])
    learned = fit_combat(features[training], sites[training], covariates[training])
    found = learned.apply(features, sites, covariates)
    np.testing.assert_allclose(
        found, oracle(features, sites, covariates, training), atol=1e-6, rtol=1e-6
    )
    before = features[sites == 2].std(axis=0) / features[sites == 0].std(axis=0)
    after = found[sites == 2].std(axis=0) / found[sites == 0].std(axis=0)
    assert after.mean() < before.mean() / 1.3


def test_a_site_without_training_subjects_is_named(problem):
    features, sites, covariates = problem
    few = np.flatnonzero((sites != 2) | (np.arange(31) == 30))
    with pytest.raises(InputError, match="there are fewer of the sites Oslo: leave"):
        fit_combat(features[few], sites[few], covariates[few], ["Rome", "Bern", "Oslo"])


def test_refitting_in_every_fold_equals_the_shortcut_where_nothing_is_learned(problem, rng):
    features, _, covariates = problem
    with_intercept = np.c_[np.ones(31), covariates]
    target = features[:, :2] + rng.normal(size=(31, 2))
    predictor = Predictor(target, with_intercept, make_folds(np.arange(31), None, FoldRules(4, 2)))
    kernel = features @ features.T
    np.testing.assert_allclose(
        predictor.out_of_fold_each(lambda _: kernel), predictor.out_of_fold(kernel), atol=1e-8
    )


def test_folds_are_harmonised_by_their_training_subjects_only(problem):
    features, sites, covariates = problem
    harmoniser = Harmoniser(sites, covariates, ["a", "b", "c"])
    training = np.setdiff1d(np.arange(31), [3, 20])
    changed = features.copy()
    changed[[3, 20]] += 5.0
    inside = np.ix_(training, training)
    one, two = (harmoniser.kernel(values, training) for values in (features, changed))
    np.testing.assert_array_equal(one[inside], two[inside])
    assert abs(one[3, 20] - two[3, 20]) > 1.0
    even = oracle(np.sqrt(7) * features, sites, covariates, training) / np.sqrt(7)
    np.testing.assert_allclose(one, even @ even.T, atol=1e-5)


@pytest.fixture
def cohort():
    names = [f"p{k:02d}" for k in range(36)]
    return make_cohort(
        names,
        diagnosis=["HC", "MDD"] * 18,
        site=["x", "x", "y"] * 12,
        age=list(np.random.default_rng(3).normal(40, 9, 36)),
    )


def test_harmonised_prediction_ranks_and_never_sees_the_target(rng, cohort):
    fc = make_fc(cohort, 2, rng, effect=0.0)
    site = (cohort.samples["site"] == "y").to_numpy()
    fc[:, site] = 3 * fc[:, site] + rng.normal(size=fc.shape[-2:])
    patients = (cohort.samples["diagnosis"] == "MDD").to_numpy()
    fc[1:, patients] += 1.5 * rng.normal(size=fc.shape[-2:])
    source = ArraySource(fc, ["pec", "gwtau"], cohort)
    options = {"permutations": 40, "bootstrap": 20, "folds": 4, "repeats": 2, "covariates": "age"}
    found = rank(source, "diagnosis", score="predict", harmonise="site", **options)
    assert found.table["spi"].iloc[0] == "gwtau"
    assert found.table["p"].iloc[0] < 0.1
    assert found.provenance["question"]["harmonise"] == "site"
    question = make_question(cohort.samples, "diagnosis", covariates="age", harmonise="site",
                             folds=FoldRules(4, 2))  # fmt: skip
    assert question.harmoniser.covariates.shape == (
        36,
        3,
    )  # a spline of age, and nothing of the diagnosis
    view = KernelView(make_kernel(fc[1]), question)
    auc = area_under_curve(view.predictions, question.values, np.ones((1, 36)))[0]
    assert found.scores["gwtau"] == pytest.approx(auc)
    free = rank(source, "diagnosis", harmonise="site", permutations=0, bootstrap=0)
    plain = rank(source, "diagnosis", permutations=0, bootstrap=0)
    assert free.scores["gwtau"] != pytest.approx(plain.scores["gwtau"])


def test_what_cannot_be_harmonised_is_said(rng, cohort):
    source = ArraySource(make_fc(cohort, 1, rng), ["pec"], cohort)
    with pytest.raises(InputError, match="cannot be harmonised"):
        rank(source, "diagnosis", score="predict", harmonise="site", leave_out="site")
    with pytest.raises(InputError, match="asked about subject"):
        rank(source, "subject", harmonise="site")
    with pytest.raises(InputError, match="cohen_d compares pairs of samples"):
        rank(source, "diagnosis", score="cohen_d", harmonise="site")
    repeated = make_cohort(["a", "a", "b", "b", "c", "c"], drug=["on", "off"] * 3, site=["x"] * 6)
    with pytest.raises(InputError, match="sites cancel out"):
        make_question(repeated.samples, "drug", harmonise="site")
