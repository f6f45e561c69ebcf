"""From measurements to mean, spread and worst case, with the paper's numbers beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from sclcs.experiments.agreement import MEASURES, REGRET
from sclcs.experiments.paper import paper_table
from sclcs.experiments.tables import Table, beside, number, spread
from sclcs.experiments.variants import VARIANTS, known_methods

__all__ = [
    "CHANCE",
    "PRIOR",
    "YARDSTICKS",
    "aggregate",
    "agreement_tables",
    "beside_paper",
    "method_order",
    "paper_agreement",
    "regret_first",
    "shown_measure",
    "summarise_agreement",
    "summarise_measures",
    "usual",
]

PERCENT = 100.0
CHANCE = "chance"  # operators in a random order
PRIOR = "prior"  # no scan at all: a few exact scores, and the geometry that comes with the package
#: Rows of a comparison of selectors that need no core-set.
YARDSTICKS = (CHANCE, PRIOR)
IN_PERCENT = ("main", "labels")


def aggregate(
    measured: pd.DataFrame, keys: Sequence[str], measures: Sequence[str], worst: str = "min"
) -> pd.DataFrame:
    """Aggregate over repeats.

    Parameters
    ----------
    measured : DataFrame
        One row per measurement.
    keys : sequence of str
        Columns that name a cell; groups keep the order of their first row.
    measures : sequence of str
        Columns with numbers.
    worst : {"min", "max"}
        Which end is bad.

    Returns
    -------
    DataFrame
        Keys, ``measure``, ``mean``, ``std`` (ddof 1), ``worst``, ``n`` (defined ones) and
        ``undefined``.
    """
    long = measured.melt(list(keys), list(measures), "measure", "found")
    groups = long.groupby([*keys, "measure"], sort=False, dropna=False)["found"]
    table = groups.agg(mean="mean", std="std", worst=worst, n="count", size="size").reset_index()
    table["undefined"] = table["size"] - table["n"]
    return table.drop(columns="size")


def beside_paper(
    summary: pd.DataFrame, paper: pd.DataFrame, keys: Sequence[str], where: pd.Series | None = None
) -> pd.DataFrame:
    """Put the paper's ``mean`` and ``std`` beside ours.

    Parameters
    ----------
    summary : DataFrame
    paper : DataFrame
        With the keys and ``mean``, ``std`` or ``value``.
    keys : sequence of str
    where : Series of bool, optional
        Rows of the summary to which the paper's numbers belong; all by default.

    Returns
    -------
    DataFrame
        With ``paper_mean`` and ``paper_std``.
    """
    names = {"mean": "paper_mean", "value": "paper_mean", "std": "paper_std"}
    published = paper.rename(columns=names)
    if "paper_std" not in published:
        published["paper_std"] = float("nan")
    columns = [*keys, "paper_mean", "paper_std"]
    joined = summary.merge(published[columns], "left", list(keys))
    if where is not None:
        joined.loc[~where.to_numpy(), ["paper_mean", "paper_std"]] = float("nan")
    return joined


def paper_agreement(name: str, **columns: str) -> pd.DataFrame:
    """Return one of the paper's tables of nDCG, from 0 to 1, with ``mean`` and ``measure``.

    Parameters
    ----------
    name : str
        The table; only ``main`` and ``labels`` are printed in percent.
    **columns : str
        Columns to add.

    Returns
    -------
    DataFrame
    """
    table = paper_table(name).rename(columns={"value": "mean"}).assign(**columns)
    if name in IN_PERCENT:
        table[["mean", "std"]] /= PERCENT
    numbers = table.assign(measure="ndcg@" + table["k"].astype(str))
    # The paper does not say which variant made its numbers: they stand beside both.
    copies = [
        numbers[numbers["method"] == variant.method].assign(method=name)
        for name, variant in VARIANTS.items()
    ]
    return pd.concat([numbers, *copies], ignore_index=True)


def usual(summary: pd.DataFrame, measure: str | None = None) -> pd.DataFrame:
    """Return the rows of the default score and gain, and of one measure."""
    chosen = summary[(summary["score"] == "cohen_d") & (summary["gain"] == "minmax")]
    return chosen if measure is None else chosen[chosen["measure"] == measure]


def summarise_measures(measured: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Aggregate agreement, and the regret of the choice, whose largest value is the worst.

    Parameters
    ----------
    measured : DataFrame
        With the keys, ``score``, ``gain``, the measures and the regret.
    keys : sequence of str
        Columns that name a cell besides score and gain.

    Returns
    -------
    DataFrame
    """
    names = [*keys, "score", "gain"]
    once = measured[measured["gain"] == "minmax"]  # what is lost does not depend on the gain
    agreed, lost = aggregate(measured, names, MEASURES), aggregate(once, names, (REGRET,), "max")
    return pd.concat([agreed, lost], ignore_index=True)


