from __future__ import annotations

import numpy as np
import pytest
from family_signals import assert_same, by_pairs, context, coupled, off_diagonal, zscore
from scipy.special import digamma
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression

from sclcs.spi.families.causal_pairs import compute


def standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / x.std()


def test_reci_is_the_error_on_the_cube():
    def error(x: np.ndarray, i: int, j: int) -> float:
        a, b = ((row - row.min()) / np.ptp(row) for row in (x[i], x[j]))
        fit = LinearRegression().fit(a[:, None] ** 3, b)
        return float(np.mean((fit.predict(a[:, None] ** 3) - b) ** 2))

    signals = coupled()
    assert_same(compute(signals, ["reci"], context())["reci"], by_pairs(error, signals))


def test_igci_is_a_difference_of_spacing_entropies():
    def entropy(row: np.ndarray) -> float:
        gaps = np.diff(np.sort(standard(row)))
        gaps = gaps[gaps > 0]
        return np.log(gaps).sum() / (len(row) - 1) + digamma(len(row)) - digamma(1)

    signals = coupled()
    signals[:, 4] = zscore(np.round(2 * signals[:, 4]))  # ties
    expected = by_pairs(lambda x, i, j: entropy(x[i]) - entropy(x[j]), signals)
    assert_same(compute(signals, ["igci"], context())["igci"], expected)


def cut(row: np.ndarray) -> np.ndarray:
    row = standard(row)
    near = row[np.abs(row) < 3]
    return np.clip(np.round(2 * (row - near.mean()) / near.std()), -6, 6)


def spread(x: np.ndarray, i: int, j: int) -> float:
    bins = cut(x[i]) if len(np.unique(x[i])) > 13 else x[i]
    values, marginal = np.unique(x[j], return_counts=True)
    histograms = []
    for bin_ in np.unique(bins):
        inside = x[j][bins == bin_]
        if len(inside) <= 12:
            continue
        if len(values) > 13:
            codes = np.clip(np.round(2 * (inside - inside.mean()) / x[j].std()), -6, 6)
            counts = np.array([(codes == k).sum() for k in range(-6, 7)], dtype=float)
        else:
            counts = np.array([(inside == v).sum() for v in values], dtype=float)
            shift = int(np.argmax(np.correlate(counts, marginal, "full")))
            pad = len(values) - 1
            counts = np.concatenate([np.zeros(2 * pad - shift), counts, np.zeros(shift)])
        histograms.append(counts / len(inside))
    if not histograms:
        return 0.0
    return float(np.std(np.array(histograms) - np.mean(histograms, axis=0)))


@pytest.mark.parametrize("n_times", [30, 150])
def test_cds_is_the_spread_of_conditional_histograms(n_times):
    signals = coupled(n_times=n_times)
    signals[:, 1] = zscore(np.clip(np.round(signals[:, 1]), -2, 2))  # few distinct values
    actual = compute(signals, ["cds"], context())["cds"]
    assert_same(actual, by_pairs(spread, signals))
    assert (np.count_nonzero(off_diagonal(actual)) > 0) == (n_times == 150)


def dependence(a: np.ndarray, b: np.ndarray, kept: np.ndarray | None = None) -> float:
    """Of the points that are kept, standardised with all of them."""
    kept = np.arange(len(a)) if kept is None else kept

    def gram(row: np.ndarray) -> np.ndarray:
        points = standard(row)[kept]
        square = np.subtract.outer(points, points) ** 2
        matrix = np.exp(-square / np.median(square[np.triu_indices(len(points), 1)]))
        centring = np.eye(len(points)) - 1 / len(points)
        return centring @ matrix @ centring

    return float((gram(a) * gram(b)).sum() / len(kept))


def test_anm_is_the_dependence_of_the_residual():
    def score(x: np.ndarray, i: int, j: int) -> float:
        fit = GaussianProcessRegressor().fit(x[i][:, None], x[j])
        return dependence(x[j] - fit.predict(x[i][:, None]), x[i])

    signals = coupled(n_samples=1, n_regions=4, n_times=60)
    signals[0, 0, 7] = signals[0, 0, 31] + 1e-4  # the process is not the identity here
    signals[0, 0, 9] = signals[0, 0, 55] - 3e-5
    expected = by_pairs(score, signals)
    actual = compute(signals, ["anm"], context(1))["anm"]
    np.testing.assert_allclose(off_diagonal(actual), off_diagonal(expected), rtol=1e-4)
    plain = by_pairs(lambda x, i, j: dependence(x[j], x[i]), signals)
    assert np.abs(plain - expected)[0, 0, 1:].max() > 1e-3
    assert np.nanmax(np.abs(plain - actual)[0, 1:]) < 0.2


def test_long_records_are_thinned_to_200_points():
    signals = coupled(n_samples=1, n_regions=2, n_times=240)
    kept = np.floor(np.arange(0, 240, 239 / 199)).astype(int)
    assert len(kept) == 200
    out = compute(signals, ["anm"], context(1))["anm"]
    assert np.isfinite(off_diagonal(out)).all()

    def score(x: np.ndarray, i: int, j: int) -> float:
        fit = GaussianProcessRegressor().fit(x[i][:, None], x[j])  # on all of them
        return dependence(x[j] - fit.predict(x[i][:, None]), x[i], kept)

    expected = by_pairs(score, signals)
    np.testing.assert_allclose(off_diagonal(out), off_diagonal(expected), rtol=1e-4)
