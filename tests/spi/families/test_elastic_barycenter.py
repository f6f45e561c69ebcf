"""tslearn is the oracle of all three barycenters, scipy of the optimiser."""

import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled, zscore
from scipy.optimize import minimize, rosen, rosen_der
from tslearn.barycenters import (
    dtw_barycenter_averaging,
    dtw_barycenter_averaging_subgradient,
    softdtw_barycenter,
)
from tslearn.metrics import soft_dtw

from sclcs.spi.families import elastic_barycenter
from sclcs.spi.families.elastic_barycenter import (
    MAX_EPOCHS,
    averaged_means,
    descended_means,
    soft_means,
)
from sclcs.spi.numerics.quasi_newton import advance, descent, restart

ORACLES = {
    "dtw": lambda x, y: dtw_barycenter_averaging([x, y]),
    "softdtw": lambda x, y: softdtw_barycenter([x, y]),
}
STATISTICS = {
    "bary_{}_mean": np.mean,
    "bary_{}_max": np.max,
    "bary-sq_{}_mean": lambda b: np.mean(b**2),
    "bary-sq_{}_max": lambda b: np.max(b**2),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("method", ORACLES)
def test_equals_tslearn(method, ties):
    signals = coupled(n_samples=2, n_regions=3)
    if ties:
        signals = zscore(np.round(2 * signals) / 2)
    found = run(elastic_barycenter, signals)
    for name, statistic in STATISTICS.items():
        expected = pairs(signals, lambda x, y, f=statistic: f(ORACLES[method](x, y)))
        actual = found[name.format(method)]
        np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-9, err_msg=name)


def test_subgradient_equals_tslearn_in_the_same_order():
    x, y = coupled(n_samples=1, n_regions=2)[0]
    for seed in range(3):
        permutations = np.random.RandomState(seed)  # what tslearn draws from
        leads = [[permutations.permutation(2)[0] == 1 for _ in range(MAX_EPOCHS)]]
        expected = dtw_barycenter_averaging_subgradient([x, y], random_state=seed)
        ours = descended_means(x[None], y[None], np.array(leads))
        np.testing.assert_allclose(ours, expected.T, rtol=1e-10, atol=1e-12)


def test_order_of_the_steps_comes_from_the_seed():
    signals = coupled(n_samples=1, n_regions=3)
    twice = np.concatenate([signals, signals])  # `run` gives them different seeds
    found = run(elastic_barycenter, twice)
    for name, (first, second) in found.items():
        assert np.array_equal(first, second, equal_nan=True) == ("sgddtw" not in name)


def test_barycenter_of_a_row_and_itself_is_the_row():
    x = coupled(n_samples=1, n_regions=2)[0, :1]
    np.testing.assert_array_equal(averaged_means(x, x), x)
    leads = np.zeros((1, MAX_EPOCHS), dtype=bool)
    np.testing.assert_allclose(descended_means(x, x, leads), x, atol=1e-14)


def test_soft_barycenter_is_nearer_than_the_average():
    x, y = coupled(n_samples=1, n_regions=2)[0]
    center = soft_means(x[None], y[None])[0]
    average = (x + y) / 2
    assert soft_dtw(center, x) + soft_dtw(center, y) < soft_dtw(average, x) + soft_dtw(average, y)


def test_blocks_do_not_change_the_result():
    signals = coupled(n_samples=2, n_regions=4, n_times=20)
    small = run(elastic_barycenter, signals, memory_bytes=2 * 32 * 20)
    for name, matrix in run(elastic_barycenter, signals).items():
        np.testing.assert_array_equal(small[name], matrix)


def follow(function, gradient, start):
    """Minimise with our optimiser; return the number of evaluations and the last point."""
    state = descent(start.size)
    restart(state)
    point = start.copy()
    for count in range(1, 1000):
        state.gradient[:] = gradient(point)
        if advance(state, function(point), point):
            return count, point
    raise AssertionError("the optimiser does not stop")


def quartic(x):
    return np.sum((x - np.arange(x.size)) ** 4) + 0.1 * np.sum(x**2)


def quartic_gradient(x):
    return 4 * (x - np.arange(x.size)) ** 3 + 0.2 * x


def ripples(x):
    """A function with many bumps: the line search has to use all of its cases."""
    return np.sum(x**2) + 4 * np.sum(np.cos(5 * x))


def ripples_gradient(x):
    return 2 * x - 20 * np.sin(5 * x)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("function", "gradient"),
    [(rosen, rosen_der), (quartic, quartic_gradient), (ripples, ripples_gradient)],
)
def test_optimiser_goes_the_way_of_scipy(function, gradient, seed):
    start = 3 * np.random.default_rng(seed).normal(size=6)
    theirs = minimize(
        function,
        start,
        jac=gradient,
        method="L-BFGS-B",
        options={"maxiter": 50, "ftol": 1e-3, "gtol": 1e-3},
    )
    count, point = follow(function, gradient, start)
    assert count == theirs.nfev
    np.testing.assert_allclose(point, theirs.x, rtol=1e-6, atol=1e-8)
