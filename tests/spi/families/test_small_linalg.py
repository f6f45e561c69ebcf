from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sclcs.spi.numerics.small_linalg import (
    SMALLEST_PIVOT,
    append_if_independent,
    dot,
    is_positive_definite,
    total,
)


def covariance(size: int, seed: int) -> np.ndarray:
    return np.cov(np.random.default_rng(seed).normal(size=(size, size + 20)))


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10**6))
def test_factor_equals_cholesky(size, seed):
    matrix = covariance(size, seed)
    factor = np.zeros_like(matrix)
    for place in range(size):
        pivot = append_if_independent(factor, place, matrix[place], matrix[place, place])
        assert pivot == pytest.approx(factor[place, place] ** 2)
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), atol=1e-12)
    assert is_positive_definite(matrix)


@pytest.mark.parametrize(("excess", "kept"), [(2.0, True), (0.5, False)])
def test_the_cut_is_an_absolute_conditional_variance(excess, kept):
    pivot = excess * SMALLEST_PIVOT
    matrix = np.array([[1.0, 1.0], [1.0, 1.0 + pivot]])
    assert is_positive_definite(matrix) is kept


def test_a_matrix_that_is_not_a_number_is_not_positive_definite():
    assert not is_positive_definite(np.full((2, 2), np.nan))


@given(st.integers(0, 100))
def test_sums(size):
    rng = np.random.default_rng(size)
    a, b = rng.normal(size=(2, size))
    assert dot(a, b) == pytest.approx(float(a @ b), abs=1e-12)
    assert total(a) == pytest.approx(float(a.sum()), abs=1e-12)
