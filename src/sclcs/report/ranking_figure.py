"""Pictures of rankings: operators with their intervals, and two rankings against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.consistency import consistency
from sclcs.benchmark.ranking import Ranking
from sclcs.core.errors import InputError
from sclcs.report.style import BLUE, FAINT, INK, MUTED, ORANGE, finish, shorten
from sclcs.spi.names import KNOWN_BEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_rank_rank", "draw_ranking"]

SHOWN = 30
LABELLED = 6


def draw_ranking(ranking: Ranking, shown: int = SHOWN) -> Figure:
    """Draw the best operators as dots with the intervals of score and rank.

    Parameters
    ----------
    ranking : Ranking
        Equivalent operators are one line.
    shown : int
        How many lines.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    table = ranking.groups
    scored = table[table["score"].notna()]
    if scored.empty:
        raise InputError(f"No operator has a score, so there is nothing to draw: {_why(table)}")
    top = scored.head(shown)
    places = np.arange(len(top))
    with_intervals = bool(top["low"].notna().any())
    figure = Figure(figsize=(10, 1.6 + 0.23 * len(top)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True, width_ratios=[1.6, 1], squeeze=False)[0]
    if ranking.ranks_only:  # scores and intervals of a guided core-set are no effects
        top = top.assign(score=np.nan, low=np.nan, high=np.nan, rank_low=np.nan, rank_high=np.nan)
        panels[0].text(0.5, 0.5, "chosen by labels and connectivity:\nranks only", ha="center",
                       va="center", color=MUTED, transform=panels[0].transAxes)  # fmt: skip
        panels[0].set_xticks([])
    _dots(panels[0], places, top, ("score", "low", "high"), BLUE)
    _dots(panels[1], places, top, ("rank", "rank_low", "rank_high"), ORANGE)
    panels[0].set_yticks(places, [_line_name(row) for _, row in top.iterrows()])
    panels[0].set_ylim(len(top) - 0.4, -0.6)
    panels[1].set_xlim(left=0)
    if float(top["low"].fillna(top["score"]).min()) < 0:
        panels[0].axvline(0, color=MUTED, linewidth=1)
    finish(panels[0], "Score", ranking.score.replace("_", " "))
    finish(panels[1], "Rank", "rank (1 is best)")
    panels[0].tick_params(axis="y", colors=INK, labelsize=7.5)
    panels[1].tick_params(axis="y", length=0)
    figure.suptitle(
        _heading(ranking, len(top), len(scored), with_intervals), fontsize=10, color=MUTED
    )
    return figure


def _dots(
    axes: Axes, places: NDArray[np.int64], table: pd.DataFrame, names: tuple[str, ...], colour: str
) -> None:
    middle, low, high = (table[name].to_numpy(dtype=float) for name in names)
    axes.hlines(places, low, high, color=colour, alpha=0.45, linewidth=3)
    axes.plot(middle, places, "o", color=colour, markersize=4.5)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)


def _line_name(row: pd.Series) -> str:
    others = len(row["also"])
    name = row["name"] if row["spi"] in KNOWN_BEST else row["spi"]
    return shorten(str(name)) + (f"  (+{others} equivalent)" if others else "")


def _heading(ranking: Ranking, shown: int, scored: int, with_intervals: bool) -> str:
    where = "all samples" if ranking.coreset is None else f"{ranking.coreset['samples']} samples"
    facts = ranking.provenance.get("bootstrap", {})
    interval = ""
    if with_intervals and facts:
        interval = f" · {100 * facts['confidence']:g} % intervals, subjects redrawn"
    lines = f"best {shown} of {scored}" if shown < scored else f"all {scored}"
    return f"task {ranking.task}, {where} · {lines}{interval}"


def _why(table: pd.DataFrame) -> str:
    reasons = [reason for reason in table["reason"].unique() if reason]
    return str(reasons[0]) if reasons else "the ranking is empty."


def draw_rank_rank(reference: Ranking, other: Ranking) -> Figure:
    """Draw the ranks of the operators in one ranking against those in another.

    Parameters
    ----------
    reference, other : Ranking
        Operators without a score in both are left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    both = reference.table.merge(other.table, on="spi", suffixes=("", "_other"))
    both = both[both["rank"].notna() & both["rank_other"].notna()]
    if both.empty:
        raise InputError("The two rankings have no operator with a rank in common.")
    found = consistency(reference, other)
    figure = Figure(figsize=(6.6, 6.4), layout="constrained")
    axes = figure.subplots()
    last = float(max(both["rank"].max(), both["rank_other"].max())) + 1
    axes.plot([0, last], [0, last], color=MUTED, linewidth=1, linestyle="--")
    axes.errorbar(
        both["rank"],
        both["rank_other"],
        xerr=_arms(both, "rank", ""),
        yerr=_arms(both, "rank", "_other"),
        fmt="none",
        ecolor=MUTED,
        alpha=0.18,
        linewidth=1,
    )
    axes.plot(both["rank"], both["rank_other"], "o", color=BLUE, markersize=4, alpha=0.85)
    best = both.nsmallest(LABELLED, "rank")
    axes.plot(best["rank"], best["rank_other"], "o", color=ORANGE, markersize=6)
    _name_points(axes, best, last)
    _best_in_the_corner(axes, last)
    finish(axes, "", f"rank on {_where(reference)}", f"rank on {_where(other)}")
    axes.spines[["top"]].set_visible(True)
    axes.spines[["bottom"]].set_visible(False)
    figure.suptitle(
        f"nDCG@5 {found['ndcg@5']:.2f} · nDCG@10 {found['ndcg@10']:.2f} · "
        f"Kendall {found['kendall']:.2f} · {len(both)} operators, task {reference.task}",
        fontsize=10,
        color=MUTED,
    )
    return figure


def _best_in_the_corner(axes: Axes, last: float) -> None:
    """Put rank 1 of both rankings into the upper left corner, as in a table."""
    axes.set_xlim(0, last)
    axes.set_ylim(last, 0)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")


def _arms(table: pd.DataFrame, name: str, suffix: str) -> Any:  # noqa: ANN401
    middle = table[f"{name}{suffix}"].to_numpy(dtype=float)
    low = table[f"{name}_low{suffix}"].to_numpy(dtype=float)
    high = table[f"{name}_high{suffix}"].to_numpy(dtype=float)
    if np.isnan(low).all():
        return None
    return np.maximum(np.nan_to_num(np.stack([middle - low, high - middle])), 0.0)


def _name_points(axes: Axes, best: pd.DataFrame, last: float) -> None:
    """Write the names of the best beside the points, spread so that they do not overlap."""
    step = last / 26
    lowest = -np.inf
    for _, row in best.sort_values("rank_other").iterrows():
        height = max(float(row["rank_other"]), lowest + step)
        lowest = height
        axes.annotate(
            shorten(str(row["spi"]), 34),
            (row["rank"], row["rank_other"]),
            xytext=(max(float(best["rank"].max()), 0.0) + last / 14, height),
            fontsize=7.5,
            color=INK,
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0},
            arrowprops={"arrowstyle": "-", "color": ORANGE, "linewidth": 0.7},
        )


def _where(ranking: Ranking) -> str:
    if ranking.coreset is None:
        return "all samples"
    return f"a core-set of {ranking.coreset['samples']} ({ranking.coreset['method']})"
