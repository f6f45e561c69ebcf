"""The encoder on the real cohort: pictures and agreement of scores for docs/encoder.md.

    python tools/encoder_on_abide.py ../shared/data/abide_dos160_dmn33.npz --epochs 200

The cohort is the restriction of ABIDE I to 33 default-mode regions (see the README beside
the file): 307 scans of at least 210 time points in five windows, 1535 samples. Trainings are
kept in the cache, so a second call draws at once. Pictures go to docs/_static, the agreement of
scores between all pairs of trainings to docs/results/encoder_agreement.csv.
"""

from __future__ import annotations

import argparse
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from paper.ablation import seeds_agree
from sclcs._core import show_progress
from sclcs.cohort import Cohort, read_scans
from sclcs.coresets import TrainedEncoder, trained_encoder
from sclcs.report import save_encoder_figures

DOCS = Path(__file__).parents[1] / "docs"
STATIC, AGREEMENT = DOCS / "_static", DOCS / "results" / "encoder_agreement.csv"
TRAININGS = [("paper", 0), ("paper", 1), ("paper", 2), ("official", 0), ("official", 1)]
TRAININGS += [("mha", 0), ("mha-published", 0)]


def main() -> None:
    """Train, draw, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("npz", type=Path)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    scans = read_scans(options.npz)
    cohort = scans.to_cohort(window=70, stride=35, truncate=210, drop_first=1, on_bad="skip")
    with show_progress():
        runs = {
            (preset, seed): trained_encoder(
                cohort, preset, seed=seed, epochs=options.epochs, cache=options.cache
            )
            for preset, seed in TRAININGS
        }
    for path in save_encoder_figures(runs["paper", 0], STATIC, cohort):
        print(path)
    table = compare(runs)
    table.to_csv(AGREEMENT, index=False, float_format="%.4f")
    print(table.to_string(index=False))
    print_facts(runs, cohort)


def compare(runs: dict[tuple[str, int], TrainedEncoder]) -> pd.DataFrame:
    """Return rank correlations of scores and the overlap of the lowest tenth."""
    rows = []
    for one, other in combinations(runs, 2):
        scores = [runs[one].scores, runs[other].scores]
        names = {"first": one[0], "first_seed": one[1], "second": other[0], "second_seed": other[1]}
        rows.append({**names, "spearman": seeds_agree(scores), "shared": overlap(*scores)})
    return pd.DataFrame(rows)


def show(name: tuple[str, int]) -> str:
    """Return a training's name for a person."""
    return f"`{name[0]}`, seed {name[1]}"


def overlap(one: NDArray[np.float64], other: NDArray[np.float64], share: float = 0.1) -> float:
    """Return the share of the lowest scores that two trainings have in common."""
    size = int(share * len(one))
    return len(set(np.argsort(one)[:size]) & set(np.argsort(other)[:size])) / size


def print_facts(runs: dict[tuple[str, int], TrainedEncoder], cohort: Cohort) -> None:
    """Print how scores are spread and how long trainings took."""
    subjects = cohort.samples["subject"].to_numpy()
    for name, run in runs.items():
        finite = np.isfinite(run.scores)
        low, middle, high = np.quantile(run.scores[finite], [0.05, 0.5, 0.95])
        between = between_subjects(run.scores[finite], subjects[finite])
        last = run.history.iloc[-1]
        print(
            f"{show(name)}: scores {low:.2g} {middle:.2g} {high:.2g} (5, 50, 95 %), "
            f"{between:.0%} of their variance between subjects, loss {last['loss']:.2f}, "
            f"{run.facts['seconds']:.0f} s"
        )


def between_subjects(scores: NDArray[np.float64], subjects: NDArray[np.object_]) -> float:
    """Return the share of the variance of scores that subject means explain."""
    _, codes = np.unique(subjects.astype(str), return_inverse=True)
    means = np.bincount(codes, scores) / np.bincount(codes)
    return float(np.var(means[codes]) / np.var(scores))


if __name__ == "__main__":
    main()
