"""From measurements to mean, spread and worst case beside the paper's numbers, and to figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.agreement import MEASURES, REGRET, YARDSTICKS
from paper.options import PAPER_METHODS, PAPER_RATIOS, VARIANTS, known_methods
from paper.tables import Table, paper_table, spread
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
    """
    names = [*keys, "score", "gain"]
    once = measured[measured["gain"] == "minmax"]  # what is lost does not depend on the gain
    agreed, lost = aggregate(measured, names, MEASURES), aggregate(once, names, (REGRET,), "max")
    return pd.concat([agreed, lost], ignore_index=True)


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


#: Scores and gains whose tables are written; all others are in ``summary.csv``.
SHOWN = (("ratio", "raw"), ("cohen_d", "minmax"), ("sound", "minmax"))
SCORE_WORDS = {
    "ratio": "ratio of similarities, all pairs (nearest to the paper's numbers; not stated there)",
    "cohen_d": "Cohen's d, all pairs",
    "sound": "our default: explained share, or Cohen's d of windows that share no time points",
}


def agreement_tables(
    summary: pd.DataFrame,
    by: Sequence[str],
    caption: Callable[[dict[str, str]], str],
    row_keys: Sequence[str] = ("method",),
) -> list[Table]:
    """Lay a summary out as the paper does: a row per method, columns nDCG@k by size.

    Parameters
    ----------
    summary : DataFrame
        Of :func:`summarise_agreement`.
    by : sequence of str
        One table per combination of these columns, ``score`` and ``gain`` among them.
    caption : callable
        From such a combination to what is ranked.
    row_keys : sequence of str
        Columns that name a row; the first is the method.

    Returns
    -------
    list of Table
        Cells in percent, mean and std; the paper's in the row below ours. Behind them tables of
        the regret of the choice.
    """
    groups = {
        tuple(map(str, values if isinstance(values, tuple) else (values,))): part
        for values, part in summary.groupby(list(by), sort=False)
    }
    names = [dict(zip(by, values, strict=True)) for values in groups]
    named = list(zip(names, groups.values(), strict=True))
    shown = [
        (known, part)
        for score, gain in SHOWN
        for known, part in named
        if (known["score"], known["gain"]) == (score, gain)
    ]
    cuts = [name for name in MEASURES if name.startswith("ndcg")]
    tables = []
    for measures in (cuts, [REGRET]):
        for known, part in shown:
            chosen = part[part["measure"].isin(measures)]
            if len(chosen):
                name = "-".join([*known.values(), *(measures if measures == [REGRET] else [])])
                words = _words(known, caption(known), measures)
                tables.append(_paper_shaped(name, words, chosen, measures, row_keys))
    return tables


def main_table(summary: pd.DataFrame) -> Table:
    """Return nDCG@10 of both tasks, side by side, ours above the paper's.

    Parameters
    ----------
    summary : DataFrame
        Of the experiment ``table2``.

    Returns
    -------
    Table
        The paper's sizes by the score that comes nearest to its numbers, then diagnosis by ours.
    """
    rows = [*PAPER_METHODS, "sclcs-official", "sclcs-dense-official", *YARDSTICKS]
    chosen = summary[(summary["measure"] == "ndcg@10") & summary["method"].isin(rows)]
    parts = []
    for task, score, word in (
        ("subject", "ratio", "F"),
        ("diagnosis", "ratio", "D"),
        ("diagnosis", "sound", "D sound"),
    ):
        gain = dict(SHOWN)[score]
        part = chosen[(chosen["task"] == task) & (chosen["score"] == score)]
        part = part[(part["gain"] == gain) & part["ratio"].isin([0.0, *PAPER_RATIOS])]
        if score == "sound":  # the paper's numbers stand once
            part = part.assign(paper_mean=math.nan)
        parts.append(part.assign(measure=word))
    words = [str(part["measure"].iloc[0]) for part in parts]
    caption = (
        "nDCG@10 with the ranking on the full cohort, in percent: ours, the paper's below. F: "
        "fingerprinting, D: diagnosis, with the share of the samples."
    )
    return _paper_shaped("main", caption, pd.concat(parts), words, ("method",))


ALPHA, POWER = 0.05, 0.8


