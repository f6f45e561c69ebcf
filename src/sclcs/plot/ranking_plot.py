"""A ranking as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sclcs.benchmark.ranking import Ranking
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError
from sclcs.plot.inputs import as_count, axes_for
from sclcs.report.style import BLUE, FAINT, INK, MUTED, finish, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ranking"]


@checked
def ranking(ranking: Ranking, *, shown: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the best operators with the intervals of their scores.

    Operators that the data cannot tell from the best are dark; equivalent operators
    are one line.

    Parameters
    ----------
    ranking : Ranking
        From :func:`sclcs.benchmark.rank`, or of a run.
    shown : int
        How many lines.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> cohort = sclcs.simulate_cohort(8, 2, 5, length=40, stride=40, seed=1)
    >>> found = sclcs.benchmark.rank(cohort, "subject", ["kendalltau", "pec"], permutations=0)
    >>> len(sclcs.plot.ranking(found).get_yticklabels())
    2
    """
    if not isinstance(ranking, Ranking):
        raise InputError(f"Expected a Ranking, got {type(ranking).__name__}.")
    table = ranking.groups
    top = table[table["score"].notna()].head(as_count(shown))
    if top.empty:
        raise InputError("No operator of the ranking has a score, so there is nothing to draw.")
    axes = axes_for(ax, (7.0, 1.2 + 0.26 * len(top)))
    places = np.arange(len(top))
    colours = np.where(top["best_set"].to_numpy(dtype=bool), BLUE, MUTED)
    axes.hlines(places, top["low"], top["high"], color=colours, alpha=0.5, linewidth=3)
    axes.scatter(top["score"], places, color=colours, s=22, zorder=3)
    axes.set_yticks(places, [shorten(str(name)) for name in top["name"]])
    axes.set_ylim(len(top) - 0.4, -0.6)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    finish(axes, f"Operators for {ranking.task}", ranking.score.replace("_", " "))
    axes.tick_params(axis="y", colors=INK)
    return axes