def shown_measure(measure: str) -> str:
    """Return what a table of a measure shows, for its caption."""
    if measure == REGRET:
        return (
            "Regret: what the operator that is best on the core-set loses on everybody, of best "
            "minus median"
        )
    return f"{measure.replace('ndcg', 'nDCG')} with the full ranking"


def regret_first(facts: Mapping[str, str]) -> str:
    """Return a sentence that opens the caption of a table of regrets, and of no other."""
    return f"{shown_measure(REGRET)}. " if facts["measure"] == REGRET else ""


def summarise_agreement(measured: pd.DataFrame, keys: Sequence[str], paper: str) -> pd.DataFrame:
    """Aggregate agreement and put the paper's nDCG beside it.

    Parameters
    ----------
    measured : DataFrame
        With the keys, ``score``, ``gain`` and the measures.
    keys : sequence of str
        Columns that name a cell besides score and gain.
    paper : str
        The paper's table; its columns besides the numbers are the keys.

    Returns
    -------
    DataFrame
    """
    table = summarise_measures(measured, keys)
    published = paper_agreement(paper)
    shared = [name for name in (*keys, "measure") if name in published.columns]
    return beside_paper(table, published, shared)


def method_order(methods: Sequence[str]) -> list[str]:
    """Return methods in the order of the paper, ours after them, yardsticks last."""
    paper = list(dict.fromkeys(paper_table("main")["method"]))
    known = paper + [name for name in known_methods() if name not in paper] + [*YARDSTICKS]
    return sorted(dict.fromkeys(methods), key=known.index)


def agreement_tables(
    summary: pd.DataFrame,
    by: Sequence[str],
    caption: Callable[[dict[str, str]], str],
    row_keys: Sequence[str] = ("method",),
) -> list[Table]:
    """Lay a summary out as the paper does: a row per method, a column per ratio, a table per k.

    Parameters
    ----------
    summary : DataFrame
        Of :func:`summarise_agreement`.
    by : sequence of str
        One table per combination of these columns.
    caption : callable
        From such a combination to what the table shows.
    row_keys : sequence of str
        Columns that name a row; the first is the method.

    Returns
    -------
    list of Table
        Cells in percent: our mean, std and worst, then the paper's mean and std.
    """
    shown = summary[summary["measure"] != "kendall"]
    tables = []
    for values, part in shown.groupby([*by, "measure"], sort=False):
        facts = dict(zip((*by, "measure"), map(str, values), strict=True))
        chosen = part[~part["method"].isin(YARDSTICKS)]
        ratios = sorted(set(chosen["ratio"]))
        cells = {
            (*(row[key] for key in row_keys), row["ratio"]): _cell(row)
            for row in chosen.to_dict(orient="records")
        }
        for row in part[part["method"].isin(YARDSTICKS)].to_dict(orient="records"):
            # Without a core-set there is no size: the same in every column.
            name = tuple(row.get(key, "") for key in row_keys)
            cells |= dict.fromkeys([(*name, ratio) for ratio in ratios], _cell(row))
        names = {key[:-1] for key in cells}
        order = method_order([name[0] for name in names])
        lines = [
            [*map(str, name), *(cells.get((*name, ratio), "–") for ratio in ratios)]
            for name in sorted(names, key=lambda name: (order.index(name[0]), *name[1:]))
        ]
        measure = facts["measure"].replace("ndcg", "nDCG")
        header = [*row_keys, *(f"{measure}, {ratio:g}" for ratio in ratios)]
        tables.append(Table("-".join(facts.values()), caption(facts), header, lines))
    return tables


def _cell(row: Mapping[Any, float]) -> str:
    worst = PERCENT * row["worst"] if row["n"] > 1 else None
    ours = spread(PERCENT * row["mean"], PERCENT * row["std"], worst)
    paper = spread(PERCENT * row["paper_mean"], PERCENT * row["paper_std"])
    undefined = f" [{number(row['undefined'], 0)} undefined]" if row["undefined"] else ""
    return beside(ours + undefined, paper)
