"""What the figures of several experiments share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from sclcs.experiments.summary import YARDSTICKS, method_order
from sclcs.report.style import BLUE, INK, MUTED, ORANGE, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["HIGHLIGHTS", "agreement_panels", "curves_by_ratio", "grid", "paired_bars"]

GREEN, PURPLE = "#2f7d5b", "#7a4fa3"
#: Methods that are told apart by colour; all others are grey lines.
HIGHLIGHTS = {
    "random": (INK, "-"),
    "sclcs": (ORANGE, "-"),
    "sclcs-dense": (ORANGE, "--"),
    "sps-mha": (PURPLE, ":"),
    "stratified": (GREEN, "-"),
    "guided": (BLUE, "-"),
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
