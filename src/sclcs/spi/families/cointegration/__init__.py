"""Cointegration statistics of pairs of regions: Johansen's and Engle and Granger's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.cointegration import engle_granger, johansen

__all__ = ["MEMBERS", "EngleGrangerTest", "JohansenTest", "compute"]

_STATISTICS = {"max_eig_stat": johansen.MAX_EIGENVALUE, "trace_stat": johansen.TRACE}
_CRITERIA = {"aic": engle_granger.AIC, "bic": engle_granger.BIC}


@dataclass(frozen=True)
class JohansenTest:
    """Which statistic, the order of the removed trend, and the number of lagged differences."""

    statistic: int
    order: int
    n_lags: int


@dataclass(frozen=True)
class EngleGrangerTest:
    """Whether a trend is removed, and how the number of lags is chosen."""

    with_trend: bool
    criterion: int


def _members() -> dict[str, JohansenTest | EngleGrangerTest]:
    members: dict[str, JohansenTest | EngleGrangerTest] = {
        f"coint_johansen_{name}_order-{order}_ardiff-{n_lags}": JohansenTest(code, order, n_lags)
        for (name, code), order, n_lags in product(_STATISTICS.items(), (0, 1), (1, 10))
    }
    for trend, criterion in (("c", "aic"), ("ct", "aic"), ("ct", "bic")):
        name = f"coint_aeg_tstat_trend-{trend}_autolag-{criterion}_maxlag-10"
        members[name] = EngleGrangerTest(trend == "ct", _CRITERIA[criterion])
    return members


MEMBERS: Mapping[str, JohansenTest | EngleGrangerTest] = MappingProxyType(_members())


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute cointegration statistics of every pair.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Not needed: only the lags of one sample are held at a time.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
        Symmetric; for Engle and Granger the value of (later region, earlier region).
    """
    del context
    n_samples, n_regions, _ = signals.shape
    result = {name: np.full((n_samples, n_regions, n_regions), np.nan) for name in members}
    for sample in range(n_samples):
        rows = np.ascontiguousarray(signals[sample])
        _run_johansen(rows, result, sample)
        _run_engle_granger(rows, result, sample)
    return result


def _run_johansen(rows: Array, result: Mapping[str, Array], sample: int) -> None:
    tests = {n: p for n in result if isinstance(p := MEMBERS[n], JohansenTest)}
    n_regions = len(rows)
    for n_lags in sorted({test.n_lags for test in tests.values()}):
        values = np.full((johansen.N_ORDERS, johansen.N_STATISTICS, n_regions, n_regions), np.nan)
        johansen.johansen_pairs(rows, n_lags, values)
        for name, test in tests.items():
            if test.n_lags == n_lags:
                result[name][sample] = values[test.order, test.statistic]


def _run_engle_granger(rows: Array, result: Mapping[str, Array], sample: int) -> None:
    tests = {n: p for n in result if isinstance(p := MEMBERS[n], EngleGrangerTest)}
    n_regions = len(rows)
    for with_trend in sorted({test.with_trend for test in tests.values()}):
        same = {n: test for n, test in tests.items() if test.with_trend == with_trend}
        wanted = np.zeros(engle_granger.N_CRITERIA)
        wanted[[test.criterion for test in same.values()]] = 1.0
        values = np.full((engle_granger.N_CRITERIA, n_regions, n_regions), np.nan)
        engle_granger.engle_granger_pairs(rows, with_trend, wanted, values)
        for name, test in same.items():
            result[name][sample] = values[test.criterion]
