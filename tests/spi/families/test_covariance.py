import warnings

import numpy as np
import pytest
import sklearn.covariance
from family_oracles import run
from family_signals import off_diagonal, zscore
from sklearn.exceptions import ConvergenceWarning

from sclcs.spi.families import covariance
from sclcs.spi.own import FamilyContext

CLOSED_FORM = ["EmpiricalCovariance", "ShrunkCovariance", "LedoitWolf", "OAS"]
SHAPES = [(5, 41), (2, 30), (12, 12), (12, 13), (30, 20), (90, 50)]


def mixed(n_samples=3, n_regions=5, n_times=41, seed=0):
    """Correlated noise that stays well conditioned however many regions there are."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(n_regions) + 0.4 * rng.normal(size=(n_regions, n_regions)) / n_regions**0.5
    return zscore(mixing @ rng.normal(size=(n_samples, n_regions, n_times)))


def sklearn_fit(estimator, rows, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return getattr(sklearn.covariance, estimator)(**parameters).fit(rows.T)


@pytest.mark.parametrize("estimator", CLOSED_FORM)
@pytest.mark.parametrize(("n_regions", "n_times"), SHAPES)
def test_equals_scikit_learn(estimator, n_regions, n_times):
    signals = mixed(n_samples=2, n_regions=n_regions, n_times=n_times)
    names = [f"{kind}_{estimator}" for kind in ("cov", "cov-sq", "prec", "prec-sq")]
    out = covariance.compute(signals, names, FamilyContext(np.zeros(2, dtype=np.uint64)))
    for index, rows in enumerate(signals):
        fit = sklearn_fit(estimator, rows)
        for kind, expected in (("cov", fit.covariance_), ("prec", fit.precision_)):
            ours = off_diagonal(out[f"{kind}_{estimator}"][index])
            squared = off_diagonal(out[f"{kind}-sq_{estimator}"][index])
            np.testing.assert_allclose(ours, off_diagonal(expected), rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(squared, ours**2)


@pytest.mark.parametrize(("n_regions", "n_times"), [(5, 41), (2, 30), (9, 200), (16, 400)])
def test_graphical_lasso_equals_scikit_learn(n_regions, n_times):
    signals = mixed(n_samples=3, n_regions=n_regions, n_times=n_times)
    out = run(covariance, signals)
    for index, rows in enumerate(signals):
        fit = sklearn_fit("GraphicalLasso", rows)
        # A fit that ends at the iteration limit depends on rounding, scikit-learn's own too.
        tolerance = 1e-8 if fit.n_iter_ < 60 else 1e-2
        for kind, expected in (("cov", fit.covariance_), ("prec", fit.precision_)):
            ours = off_diagonal(out[f"{kind}_GraphicalLasso"][index])
            np.testing.assert_allclose(ours, off_diagonal(expected), atol=tolerance)


@pytest.mark.parametrize(("n_regions", "n_times"), [(5, 41), (2, 30), (8, 73), (12, 20)])
def test_cross_validated_graphical_lasso_equals_scikit_learn(n_regions, n_times):
    signals = mixed(n_samples=2, n_regions=n_regions, n_times=n_times)
    names = ["cov_GraphicalLassoCV", "prec_GraphicalLassoCV", "prec-sq_GraphicalLassoCV"]
    out = covariance.compute(signals, names, FamilyContext(np.zeros(2, dtype=np.uint64)))
    for index, rows in enumerate(signals):
        fit = sklearn_fit("GraphicalLassoCV", rows)
        expected = (fit.covariance_, fit.precision_, fit.precision_**2)
        for name, matrix in zip(names, expected, strict=True):
            ours = off_diagonal(out[name][index])
            np.testing.assert_allclose(ours, off_diagonal(matrix), atol=1e-7)


def test_graphical_lasso_breaks_down_where_scikit_learns_does():
    signals = mixed(n_samples=6, n_regions=4)
    signals[:, 3] = signals[:, 0]
    ours = run(covariance, signals)["prec_GraphicalLasso"]
    broken = []
    for rows in signals:
        try:
            sklearn_fit("GraphicalLasso", rows)
            broken.append(False)
        except FloatingPointError:
            broken.append(True)
    assert set(broken) == {False, True}
    assert np.isnan(off_diagonal(ours)).all(axis=-1).tolist() == broken
    assert np.isfinite(off_diagonal(ours)).all(axis=-1).tolist() == [not b for b in broken]


@pytest.mark.parametrize(("n_regions", "n_times"), [(12, 12), (12, 13), (30, 20)])
def test_robust_fit_without_choice_equals_scikit_learn(n_regions, n_times):
    signals = mixed(n_samples=1, n_regions=n_regions, n_times=n_times)
    out = run(covariance, signals)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "not full rank"
        fit = sklearn_fit("MinCovDet", signals[0])
    for kind, expected in (("cov", fit.covariance_), ("prec", fit.precision_)):
        ours = off_diagonal(out[f"{kind}_MinCovDet"][0])
        np.testing.assert_allclose(ours, off_diagonal(expected), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("n_regions", "n_times"), [(6, 60), (4, 620)])
def test_robust_fit_is_distributed_as_scikit_learns(n_regions, n_times):
    rows = mixed(1, n_regions, n_times)[0]
    runs = 40 if n_times < 500 else 4
    theirs = np.array(
        [
            off_diagonal(sklearn_fit("MinCovDet", rows, random_state=seed).covariance_)
            for seed in range(runs)
        ]
    )
    stack = np.repeat(rows[None], runs, axis=0)
    context = FamilyContext(np.arange(runs, dtype=np.uint64))
    matrices = covariance.compute(stack, ["cov_MinCovDet"], context)["cov_MinCovDet"]
    ours = np.array([off_diagonal(matrix) for matrix in matrices])
    spread = np.sqrt((theirs.var(axis=0) + ours.var(axis=0)) / runs) + 1e-3
    assert (np.abs(theirs.mean(axis=0) - ours.mean(axis=0)) < 5 * spread).all()


def test_robust_fit_ignores_outliers():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3, 80))
    rows[1] += rows[0]
    rows[:2, :8] = 40.0 * np.array([[1.0], [-1.0]])
    rows = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, ddof=1, keepdims=True)
    out = run(covariance, rows[None])
    assert out["cov_EmpiricalCovariance"][0, 0, 1] < -0.9
    assert out["cov_MinCovDet"][0, 0, 1] > 0


def test_the_two_robust_names_are_one_estimator_and_seeds_belong_to_samples():
    signals = np.repeat(mixed(n_samples=1, n_regions=6, n_times=60), 3, axis=0)
    names = ["cov_MinCovDet", "cov_EllipticEnvelope"]
    seeds = np.array([3, 4, 3], dtype=np.uint64)
    out = covariance.compute(signals, names, FamilyContext(seeds))
    np.testing.assert_array_equal(out["cov_MinCovDet"], out["cov_EllipticEnvelope"])
    np.testing.assert_array_equal(out["cov_MinCovDet"][0], out["cov_MinCovDet"][2])
    alone = covariance.compute(signals[1:2], names, FamilyContext(seeds[1:2]))
    np.testing.assert_array_equal(out["cov_MinCovDet"][1], alone["cov_MinCovDet"][0])


def test_duplicated_region_does_not_break_the_robust_fit():
    signals = mixed(n_regions=4, n_times=60)
    signals[:, 3] = signals[:, 0]
    out = run(covariance, signals)
    assert np.isfinite(off_diagonal(out["prec_MinCovDet"][0])).all()


def test_all_members_survive_two_time_points():
    run(covariance, mixed(n_times=2))
