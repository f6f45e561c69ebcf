"""From measurements to mean, spread and worst case beside the paper's numbers, and to figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.agreement import MEASURES, REGRET, YARDSTICKS
from paper.options import VARIANTS, known_methods
from paper.tables import Table, beside, number, paper_table, spread
from sclcs.report.figures import BLUE, INK, MUTED, ORANGE, finish

PERCENT = 100.0
IN_PERCENT = ("table2", "table7")


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
        The table; only ``table2`` and ``table7`` are printed in percent.
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
    paper = list(dict.fromkeys(paper_table("table2")["method"]))
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


GREEN, PURPLE = "#2f7d5b", "#7a4fa3"
#: Methods that are told apart by colour; all others are grey lines.
HIGHLIGHTS = {
    "random": (INK, "-"),
    "sclcs": (ORANGE, "-"),
    "sclcs-dense": (ORANGE, "--"),
    "sps-mha": (PURPLE, ":"),
    "stratified": (GREEN, "-"),
}


def grid(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure and its axes by row and column; `size` is that of one panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, [list(line) for line in axes]


def curves_by_ratio(axes: Axes, part: pd.DataFrame, title: str, y: str) -> None:
    """Draw mean agreement against the size of the core-set, one line per method.

    Parameters
    ----------
    axes : Axes
    part : DataFrame
        Rows of one measure: method, ratio, mean, std.
    title, y : str
    """
    part = part[~part["method"].isin(YARDSTICKS)]  # they have no size
    for method, line in part.groupby("method", sort=False):
        ordered = line.sort_values("ratio")
        places = range(len(ordered))
        colour, style = HIGHLIGHTS.get(str(method), ("#c9ced6", "-"))
        known = str(method) in HIGHLIGHTS
        axes.plot(
            places,
            ordered["mean"],
            style,
            color=colour,
            linewidth=1.9 if known else 1.0,
            zorder=3 if known else 1,
            label=str(method) if known else None,
        )
        if method == "random":
            low, high = ordered["mean"] - ordered["std"], ordered["mean"] + ordered["std"]
            axes.fill_between(places, low, high, color=INK, alpha=0.08, linewidth=0)
    ratios = sorted(set(part["ratio"]))
    axes.set_xticks(range(len(ratios)), [f"{100 * ratio:g} %" for ratio in ratios])
    finish(axes, title, "share of the samples", y)


def agreement_panels(shown: pd.DataFrame, by: str) -> Figure:
    """Draw one panel of curves per task and value of a column.

    Parameters
    ----------
    shown : DataFrame
        Rows of one measure, score and gain.
    by : str
        The column whose values stand side by side.

    Returns
    -------
    matplotlib.figure.Figure
    """
    tasks, kinds = list(dict.fromkeys(shown["task"])), list(dict.fromkeys(shown[by]))
    figure, axes = grid(len(tasks), len(kinds), (3.6, 2.9))
    for row, task in enumerate(tasks):
        for column, kind in enumerate(kinds):
            part = shown[(shown["task"] == task) & (shown[by] == kind)]
            panel = axes[row][column]
            curves_by_ratio(panel, part, f"{task}: {kind} {by}", "nDCG@10" if column == 0 else "")
            panel.set_ylim(0, 1.03)
    axes[0][0].legend(frameon=False, fontsize=7, loc="lower right")
    return figure


def paired_bars(
    axes: Axes, part: pd.DataFrame, by: str, values: Sequence[str], prefix: str = ""
) -> None:
    """Draw two bars per method, with whiskers: its means for two values of the column `by`."""
    names = method_order(list(part["method"]))
    for shift, value, colour in zip((-0.19, 0.19), values, (MUTED, BLUE), strict=False):
        rows = part[part[by] == value].set_index("method").reindex(names)
        places = [place + shift for place in range(len(names))]
        axes.bar(
            places,
            rows["mean"],
            0.36,
            yerr=rows["std"].fillna(0.0),
            color=colour,
            label=f"{prefix}{value}",
            error_kw={"elinewidth": 0.8, "ecolor": INK},
        )
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
