"""Small inputs and helpers for the tests of single families."""

from __future__ import annotations

import numpy as np

from sclcs.spi.own import MEBIBYTE, FamilyContext

N_SAMPLES, N_REGIONS, N_TIMES = 3, 5, 41


def zscore(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / centred.std(axis=-1, ddof=1, keepdims=True)


def coupled(n_samples=N_SAMPLES, n_regions=N_REGIONS, n_times=N_TIMES, seed=0) -> np.ndarray:
    """Autocorrelated, instantaneously and laggedly coupled noise, z-scored."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_samples, n_regions, n_times))
    mixing = np.eye(n_regions) + 0.5 * rng.normal(size=(n_regions, n_regions))
    lagged = 0.3 * np.eye(n_regions) + 0.15 * rng.normal(size=(n_regions, n_regions))
    x = mixing @ x
    for t in range(1, n_times):
        x[..., t] += x[..., t - 1] @ lagged.T
    return zscore(x)


def context(n_samples=N_SAMPLES, memory_bytes=64 * MEBIBYTE) -> FamilyContext:
    return FamilyContext(np.arange(n_samples, dtype=np.uint64), memory_bytes)


def off_diagonal(matrices: np.ndarray) -> np.ndarray:
    """Entries off the diagonal, (..., region * (region - 1))."""
    n = matrices.shape[-1]
    return matrices[..., ~np.eye(n, dtype=bool)]


def by_pairs(function, signals: np.ndarray) -> np.ndarray:
    """Fill (sample, i, j) with function(sample signals, i, j); NaN diagonal."""
    n_samples, n_regions, _ = signals.shape
    out = np.full((n_samples, n_regions, n_regions), np.nan)
    for sample in range(n_samples):
        for i in range(n_regions):
            for j in range(n_regions):
                if i != j:
                    out[sample, i, j] = function(signals[sample], i, j)
    return out


def assert_same(actual: np.ndarray, expected: np.ndarray, atol: float = 1e-10) -> None:
    """Compare off the diagonal, NaN and infinities in the same places."""
    np.testing.assert_allclose(
        off_diagonal(actual), off_diagonal(expected), rtol=1e-10, atol=atol, equal_nan=True
    )
