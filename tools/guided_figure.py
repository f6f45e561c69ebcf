"""Join the runs of tools/guided_study.py, summarise them and draw the figure.

python tools/guided_figure.py results/guided abide.csv simulated.csv abide766.csv ...

The name of a file up to the first underscore is the name of its study.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import pandas as pd

from sclcs.experiments.guided_study import summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GUIDED = "guided"
CERTIFIED = {"ndcg": "ndcg@10", "kendall": "kendall"}


def main() -> None:
    """Write results.csv, summary.csv and guided.png into the folder."""
    mpl.use("Agg")
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    parts = [pd.read_csv(name).assign(study=Path(name).stem.split("_")[0]) for name in names]
    results = pd.concat(parts, ignore_index=True)
    results.to_csv(folder / "results.csv", index=False, float_format="%.4g")
    summary = pd.concat(
        summarise(part).assign(study=study) for study, part in results.groupby("study")
    )
    summary.to_csv(folder / "summary.csv", index=False, float_format="%.4g")
    drawn = [table[table["study"] == "abide"] for table in (results, summary)]
    draw(*drawn, folder / "guided.png")
    print(summary.round(3).to_string())


def draw(results: pd.DataFrame, summary: pd.DataFrame, path: Path) -> None:
    """Draw consistency by size, and predicted against measured."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    halves = summary[summary["protocol"] == "halves"]
    for axis, (task, part) in zip(axes[0], halves.groupby("task"), strict=False):
        draw_sizes(axis, task, part)
    axes[0, 0].legend(frameon=False, fontsize=7, ncol=2)
    guided = results[(results["method"] == GUIDED) & results["ndcg_low"].notna()]
    for axis, what in zip(axes[1], CERTIFIED, strict=True):
        draw_calibration(axis, what, guided)
    figure.savefig(path, dpi=110)


def draw_sizes(axis: Axes, task: str, part: pd.DataFrame) -> None:
    """Draw the mean of every method against the size, and the worst case of guided."""
    from matplotlib import pyplot as plt

    methods = sorted(set(part["method"]) - {GUIDED})
    colours = dict(zip(methods, plt.get_cmap("tab20").colors, strict=False))
    for method, line in part.groupby("method"):
        main = method == GUIDED
        colour = "black" if main else colours[method]
        axis.plot(
            line["ratio"], line["ndcg10"], "o-", color=colour, label=method,
            linewidth=2.5 if main else 1, markersize=5 if main else 3,
        )  # fmt: skip
        if main:
            axis.plot(line["ratio"], line["ndcg10_worst"], ":", color=colour, linewidth=1.5)
    axis.set(xscale="log", ylim=(0, 1.02), title=task, xlabel="share of the samples")
    axis.set_ylabel("nDCG@10 on unseen families\n(dotted: worst of guided)")


def draw_calibration(axis: Axes, what: str, guided: pd.DataFrame) -> None:
    """Draw the certificate of every core-set against what was measured."""
    measured = CERTIFIED[what]
    for task, part in guided.groupby("task"):
        middle = part[f"{what}_expected"]
        errors = [middle - part[f"{what}_low"], part[f"{what}_high"] - middle]
        inside = part[measured].between(part[f"{what}_low"], part[f"{what}_high"]).mean()
        label = f"{task}: {inside:.0%} of {len(part)} inside"
        axis.errorbar(part[measured], middle, errors, fmt="o", ms=3, lw=0.4, label=label)
    low = float(min(guided[measured].min(), guided[f"{what}_expected"].min()))
    axis.plot([low, 1], [low, 1], "k-", linewidth=0.8)
    axis.set(xlabel=f"measured {measured}", ylabel="certificate (90 %)", title="calibration")
    axis.legend(frameon=False)


if __name__ == "__main__":
    main()
