"""From measurements to mean, spread and worst case, with the paper's numbers beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from sclcs.experiments.agreement import MEASURES
from sclcs.experiments.paper import paper_table
from sclcs.experiments.tables import Table, beside, number, spread

__all__ = [
    "aggregate",
    "agreement_tables",
    "beside_paper",
    "method_order",
    "paper_agreement",
    "summarise_agreement",
    "usual",
]

PERCENT = 100.0
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
    return table.assign(measure="ndcg@" + table["k"].astype(str))


def usual(summary: pd.DataFrame, measure: str | None = None) -> pd.DataFrame:
    """Return the rows of the default score and gain, and of one measure."""
    chosen = summary[(summary["score"] == "cohen_d") & (summary["gain"] == "minmax")]
    return chosen if measure is None else chosen[chosen["measure"] == measure]


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
    table = aggregate(measured, [*keys, "score", "gain"], MEASURES)
    published = paper_agreement(paper)
    shared = [name for name in (*keys, "measure") if name in published.columns]
    return beside_paper(table, published, shared)


def method_order(methods: Sequence[str]) -> list[str]:
    """Return methods in the order of the paper, ours after them."""
    from sclcs.selection import SELECTORS

    paper = list(dict.fromkeys(paper_table("main")["method"]))
    known = paper + [name for name in SELECTORS if name not in paper]
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
        ratios = sorted(set(part["ratio"]))
        cells = {
            (*(row[key] for key in row_keys), row["ratio"]): _cell(row)
            for row in part.to_dict(orient="records")
        }
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
