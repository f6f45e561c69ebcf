"""Join the runs of tools/guided_study.py, summarise them and draw the figure.

python tools/guided_figure.py results/guided abide_diagnosis.csv abide_subject.csv ...
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from sclcs.experiments.guided_study import summarise

COLOURS = {"random": "0.6", "pairs": "tab:blue", "stratified": "tab:green", "guided": "tab:red"}


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

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    halves = summary[summary["protocol"] == "halves"]
    for axis, (task, part) in zip(axes, halves.groupby("task"), strict=False):
        for method, line in part.groupby("method"):
            colour = COLOURS[method]
            axis.plot(line["ratio"], line["ndcg10"], "o-", color=colour, label=method)
            axis.plot(line["ratio"], line["ndcg10_worst"], ":", color=colour, linewidth=1)
        axis.set(xscale="log", ylim=(0, 1.02), title=task, xlabel="share of the samples")
        axis.set_ylabel("nDCG@10 on unseen families\n(dotted: worst)")
    axes[0].legend(frameon=False)
    guided = results[(results["method"] == "guided") & results["ndcg_low"].notna()]
    for task, part in guided.groupby("task"):
        errors = [
            part["ndcg_expected"] - part["ndcg_low"],
            part["ndcg_high"] - part["ndcg_expected"],
        ]
        axes[2].errorbar(
            part["ndcg@10"], part["ndcg_expected"], errors, fmt="o", ms=3, lw=0.4, label=task
        )
    axes[2].plot([0.5, 1], [0.5, 1], "k-", linewidth=0.8)
    axes[2].set(xlabel="measured nDCG@10", ylabel="certificate (90 %)", title="calibration")
    axes[2].legend(frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
