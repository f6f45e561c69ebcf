"""Covariates as columns: splines against patsy, unknown values, one function for all."""

import numpy as np
import pandas as pd
import pytest
from patsy import dmatrix

from sclcs.stats import make_question
from sclcs.stats.covariates import CovariateColumns, spline_columns


def projection(columns):
    return columns @ np.linalg.pinv(columns)


def test_a_number_is_a_natural_cubic_spline_with_knots_at_its_quartiles(rng):
    values = rng.gamma(2.0, size=80)
    learned, found = CovariateColumns.fit(pd.DataFrame({"fd": values}), {"fd": "number"})
    inner = np.quantile(values, [0.25, 0.5, 0.75])
    expected = np.asarray(dmatrix("cr(x, knots=k)", {"x": values, "k": inner}))
    assert found.shape == (80, 5)
    np.testing.assert_allclose(projection(found), projection(expected), atol=1e-8)
    far = learned.apply(pd.DataFrame({"fd": values.max() + np.array([1.0, 2.0, 3.0])}))
    np.testing.assert_allclose(np.diff(far, n=2, axis=0), 0, atol=1e-9)  # straight on


@pytest.mark.parametrize(
    ("count", "distinct", "columns"), [(200, 200, 4), (200, 3, 2), (25, 25, 2), (15, 15, 1)]
)
def test_few_subjects_or_values_have_few_degrees_of_freedom(rng, count, distinct, columns):
    values = np.arange(count) % distinct + 0.5
    table = pd.DataFrame({"age": rng.permutation(values)})
    found = CovariateColumns.fit(table, {"age": "number"})[1]
    assert np.linalg.matrix_rank(found) == 1 + columns
    line = CovariateColumns.fit(table, {"age": "number"}, "linear")[1]
    assert line.shape == (count, 2)
    assert CovariateColumns.fit(table * 0, {"age": "number"})[1].shape == (count, 1)


def test_two_knots_are_a_straight_line():
    found = spline_columns(np.array([1.0, 2.0, 5.0]), np.array([1.0, 3.0]))
    np.testing.assert_allclose(found[:, 0], [0.0, 0.5, 2.0])


def test_what_training_subjects_do_not_have_is_as_usual(rng):
    table = pd.DataFrame({"site": list("aabbcc"), "fd": rng.random(6)})
    learned, numbers = CovariateColumns.fit(table, {"site": "classes", "fd": "number"})
    new = pd.DataFrame({"site": ["b", "z"], "fd": [0.5, np.nan]})
    found = learned.apply(new)
    assert found[0, :3].tolist() == [1, 1, 0]
    np.testing.assert_allclose(found[1], numbers.mean(axis=0))


def test_questions_take_numbers_out_as_splines_unless_told_otherwise(rng):
    samples = pd.DataFrame(
        {
            "subject": [f"s{k}" for k in range(60)],
            "window": 0,
            "dx": np.tile(["a", "b"], 30),
            "fd": rng.random(60),
        },
        index=[f"s{k}" for k in range(60)],
    )
    assert make_question(samples, "dx", covariates="fd").covariate_matrix.shape == (60, 5)
    line = make_question(samples, "dx", covariates="fd", covariate_form="linear")
    assert line.covariate_matrix.shape == (60, 2)