def versus_random(summary: pd.DataFrame, order: Sequence[str] = ()) -> list[Table]:
    """Compare every method with random draws, and say which difference could have been seen.

    Parameters
    ----------
    summary : DataFrame
        Of :func:`summarise_agreement`, with rows of the method ``random``.
    order : sequence of str
        Of the methods; that of the paper's tables by default.

    Returns
    -------
    list of Table
        One per task and score: difference of nDCG@10 in points, p (Welch, without correction for
        the number of comparisons), and the smallest difference found with 80 % power.
    """
    from scipy.stats import t, ttest_ind_from_stats

    cuts = summary[(summary["measure"] == "ndcg@10") & (summary["n"] > 1)]
    tables = []
    for score, gain in SHOWN:
        of_score = cuts[(cuts["score"] == score) & (cuts["gain"] == gain)]
        for task, part in of_score.groupby("task", sort=False):
            draws = part[part["method"] == "random"].set_index("ratio")
            cells: dict[str, dict[float, str]] = {}
            for row in part[~part["method"].isin(["random", *YARDSTICKS])].to_dict("records"):
                if row["ratio"] not in draws.index:
                    continue
                other = draws.loc[row["ratio"]]
                ours, theirs = _three(row), _three(other)
                p = ttest_ind_from_stats(*ours, *theirs, equal_var=False).pvalue
                error = math.sqrt(row["std"] ** 2 / row["n"] + other["std"] ** 2 / other["n"])
                freedom = min(row["n"], other["n"]) - 1
                seen = (t.ppf(1 - ALPHA / 2, freedom) + t.ppf(POWER, freedom)) * error
                gap = PERCENT * (row["mean"] - other["mean"])
                text = f"{gap:+.0f} (p {p:.3f}; {PERCENT * seen:.0f})"
                cells.setdefault(str(row["method"]), {})[row["ratio"]] = text
            ratios = sorted({ratio for found in cells.values() for ratio in found})
            rows = [
                [name, *(cells[name].get(ratio, "–") for ratio in ratios)]
                for name in (order or method_order(list(cells)))
                if name in cells
            ]
            if rows:
                caption = (
                    f"{task}: nDCG@10 minus that of random draws, in points (p without correction;"
                    " the smallest difference that would be seen with 80 % power). Score: "
                    f"{SCORE_WORDS[score]}."
                )
                header = ["method", *(f"{ratio:g}" for ratio in ratios)]
                tables.append(Table(f"{task}-{score}-{gain}-versus-random", caption, header, rows))
    return tables


def _three(row: Mapping[Any, Any] | pd.Series) -> tuple[float, float, int]:
    return float(row["mean"]), float(row["std"]), int(row["n"])


def _words(group: Mapping[str, str], what: str, measures: Sequence[str]) -> str:
    shown = (
        "Regret: what the operator that looks best on the core-set loses on the full cohort, in "
        "percent of the distance from best to median"
        if measures == [REGRET]
        else f"Agreement with the full cohort's ranking, nDCG in percent, gain `{group['gain']}`"
    )
    return (
        f"{what}. {shown}. Score: {SCORE_WORDS[group['score']]}. Mean ±std, the paper's below; "
        "*: some draws have no score."
    )


def _paper_shaped(
    name: str, caption: str, part: pd.DataFrame, measures: Sequence[str], row_keys: Sequence[str]
) -> Table:
    sized = part[~part["method"].isin(YARDSTICKS)]
    ratios = {name: sorted(set(sized.loc[sized["measure"] == name, "ratio"])) for name in measures}
    columns = [(measure, ratio) for measure in measures for ratio in ratios[measure]]
    rows: dict[tuple[str, ...], dict[tuple[str, float], Mapping[Any, Any]]] = {}
    for row in part.to_dict(orient="records"):
        alone = row["method"] in YARDSTICKS  # without a core-set there is no size
        key = tuple(str(row.get(column, "")).replace("nan", "") for column in row_keys)
        sizes = ratios[row["measure"]] if alone else [row["ratio"]]
        rows.setdefault(key, {}).update({(row["measure"], ratio): row for ratio in sizes})
    order = method_order([key[0] for key in rows])
    lines = []
    for key in sorted(rows, key=lambda key: (order.index(key[0]), *key[1:])):
        found = [rows[key].get(column) for column in columns]
        lines.append([*key, *("–" if row is None else _ours(row) for row in found)])
        paper = ["" if row is None else _papers(row) for row in found]
        if any(paper):
            lines.append(["  paper", *[""] * (len(key) - 1), *paper])
    header = [f"{measure.replace('ndcg', '')}, {ratio:g}" for measure, ratio in columns]
    return Table(name, caption, [*row_keys, *header], lines)


def _ours(row: Mapping[Any, float]) -> str:
    undefined = "*" if row["undefined"] and row["n"] else ""
    return spread(PERCENT * row["mean"], PERCENT * row["std"]) + undefined


def _papers(row: Mapping[Any, float]) -> str:
    if pd.isna(row["paper_mean"]):
        return ""
    return spread(PERCENT * row["paper_mean"], PERCENT * row["paper_std"])


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
        ticks = range(len(ordered))
        colour, style = HIGHLIGHTS.get(str(method), ("#c9ced6", "-"))
        known = str(method) in HIGHLIGHTS
        axes.plot(
            ticks,
            ordered["mean"],
            style,
            color=colour,
            linewidth=1.9 if known else 1.0,
            zorder=3 if known else 1,
            label=str(method) if known else None,
        )
        if method == "random":
            low, high = ordered["mean"] - ordered["std"], ordered["mean"] + ordered["std"]
            axes.fill_between(ticks, low, high, color=INK, alpha=0.08, linewidth=0)
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
        ticks = [tick + shift for tick in range(len(names))]
        axes.bar(
            ticks,
            rows["mean"],
            0.36,
            yerr=rows["std"].fillna(0.0),
            color=colour,
            label=f"{prefix}{value}",
            error_kw={"elinewidth": 0.8, "ecolor": INK},
        )
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
