"""Views of operators and tangent space, against plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, rankdata
from sklearn.covariance import LedoitWolf

from sclcs.decision.kernels import (
    ScoreMap,
    centred_kernel,
    equal_weights,
    mean_kernel,
    pattern_features,
)
from sclcs.spi.numerics.tangent import Tangent, geometric_mean, ledoit_wolf


@pytest.fixture
def edges():
    return np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)


def test_pattern_is_ranks_of_length_one(edges):
    edges[0, :5] = 0.25  # ties
    ranks = rankdata(edges, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    expected = ranks / np.linalg.norm(ranks, axis=1, keepdims=True)
    np.testing.assert_allclose(pattern_features(edges), expected, atol=1e-6)
    assert not pattern_features(np.ones((2, 4), dtype=np.float32)).any()


def test_values_are_normal_scores_of_training_ranks(edges):
    expected = norm.ppf((rankdata(edges, axis=0) - 0.5) / len(edges))
    learned = ScoreMap.fit(edges)
    np.testing.assert_allclose(learned.apply(edges), expected, atol=1e-6)
    low, high = learned.apply(np.array([[-99.0] * 30, [99.0] * 30], dtype=np.float32))
    np.testing.assert_allclose([low[0], high[0]], [expected.min(), expected.max()], atol=1e-6)


def test_values_share_scores_of_ties_and_ignore_monotone_transforms(edges):
    tied = np.round(edges)
    scores = ScoreMap.fit(tied).apply(tied)
    for value in np.unique(tied[:, 0]):
        assert len(np.unique(scores[tied[:, 0] == value, 0])) == 1
    one = ScoreMap.fit(edges).apply(edges)
    two = ScoreMap.fit(np.exp(edges)).apply(np.exp(edges))
    np.testing.assert_allclose(one, two, atol=1e-5)


def test_many_scans_are_mapped_by_quantiles():
    values = np.random.default_rng(1).normal(size=(900, 3)).astype(np.float32)
    expected = norm.ppf((rankdata(values, axis=0) - 0.5) / len(values))
    assert np.abs(ScoreMap.fit(values).apply(values) - expected).max() < 0.15


def test_kernels_have_trace_n_and_no_covariates_in_them(edges):
    basis = np.linalg.qr(np.column_stack([np.ones(40), np.arange(40) % 3]))[0]
    kernel = centred_kernel(edges, basis)
    assert np.trace(kernel) == pytest.approx(40, rel=1e-4)
    np.testing.assert_allclose(kernel @ basis, 0, atol=1e-4)
    assert np.trace(mean_kernel(edges)) == pytest.approx(40, rel=1e-4)


def test_families_count_alike():
    found = equal_weights({"a": "one", "b": "one", "c": "two"})
    assert found == {"a": 0.25, "b": 0.25, "c": 0.5}
    assert set(equal_weights({"a": "x", "b": "x"}, by="operators").values()) == {0.5}


def test_ledoit_wolf_is_scikit_learns():
    series = np.random.default_rng(0).normal(size=(50, 6)) * [1, 2, 3, 1, 1, 9]
    expected = LedoitWolf().fit(series).covariance_
    np.testing.assert_allclose(ledoit_wolf(series), expected, rtol=1e-10)


def test_tangent_is_zero_at_its_mean_and_invariant():
    rng = np.random.default_rng(2)
    matrices = np.stack([np.cov(rng.normal(size=(4, 30))) for _ in range(12)])
    learned = Tangent.fit(matrices)
    np.testing.assert_allclose(learned.transform(matrices).mean(axis=0), 0, atol=1e-6)
    mix = rng.normal(size=(4, 4))
    np.testing.assert_allclose(
        geometric_mean(mix @ matrices @ mix.T), mix @ learned.mean @ mix.T, rtol=1e-5
    )
    flat, whole = learned.features(matrices).astype(float), learned.transform(matrices)
    np.testing.assert_allclose(
        flat @ flat.T, np.einsum("aij,bij->ab", whole, whole), rtol=1e-4, atol=1e-5
    )
