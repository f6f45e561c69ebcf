from __future__ import annotations

import numpy as np
import pytest
from family_signals import by_pairs, context, coupled, off_diagonal, zscore
from scipy.optimize import minimize, minimize_scalar

from sclcs.spi.families.integrated_information import MEMBERS, compute


def log_determinant(matrix: np.ndarray) -> float:
    return float(np.linalg.slogdet(matrix)[1])


def covariances(x, i, j):
    joint = np.cov(np.vstack([x[[i, j], :-1], x[[i, j], 1:]]))
    return joint[:2, :2], joint[2:, 2:], joint[2:, :2]


def mismatched_decoding(x, i, j):
    """The general formula of Oizumi et al., with matrices, maximised by scipy."""
    past, present, cross = covariances(x, i, j)
    weights = np.diag(np.diag(cross) / np.diag(past))
    own = np.diag(np.diag(present) - np.diag(cross) ** 2 / np.diag(past))
    inverse = np.linalg.inv(own)
    error = present - weights @ cross.T - cross @ weights.T + weights @ past @ weights.T

    def decoded(beta):
        q = np.linalg.inv(past) + beta * weights.T @ inverse @ weights
        r = beta * inverse
        r = r - beta**2 * inverse @ weights @ np.linalg.inv(q) @ weights.T @ inverse
        return 0.5 * (
            log_determinant(past @ q) + np.trace(present @ r) - beta * np.trace(inverse @ error)
        )

    best = minimize_scalar(lambda b: -decoded(b), bounds=(0, 50), options={"xatol": 1e-10})
    rest = present - cross @ np.linalg.inv(past) @ cross.T
    return 0.5 * (log_determinant(present) - log_determinant(rest)) + best.fun


def geometric(x, i, j):
    """The innovations' covariance of a diagonal model, minimised by scipy."""
    past, present, cross = covariances(x, i, j)
    weights = cross @ np.linalg.inv(past)
    rest = present - weights @ cross.T

    def divergence(diagonal):
        difference = weights - np.diag(diagonal)
        model = rest + difference @ past @ difference.T
        return 0.5 * (log_determinant(model) - log_determinant(rest))

    options = {"xatol": 1e-10, "fatol": 1e-15, "maxiter": 4000}
    return minimize(divergence, np.diag(weights), method="Nelder-Mead", options=options).fun


def smaller_entropy(x, i, j):
    variances = x[[i, j], :-1].var(axis=1, ddof=1)
    return 0.5 * np.log(2 * np.pi * np.e * variances).min()


ORACLES = {
    "phi_star_t-1_norm-0": mismatched_decoding,
    "phi_star_t-1_norm-1": lambda x, i, j: mismatched_decoding(x, i, j) / smaller_entropy(x, i, j),
    "phi_Geo_t-1_norm-0": geometric,
    "phi_Geo_t-1_norm-1": lambda x, i, j: geometric(x, i, j) / smaller_entropy(x, i, j),
}


def test_every_member_has_an_oracle():
    assert set(ORACLES) == set(MEMBERS)


@pytest.mark.parametrize("name", MEMBERS)
def test_definition(name):
    signals = coupled(n_samples=2, n_regions=4)
    found = compute(signals, [name], context(2))[name]
    expected = by_pairs(ORACLES[name], signals)
    np.testing.assert_allclose(off_diagonal(found), off_diagonal(expected), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(found, np.swapaxes(found, 1, 2))


def process(weights, innovations, n_times=20_000):
    rng = np.random.default_rng(11)
    noise = np.linalg.cholesky(np.array(innovations)) @ rng.normal(size=(2, n_times))
    for t in range(1, n_times):
        noise[:, t] += np.array(weights) @ noise[:, t - 1]
    return zscore(noise)[None]


def test_separate_processes_integrate_nothing():
    signals = process([[0.6, 0.0], [0.0, 0.3]], [[1.0, 0.0], [0.0, 1.0]])
    for found in compute(signals, list(MEMBERS), context(1)).values():
        assert 0.0 <= found[0, 0, 1] < 1e-3


def test_shared_noise_is_not_an_influence():
    """It does mislead a decoder that takes the two regions for independent."""
    signals = process([[0.6, 0.0], [0.0, 0.3]], [[1.0, 0.7], [0.7, 1.0]])
    found = compute(signals, list(MEMBERS), context(1))
    assert found["phi_Geo_t-1_norm-0"][0, 0, 1] < 1e-3
    assert found["phi_star_t-1_norm-0"][0, 0, 1] > 1e-2


def test_influences_are_integrated():
    signals = process([[0.2, 0.5], [0.5, 0.2]], [[1.0, 0.0], [0.0, 1.0]])
    for found in compute(signals, list(MEMBERS), context(1)).values():
        assert found[0, 0, 1] > 0.05


def test_copies_and_short_records_are_undefined():
    signals = coupled(n_samples=1)
    signals[0, 1] = signals[0, 0]
    for found in compute(signals, list(MEMBERS), context(1)).values():
        assert not np.isfinite(found[0, 0, 1])
        assert np.isfinite(found[0, 2, 3])
    for found in compute(coupled(n_times=2), list(MEMBERS), context()).values():
        assert np.isnan(found).all()
