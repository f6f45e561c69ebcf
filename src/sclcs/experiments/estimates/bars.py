"""The bars of the estimation: what was asked, and what was reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from sclcs.benchmark.verdict import CANNOT_ANSWER
from sclcs.experiments.estimates.truth import HALF
from sclcs.experiments.tables import Table, number

__all__ = ["RUNS_METHOD", "RUNS_METHOD_OF_SUBJECTS", "bars_table"]

LAST = 8  # confirmations
#: How a budgeted run draws its core-set.
RUNS_METHOD, RUNS_METHOD_OF_SUBJECTS = "random", "pairs"


@dataclass(frozen=True)
class Bar:
    """One bar.

    Parameters
    ----------
    name : str
    wanted : str
    column : str
        Of the summary.
    reached : callable
        From the values of the criteria to one.
    holds : callable
    tasks : {"all", "labels", "subject"}
    """

    name: str
    wanted: str
    column: str
    reached: Callable[[pd.Series], float]
    holds: Callable[[float], bool]
    tasks: str = "all"


def _mean(values: pd.Series) -> float:
    return float(values.mean())


def _least(values: pd.Series) -> float:
    return float(values.min())


def _most(values: pd.Series) -> float:
    return float(values.max())


def _at_least(limit: float) -> Callable[[float], bool]:
    return lambda value: value >= limit


def _at_most(limit: float) -> Callable[[float], bool]:
    return lambda value: value <= limit


BARS = (
    Bar("nDCG@10, mean", ">= 0.96", "ndcg@10", _mean, _at_least(0.96)),
    Bar("nDCG@10, worst split", ">= 0.88", "ndcg@10_worst", _least, _at_least(0.88)),
    Bar("Kendall, mean", ">= 0.62", "kendall", _mean, _at_least(0.62), "labels"),
    Bar("Kendall, fingerprinting", ">= 0.85", "kendall", _mean, _at_least(0.85), "subject"),
    Bar("90 % intervals, lowest criterion", ">= 0.88", "coverage", _least, _at_least(0.88)),
    Bar("90 % intervals, highest criterion", "<= 0.96", "coverage", _most, _at_most(0.96)),
    Bar("regret after confirmation", "<= 0.02", f"regret_{LAST}", _mean, _at_most(0.02)),
    Bar("chosen is in the best set", ">= 0.95", f"in_best_set_{LAST}", _mean, _at_least(0.95)),
    Bar("its set holds the best", ">= 0.90", f"set_holds_best_{LAST}", _mean, _at_least(0.9)),
)
PERMUTED_BAR = Bar("permuted: says no effect", ">= 0.95", "says_no_effect", _least, _at_least(0.95))


def bars_table(summary: pd.DataFrame) -> Table:
    """Put every bar beside what was reached, over the criteria that have an effect.

    Parameters
    ----------
    summary : DataFrame

    Returns
    -------
    Table
    """
    estimates = _as_a_run_does(summary)
    rows = [[*_row(bar, estimates), *_where_known(bar, estimates)] for bar in BARS]
    rows.append([*_row(PERMUTED_BAR, summary), *_where_known(PERMUTED_BAR, summary)])
    caption = (
        "Bars and what was reached: families split in halves, core-sets as a run draws them "
        "(random, for fingerprinting pairs) at the smallest size, criteria that have an "
        f"effect (family-wise p below 0.05). Confirmed: {LAST} operators. Order known: only "
        "criteria on whose order two halves of the subjects agree (Kendall at least "
        f"{CANNOT_ANSWER}); of the others a run says that the cohort cannot answer."
    )
    header = ["bar", "wanted", "reached", "criteria", "holds", "order known", "criteria", "holds"]
    return Table("bars", caption, header, rows)


def _where_known(bar: Bar, rows: pd.DataFrame) -> list[str]:
    """Return what was reached where the cohort itself knows the order."""
    # Predictions are not made on halves; the explained share of the task speaks for them.
    agree = rows.groupby(["task", "given"])["halves_agree"].transform("max")
    return _row(bar, rows[agree >= CANNOT_ANSWER])[2:]


def _as_a_run_does(summary: pd.DataFrame) -> pd.DataFrame:
    """Take the rows of the usual core-set, of criteria that have an effect."""
    # Predictions are not tested; they count where the explained share of the task is seen.
    seen = summary.groupby(["task", "given"])["effect_p"].transform("min") < 0.05
    subject = summary["task"] == "subject"
    usual = (~subject & (summary["method"] == RUNS_METHOD)) | (
        subject & (summary["method"] == RUNS_METHOD_OF_SUBJECTS)
    )
    part = summary[seen & usual & (summary["known"] == HALF)]
    smallest: pd.DataFrame = part[part["ratio"] == part["ratio"].min()]
    return smallest


def _row(bar: Bar, rows: pd.DataFrame) -> list[str]:
    if bar.tasks != "all":
        rows = rows[(rows["task"] == "subject") == (bar.tasks == "subject")]
    values = rows[bar.column].dropna() if bar.column in rows else pd.Series(dtype=float)
    if values.empty:
        return [bar.name, bar.wanted, "not measured", "0", "–"]
    value = bar.reached(values)
    return [
        bar.name,
        bar.wanted,
        number(value, 3),
        str(len(values)),
        "yes" if bar.holds(value) else "**no**",
    ]
