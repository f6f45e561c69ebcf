import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled, zscore
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from sclcs.spi.families import kendall


def scipy_tau(x, y):
    return stats.kendalltau(x, y).statistic


@pytest.mark.parametrize("n_times", [2, 3, 12, 41, 64, 65, 130, 400])
def test_equals_scipy(n_times):
    signals = coupled(n_times=n_times)
    out = run(kendall, signals)
    expected = pairs(signals, scipy_tau)
    np.testing.assert_allclose(out["kendalltau"], expected, atol=1e-14)
    np.testing.assert_allclose(out["kendalltau-sq"], expected**2, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.int64, st.tuples(st.just(4), st.integers(2, 30)), elements=st.integers(0, 4)))
def test_equals_scipy_with_ties(values):
    values[:, :2] = [0, 1]  # no row is constant
    signals = zscore(values[None].astype(float))
    expected = pairs(signals, scipy_tau)
    np.testing.assert_allclose(run(kendall, signals)["kendalltau"], expected, atol=1e-14)


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_packed_and_ranked_records_have_the_same_numbers(monkeypatch, digits):
    signals = np.round(coupled(n_times=90), digits)
    monkeypatch.setattr(kendall, "_RANKING", 1e9)
    packed = run(kendall, signals)
    monkeypatch.setattr(kendall, "_RANKING", 1e-9)
    for name, matrix in run(kendall, signals).items():
        np.testing.assert_array_equal(packed[name], matrix)


def test_blocks_do_not_change_the_result(monkeypatch):
    monkeypatch.setattr(kendall, "_RANKING", 1e9)
    signals = np.round(coupled(n_times=50), 1)
    small = run(kendall, signals, memory_bytes=2000)
    whole = run(kendall, signals)
    for name, matrix in whole.items():
        np.testing.assert_array_equal(small[name], matrix)
