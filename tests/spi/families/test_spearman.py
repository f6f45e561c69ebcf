import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled, zscore
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from sclcs.spi.families import spearman


def scipy_rho(x, y):
    return stats.spearmanr(x, y).statistic


@pytest.mark.parametrize("n_times", [3, 12, 41])
def test_equals_scipy(n_times):
    signals = coupled(n_times=n_times)
    out = run(spearman, signals)
    expected = pairs(signals, scipy_rho)
    np.testing.assert_allclose(out["spearmanr"], expected, atol=1e-14)
    np.testing.assert_allclose(out["spearmanr-sq"], expected**2, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(np.int64, st.tuples(st.just(4), st.integers(2, 30)), elements=st.integers(0, 4)))
def test_equals_scipy_with_ties(values):
    values[:, :2] = [0, 1]  # no row is constant
    signals = zscore(values[None].astype(float))
    expected = pairs(signals, scipy_rho)
    np.testing.assert_allclose(run(spearman, signals)["spearmanr"], expected, atol=1e-14)


def test_only_the_order_matters():
    signals = coupled()
    bent = run(spearman, signals**3)["spearmanr"]
    np.testing.assert_allclose(bent, run(spearman, signals)["spearmanr"], atol=1e-14)
