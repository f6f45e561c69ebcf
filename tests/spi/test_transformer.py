"""FCTransformer: nilearn's conventions, scikit-learn's rules, our numbers."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.utils.estimator_checks as checks
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import sclcs
from sclcs._core import InputError
from sclcs.spi import FCTransformer, compute_batch as compute

DIRECTED = "gc_gaussian_k-1_kt-1_l-1_lt-1"
SYMMETRIC = "kendalltau"


@pytest.fixture(scope="module")
def scans():
    """Seven scans of unequal length, 4 regions."""
    rng = np.random.default_rng(5)
    return [rng.normal(size=(length, 4)) for length in (60, 73, 60, 73, 61, 60, 73)]


def test_every_sample_is_computed_as_if_it_were_alone(scans):
    found = FCTransformer(SYMMETRIC).fit_transform(scans)
    assert found.shape == (7, 4, 4)
    for scan, matrix in zip(scans, found, strict=True):
        expected = compute(scan.T, SYMMETRIC).to_numpy()[0, 0]
        np.fill_diagonal(expected, 1.0)
        np.testing.assert_array_equal(matrix, expected)


def test_an_array_is_a_list_of_samples(scans):
    same = np.stack([scans[k] for k in (0, 2, 5)])
    np.testing.assert_array_equal(
        FCTransformer().fit_transform(same), FCTransformer().fit_transform(list(same))
    )


def test_covariance_is_the_correlation_up_to_the_divisor(scans):
    ours = FCTransformer("cov_EmpiricalCovariance", vectorize=True).fit_transform(scans)
    rows, columns = np.tril_indices(4, k=-1)
    for scan, row in zip(scans, ours, strict=True):
        factor = (len(scan) - 1) / len(scan)
        np.testing.assert_allclose(row, np.corrcoef(scan.T)[rows, columns] * factor, rtol=1e-10)


def test_correlation_is_nilearns_without_shrinkage(scans):
    connectome = pytest.importorskip("nilearn.connectome")
    from sklearn.covariance import EmpiricalCovariance

    # nilearn's default estimator shrinks (Ledoit-Wolf); this one does not
    measure = connectome.ConnectivityMeasure(
        EmpiricalCovariance(), kind="correlation", vectorize=True, discard_diagonal=True
    )
    theirs = measure.fit_transform(scans)
    ours = FCTransformer(vectorize=True).fit_transform(scans)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def test_vectors_of_symmetric_and_directed_operators(scans):
    symmetric = FCTransformer(SYMMETRIC, vectorize=True).fit_transform(scans)
    assert symmetric.shape == (7, 6)
    full = FCTransformer(SYMMETRIC).fit_transform(scans)
    np.testing.assert_array_equal(symmetric[3], full[3][np.tril_indices(4, k=-1)])
    directed = FCTransformer(DIRECTED, vectorize=True).fit_transform(scans)
    assert directed.shape == (7, 12)
    matrix = FCTransformer(DIRECTED).fit_transform(scans)[3]
    np.testing.assert_array_equal(directed[3], matrix[~np.eye(4, dtype=bool)])


def test_several_operators(scans):
    both = [SYMMETRIC, DIRECTED]
    assert FCTransformer(both).fit_transform(scans).shape == (7, 2, 4, 4)
    vectors = FCTransformer(both, vectorize=True).fit_transform(scans)
    parts = [FCTransformer(spi, vectorize=True).fit_transform(scans) for spi in both]
    np.testing.assert_array_equal(vectors, np.concatenate(parts, axis=1))


def test_the_diagonal_is_what_is_asked_for(scans):
    for spi in ("pearson", "partial", "spearman", SYMMETRIC):
        assert (np.diagonal(FCTransformer(spi).fit_transform(scans), axis1=1, axis2=2) == 1).all()
    assert np.isnan(FCTransformer(DIRECTED).fit_transform(scans)[:, 0, 0]).all()
    zero = FCTransformer([DIRECTED, SYMMETRIC], diagonal=0.0).fit_transform(scans)
    assert (np.diagonal(zero, axis1=2, axis2=3) == 0).all()
    kept = FCTransformer(vectorize=True, discard_diagonal=False).fit_transform(scans)
    assert kept.shape == (7, 10)
    with pytest.raises(InputError, match="diagonal would hold NaN, because gc_gaussian"):
        FCTransformer(DIRECTED, vectorize=True, discard_diagonal=False).fit(scans)


def test_what_nilearn_has_is_as_nilearn_has_it(scans):
    connectome = pytest.importorskip("nilearn.connectome")
    from sklearn.covariance import EmpiricalCovariance

    scaled = [scan * [1, 5, 0.2, 30] for scan in scans]
    plain = np.array([np.corrcoef(scan.T) for scan in scaled])
    theirs = {
        "pearson": {"cov_estimator": EmpiricalCovariance(), "kind": "correlation"},
        "partial": {"kind": "partial correlation"},
        "tangent": {"kind": "tangent"},
    }
    for options in ({}, {"vectorize": True, "discard_diagonal": True}):
        for spi, arguments in theirs.items():
            measure = connectome.ConnectivityMeasure(**arguments, **options)
            ours = FCTransformer(spi, **options).fit_transform(scaled)
            np.testing.assert_allclose(ours, measure.fit_transform(scaled), atol=1e-12)
    np.testing.assert_allclose(FCTransformer().fit_transform(scaled), plain, atol=1e-12)
    several = FCTransformer(list(theirs)).fit_transform(scaled)
    assert several.shape == (7, 3, 4, 4)
    np.testing.assert_allclose(several[:, 0], plain, atol=1e-12)


def test_named_data_arrays_go_by_the_names_of_their_dimensions(scans):
    import xarray as xr

    named = [xr.DataArray(scan.T, dims=("region", "time")) for scan in scans]
    expected = FCTransformer().fit_transform(scans)
    np.testing.assert_array_equal(FCTransformer().fit_transform(named), expected)
    ragged = np.empty(len(scans), dtype=object)
    ragged[:] = scans
    np.testing.assert_array_equal(FCTransformer().fit_transform(ragged), expected)
    with pytest.raises(InputError, match=r"axes look swapped"):
        FCTransformer().fit([scan.T for scan in scans])


def test_feature_names(scans):
    frames = [pd.DataFrame(scan, columns=["PCC", "mPFC", "AGL", "AGR"]) for scan in scans]
    fitted = FCTransformer([SYMMETRIC, DIRECTED], vectorize=True).fit(frames)
    names = fitted.get_feature_names_out()
    assert len(names) == fitted.transform(frames).shape[1]
    assert names[0] == "kendalltau:mPFC--PCC"
    assert names[6] == f"{DIRECTED}:PCC->mPFC"
    plain = FCTransformer(SYMMETRIC, vectorize=True).fit(scans)
    assert plain.get_feature_names_out()[0] == "kendalltau:x1--x0"
    assert plain.get_feature_names_out(list("abcd"))[-1] == "kendalltau:d--c"
    with pytest.raises(InputError, match="input_features"):
        plain.get_feature_names_out(["a"])
    with pytest.raises(InputError, match="vectorize=True"):
        FCTransformer().fit(scans).get_feature_names_out()


def test_pandas_output(scans):
    table = FCTransformer(vectorize=True).set_output(transform="pandas").fit_transform(scans)
    assert table.shape == (7, 6)
    assert table.columns[0] == "pearson:x1--x0"


def test_a_pipeline_learns_and_can_choose_its_operator():
    rng = np.random.default_rng(2)
    labels = np.arange(24) % 2
    scans = []
    for label in labels:
        scan = rng.normal(size=(50 + rng.integers(3), 4))
        scan[:, 1] += 2 * label * scan[:, 0]
        scans.append(scan)
    pipe = make_pipeline(FCTransformer(vectorize=True), LogisticRegression())
    assert cross_val_score(pipe, scans, labels, cv=3).mean() > 0.9
    grid = GridSearchCV(
        pipe, {"fctransformer__spi": ["kendalltau", ["pearson", "tangent"]]}, cv=2
    ).fit(scans, labels)
    assert grid.best_score_ > 0.9


def test_scikit_learns_rules_that_do_not_need_a_table():
    # check_estimator feeds arrays (sample, feature); samples here are arrays themselves, and
    # the tags say so, as nilearn's do. These checks concern the object, not its data.
    estimator = FCTransformer()
    name = "FCTransformer"
    checks.check_no_attributes_set_in_init(name, estimator)
    checks.check_parameters_default_constructible(name, estimator)
    checks.check_get_params_invariance(name, estimator)
    checks.check_set_params(name, estimator)
    checks.check_estimator_cloneable(name, estimator)
    checks.check_estimator_repr(name, estimator)
    checks.check_valid_tag_types(name, estimator)
    assert not estimator.__sklearn_tags__().input_tags.two_d_array


def test_fitting_changes_no_parameter_and_clones_are_unfitted(scans):
    estimator = FCTransformer([SYMMETRIC], vectorize=True, seed=4)
    before = str(estimator.get_params())
    assert estimator.fit(scans) is estimator
    assert str(estimator.get_params()) == before
    with pytest.raises(NotFittedError):
        clone(estimator).transform(scans)
    again = pickle.loads(pickle.dumps(estimator))  # noqa: S301 (our own)
    np.testing.assert_array_equal(again.transform(scans), estimator.transform(scans))


def test_threads_change_nothing(scans):
    names = [SYMMETRIC, DIRECTED, "cov_MinCovDet"]
    one, two = (FCTransformer(names, n_jobs=jobs).fit_transform(scans) for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_failures_are_warned_about_with_their_reason(scans):
    broken = [scan.copy() for scan in scans]
    broken[4][:, 2] = 1.0
    with pytest.warns(UserWarning, match=r"sample 4 \(.*region"):
        found = FCTransformer().fit_transform(broken)
    assert np.isnan(found[4, 2]).all()
    assert np.isfinite(found[4, 0, 1])


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "0 scans"),
        (np.zeros((5, 6)), "single scan into a list"),
        ([np.ones((9, 3)), np.ones((9, 4))], "axes look swapped"),
        ([np.full((9, 3), np.nan)], "NaN or infinity"),
        ([np.ones((1, 3))], "1 time points x 3 regions"),
        ([np.array([["a", "b"]] * 3)], "type"),
        (pd.DataFrame(np.ones((9, 3))), "DataFrame"),
        ("scans", "str"),
    ],
)
def test_mistakes_are_named(samples, message):
    with pytest.raises(InputError, match=message):
        FCTransformer().fit(samples)


def test_other_regions_than_fitted(scans):
    fitted = FCTransformer().fit(scans)
    with pytest.raises(InputError, match="expecting 4 features"):
        fitted.transform([scan[:, :3] for scan in scans])


def test_the_front_door_knows_it():
    assert sclcs.FCTransformer is FCTransformer


def test_other_columns_than_those_of_the_fit_are_refused(scans):
    frames = [pd.DataFrame(scan, columns=list("abcd")) for scan in scans]
    fitted = FCTransformer().fit(frames)
    with pytest.raises(InputError, match=r"feature names should match.*their order is another"):
        fitted.transform([frame[list("dcba")] for frame in frames])
    with pytest.raises(InputError, match="these were not there: e"):
        fitted.transform([frame.rename(columns={"b": "e"}) for frame in frames])
    np.testing.assert_array_equal(fitted.transform(scans), fitted.transform(frames))


def test_nullable_columns_are_numbers(scans):
    frames = [pd.DataFrame(scan).astype("Float64") for scan in scans]
    np.testing.assert_array_equal(
        FCTransformer().fit_transform(frames), FCTransformer().fit_transform(scans)
    )
    frames[1].iloc[3, 2] = pd.NA
    with pytest.raises(InputError, match="sample 1: NaN or infinity"):
        FCTransformer().fit(frames)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([np.ma.masked_greater(np.arange(20.0).reshape(10, 2), 5)], "scan 0 .*masked"),
        ([[[1, 2], [3]]], "scan 0 .*unequal lengths"),
        ({"a": np.ones((9, 2))}, "got dict; put a single scan into a list"),
        (sclcs.simulate_cohort(3, 1, 4, length=20, stride=20), r"got Cohort; .*cohort\.signals"),
    ],
)
def test_what_is_no_list_of_samples_is_named(samples, message):
    with pytest.raises(InputError, match=message):
        FCTransformer().fit(samples)


def test_a_call_with_a_wrong_name_is_a_sentence(scans):
    with pytest.raises(TypeError, match="unexpected keyword argument 'spis'"):
        FCTransformer(spis="pearson")
    with pytest.raises(InputError, match=r"FCTransformer\(\): `n_jobs` must be an integer"):
        FCTransformer(n_jobs="two").fit(scans)
