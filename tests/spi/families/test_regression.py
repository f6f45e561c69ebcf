from __future__ import annotations

import warnings

import numpy as np
import pytest
from family_signals import by_pairs, context, coupled, off_diagonal, zscore
from sklearn import linear_model
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

from sclcs.spi.families.regression import MEMBERS, compute
from sclcs.spi.numerics.gaussian_process import (
    feature_count,
    local_likelihood,
    local_work,
    smooth_likelihood,
)


def scikit_learn_error(model, x: np.ndarray, i: int, j: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = model().fit(x[i][:, None], x[j])
    return float(np.mean((x[j] - fit.predict(x[i][:, None])) ** 2))


LINEAR = {
    "lmfit_Ridge": linear_model.Ridge,
    "lmfit_Lasso": linear_model.Lasso,
    "lmfit_ElasticNet": linear_model.ElasticNet,
    "lmfit_BayesianRidge": linear_model.BayesianRidge,
    "lmfit_SGDRegressor": lambda: linear_model.SGDRegressor(random_state=42),
}
PROCESSES = {
    f"gpfit_{kind.__name__}": lambda kind=kind: GaussianProcessRegressor(
        kernel=kernels.ConstantKernel() + kernels.WhiteKernel() + kind()
    )
    for kind in (kernels.DotProduct, kernels.RBF)
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_models_equal_scikit_learn(name):
    signals = coupled(n_samples=2, n_regions=4)
    expected = by_pairs(lambda x, i, j: scikit_learn_error(LINEAR[name], x, i, j), signals)
    actual = compute(signals, [name], context(2))[name]
    np.testing.assert_allclose(off_diagonal(actual), off_diagonal(expected), rtol=1e-9)


@pytest.mark.parametrize("name", PROCESSES)
def test_processes_equal_scikit_learn(name):
    signals = coupled(n_samples=1, n_regions=4, n_times=35)
    signals[0, 3] = zscore(np.sin(4 * signals[0, 0]))  # a short length scale
    expected = by_pairs(lambda x, i, j: scikit_learn_error(PROCESSES[name], x, i, j), signals)
    actual = compute(signals, [name], context(1))[name]
    np.testing.assert_allclose(off_diagonal(actual), off_diagonal(expected), rtol=1e-6, atol=1e-6)


def dense(x, y, scales):
    scale, length, noise, constant = scales
    distance = (x[:, None] - x) ** 2 / length**2
    smooth = scale * np.exp(-distance / 2)
    matrix = smooth + constant + noise * np.eye(len(x))
    inverse = np.linalg.inv(matrix)
    weights = inverse @ y
    value = 0.5 * (y @ weights + np.linalg.slogdet(matrix)[1] + len(x) * np.log(2 * np.pi))
    excess = np.outer(weights, weights) - inverse
    return value, weights, excess, smooth * distance


@pytest.mark.parametrize("length", [0.004, 0.05, 0.7, 3.0, 40.0])
@pytest.mark.parametrize("constant", [0.0, 1e-5, 0.3])
def test_local_likelihood_equals_the_dense_one(length, constant):
    x, y = np.sort(coupled(1, 1)[0, 0]), coupled(1, 1, seed=1)[0, 0]
    weights, parts = np.empty(x.size), np.empty(7)
    assert local_likelihood(x, y, (1.3, length, 0.2, constant), local_work(x.size), weights, parts)
    value, expected, excess, slopes = dense(x, y, (1.3, length, 0.2, constant))
    np.testing.assert_allclose(weights, expected, rtol=1e-9)
    inverse = np.outer(expected, expected) - excess
    ones = inverse.sum() if constant else 0.0
    traces = [np.trace(inverse), expected.sum(), ones, (excess * slopes).sum()]
    wanted = [value, y @ expected, expected @ expected, *traces]
    np.testing.assert_allclose(parts, wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("logs", [(0.0, 0.0, 0.0), (-5.0, -1.0, 1.5), (-11.5, -4.0, 6.0)])
def test_smooth_likelihood_equals_the_dense_one(logs):
    x, y = coupled(1, 1)[0, 0], coupled(1, 1, seed=1)[0, 0]
    constant, white, length = np.exp(logs)
    gradient = np.empty(3)
    count = feature_count(np.abs(x).max() / length)
    assert count <= x.size
    value, error = smooth_likelihood(x, y, np.array(logs), 1e-10, count, gradient)
    noise = white + 1e-10
    expected, weights, excess, slopes = dense(x, y, (1.0, length, noise, constant))
    parts = [constant * excess.sum(), white * np.trace(excess), (excess * slopes).sum()]
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    np.testing.assert_allclose(gradient, -0.5 * np.array(parts), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(error, np.mean((noise * weights) ** 2), rtol=1e-9)


def test_members_are_finite_for_copies():
    signals = coupled(1, 3)
    signals[:, 1] = signals[:, 0]
    out = compute(signals, list(MEMBERS), context(1))
    assert all(np.isfinite(off_diagonal(matrix)).all() for matrix in out.values())
