import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import ndcg_score

from sclcs._core.errors import InputError
from sclcs.stats.concordance import GAINS, consistency, gains, ndcg, regret, score_scale

SMALL = st.lists(st.integers(0, 6), min_size=2, max_size=30)


@given(worth=SMALL, seed=st.integers(0, 999), k=st.integers(1, 40), levels=st.integers(1, 30))
def test_ndcg_is_scikit_learns_with_ties(worth, seed, k, levels):
    scores = np.random.default_rng(seed).integers(0, levels, len(worth)).astype(float)
    expected = ndcg_score([worth], [scores], k=k)
    assert ndcg(worth, scores, k) == pytest.approx(expected, abs=1e-12)


@given(worth=SMALL, seed=st.integers(0, 999))
def test_missing_operators_are_last_and_tied(worth, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=len(worth))
    scores[1:][rng.random(len(worth) - 1) < 0.4] = np.nan
    filled = np.where(np.isnan(scores), np.nanmin(scores) - 1, scores)
    assert ndcg(worth, scores, 5) == pytest.approx(ndcg_score([worth], [filled], k=5), abs=1e-12)


@pytest.mark.parametrize(("k", "smallest"), [(5, 0.0119), (10, 0.0271), (20, 0.0598)])
def test_reversal_of_130_operators(k, smallest):
    worth = np.arange(130)[::-1]
    assert ndcg(worth, -worth, k) == pytest.approx(smallest, abs=5e-5)


TABLE = {  # gain of rank 1..130 -> mean nDCG@5, @10, @20 of random orders
    "rank-linear 129..0": (lambda r: 130 - r, (0.506, 0.514, 0.530)),
    "1/rank": (lambda r: 1 / r, (0.074, 0.101, 0.144)),
    "1/log2(rank + 1)": (lambda r: 1 / np.log2(r + 1), (0.289, 0.355, 0.439)),
    "top 20": (lambda r: (r <= 20).astype(float), (0.154, 0.154, 0.154)),
}


@pytest.mark.parametrize("name", TABLE)
def test_random_orders_of_130_operators(name):
    gain, expected = TABLE[name]
    worth = gain(np.arange(1, 131, dtype=float))
    rng = np.random.default_rng(5)
    draws = np.array(
        [[ndcg(worth, order, k) for k in (5, 10, 20)] for order in rng.random((1500, 130))]
    )
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) < 4 * error + 6e-4).all()


def test_gains():
    scores = [3.0, -1.0, 1.0, 1.0]
    np.testing.assert_allclose(gains(scores, "raw"), [3, 0, 1, 1])
    np.testing.assert_allclose(gains(scores, "minmax"), [1, 0, 0.5, 0.5])
    np.testing.assert_allclose(gains(scores, "rank"), [1, 0, 0.5, 0.5])
    np.testing.assert_allclose(gains(scores, "exp"), [31, 0, 2**2.5 - 1, 2**2.5 - 1])
    assert (gains([2.0, 2.0]) == 0).all()
    with pytest.raises(InputError, match=", ".join(GAINS)):
        gains(scores, "log")


@given(seed=st.integers(0, 999))
def test_correlations_are_scipys_with_ties(seed):
    rng = np.random.default_rng(seed)
    names = [f"o{i}" for i in range(12)]
    one = pd.Series(rng.integers(0, 5, 12).astype(float), names)
    two = pd.Series(rng.integers(0, 5, 12).astype(float), names)
    found = consistency(one, two.sample(frac=1, random_state=1))
    assert found["kendall"] == pytest.approx(kendalltau(one, two).statistic, nan_ok=True)
    assert found["spearman"] == pytest.approx(spearmanr(one, two).statistic, nan_ok=True)


def test_overlap_counts_ties_across_the_cut_in_part():
    full = pd.Series({"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0})
    assert consistency(full, full, k=[2])["overlap@2"] == 1
    tied = pd.Series({"a": 4.0, "b": 2.0, "c": 2.0, "d": 1.0})
    assert consistency(full, tied, k=[2])["overlap@2"] == 0.75
    assert consistency(tied, tied, k=[2])["overlap@2"] == 1
    assert consistency(full, full[::-1] * -1, k=[2])["overlap@2"] == 0
    assert consistency(full, full, k=[50])["overlap@50"] == 1


def test_no_score_at_all_is_nan_not_zero():
    full = pd.Series({"a": 2.0, "b": 1.0})
    found = consistency(full, full * np.nan, k=[1])
    assert all(np.isnan(found[name]) for name in ("ndcg@1", "kendall", "spearman", "overlap@1"))
    with pytest.raises(InputError, match="no operator with a score"):
        consistency(full * np.nan, full)
    with pytest.raises(InputError, match="no operator in common"):
        consistency(full, pd.Series({"c": 1.0}))


def test_operators_missing_on_either_side():
    full = pd.Series({"a": 3.0, "b": 2.0, "c": np.nan})
    other = pd.Series({"b": 1.0, "c": 5.0, "z": 9.0})
    found = consistency(full, other, k=[1])
    assert found["operators"] == 2
    assert found["ndcg@1"] == 0
    assert found["kendall"] == -1


def test_regret_is_told_in_best_minus_median():
    scores = [0.0, 1.0, 3.0, np.nan]
    assert [regret(scores, score) for score in (3.0, 1.0, 0.0)] == [0.0, 1.0, 1.5]


def test_regret_has_one_rule_where_best_minus_median_is_zero():
    tied = [0.0, 2.0, 2.0]  # half of them share the best score: best minus worst
    assert [regret(tied, score) for score in (2.0, 0.0)] == [0.0, 1.0]
    assert regret([1.0, 1.0], 1.0) == 0.0
    for unknown in ([], [np.nan], [1.0], [1.0, 1.0]):  # any loss still expected counts as large
        assert score_scale(unknown) == np.finfo(float).eps
