from __future__ import annotations

import warnings

import numpy as np
import pytest
from family_oracles import pairs
from family_signals import assert_same, context, coupled, zscore
from statsmodels.tsa.stattools import coint
from statsmodels.tsa.vector_ar.vecm import coint_johansen

from sclcs.spi.families.cointegration import MEMBERS, compute

JOHANSEN = [name for name in MEMBERS if "johansen" in name]
ENGLE_GRANGER = [name for name in MEMBERS if "aeg" in name]


def drifting() -> np.ndarray:
    """Random walks, two of which share their trend, and one stationary signal."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2, 4, 90)).cumsum(axis=-1)
    x[:, 1] = 0.5 * x[:, 0] + rng.normal(size=(2, 90))
    x[:, 3] = rng.normal(size=(2, 90))
    return zscore(x)


@pytest.mark.parametrize("signals", [coupled(2, 4, 60), drifting()], ids=["noise", "walks"])
@pytest.mark.parametrize("name", JOHANSEN)
def test_johansen_equals_statsmodels(name, signals):
    order, n_lags = int(name.split("order-")[1][0]), int(name.split("ardiff-")[1])

    def statistic(later: np.ndarray, earlier: np.ndarray) -> float:
        fit = coint_johansen(np.column_stack([later, earlier]), order, n_lags)
        return (fit.trace_stat if "trace" in name else fit.max_eig_stat)[0]

    assert_same(compute(signals, [name], context(2))[name], pairs(signals, statistic), atol=1e-8)


@pytest.mark.parametrize("signals", [coupled(2, 4, 60), drifting()], ids=["noise", "walks"])
@pytest.mark.parametrize("name", ENGLE_GRANGER)
def test_engle_granger_equals_statsmodels(name, signals):
    trend, criterion = name.split("trend-")[1].split("_autolag-")
    criterion = criterion.split("_", maxsplit=1)[0]

    def statistic(later: np.ndarray, earlier: np.ndarray) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return coint(later, earlier, trend=trend, maxlag=10, autolag=criterion)[0]

    assert_same(compute(signals, [name], context(2))[name], pairs(signals, statistic), atol=1e-9)


def test_cointegrated_walks_stand_out():
    out = compute(drifting(), list(MEMBERS), context(2))
    trace = out["coint_johansen_trace_stat_order-0_ardiff-1"]
    assert (trace[:, 0, 1] > 20.0).all()  # the 5 % critical value is 15.5
    statistic = out["coint_aeg_tstat_trend-c_autolag-aic_maxlag-10"]
    assert (statistic[:, 0, 1] < statistic[:, 0, 2]).all()


def test_copies_have_no_johansen_statistic_and_a_certain_engle_granger_one():
    signals = coupled(1, 3, 60)
    signals[:, 1] = signals[:, 0]
    out = compute(signals, list(MEMBERS), context(1))
    assert all(np.isnan(out[name][0, 0, 1]) for name in JOHANSEN)
    assert all(out[name][0, 0, 1] == -np.inf for name in ENGLE_GRANGER)
    assert all(np.isfinite(out[name][0, 0, 2]) for name in MEMBERS)
