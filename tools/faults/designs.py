"""False effects of confounded designs, on real signals: ``designs.py DATA.npz``.

A label or number that has nothing to do with connectivity but goes with a site, with motion, with
age or with who is scanned twice, on 100 scans of a real cohort (ABIDE, all regions valid, at
least 146 time points; its array with `timeseries`, `n_timepoints`, `roi_valid` and labels).
Counts how often a test of Pearson correlation is significant at 5 %: what the defaults make of it,
and what was without them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from sclcs.stats import make_question
from sclcs.stats.design import make_design
from sclcs.stats.effects import operator_effects
from sclcs.stats.views import make_features

COHORTS, SUBJECTS, PERMUTATIONS, TIMES = 200, 100, 99, 144
OUT = Path(__file__).parents[2] / "results" / "faults" / "designs.md"
#: Design, what is told of it, and the options of the question.
DESIGNS = [
    ("no effect", "", {}),
    *(("label is the site in 95 %", name, {}) for name in ("site", "SITE_ID", "scanner")),
    ("label is the site in 95 %", "a column of any name, each site with a TR", {}),
    ("label is the site in 95 %", "nothing (as comparison)", {}),
    *(
        (design, f"{column} as covariate, {form}", {"covariates": column, "covariate_form": form})
        for design, column in (
            ("median split of motion", "mean_fd"),
            ("logarithm of motion, with noise", "mean_fd"),
            ("median split of age", "age"),
        )
        for form in ("spline", "linear")
    ),
    ("two visits under two ids", "--families person", {"families": "person"}),
    ("two visits under two ids", "nothing (as comparison)", {}),
]


def correlations(signals: np.ndarray) -> np.ndarray:
    """Return Fisher-transformed correlations (scan, region, region)."""
    matrices = np.stack([np.corrcoef(scan) for scan in signals])
    return np.arctanh(np.clip(matrices, -0.999, 0.999)).astype(np.float32)


class Background:
    """The real scans, and what is known of them."""

    def __init__(self, path: str) -> None:
        data = np.load(path, allow_pickle=False)
        usable = data["roi_valid"].all(axis=1) & (data["n_timepoints"] >= TIMES + 2)
        rows = np.flatnonzero(usable & np.isfinite(data["mean_fd"]))
        signals = data["timeseries"][rows, 2 : TIMES + 2].transpose(0, 2, 1).astype(float)
        self.whole = correlations(signals)
        self.halves = [correlations(part) for part in np.split(signals, 2, axis=2)]
        self.facts = {name: data[name][rows] for name in ("mean_fd", "age", "site")}
        self.large = [site for site, n in zip(*np.unique(self.facts["site"], return_counts=True),
                                              strict=True) if n >= SUBJECTS / 2]  # fmt: skip

    def study(
        self, design: str, told: str, rng: np.random.Generator
    ) -> tuple[np.ndarray, pd.DataFrame]:
        """Return matrices and a table of one study."""
        rows = rng.choice(len(self.whole), SUBJECTS, replace=False)
        label = rng.permutation(np.array(["a", "b"]).repeat(SUBJECTS // 2))
        columns: dict[str, object] = {}
        matrices = self.whole
        if "site" in design:
            two = rng.choice(self.large, 2, replace=False)
            of_site = [np.flatnonzero(self.facts["site"] == site) for site in two]
            rows = np.concatenate(
                [rng.choice(some, SUBJECTS // 2, replace=False) for some in of_site]
            )
            sites = np.repeat([0, 1], SUBJECTS // 2)
            label = np.array(["a", "b"])[sites ^ (rng.random(SUBJECTS) < 0.05)]
            if "column" in told:
                columns = {"wave": two[sites], "tr": np.array([2.0, 2.5])[sites]}
            elif "nothing" not in told:
                columns = {told: two[sites]}
        if "visits" in design:
            persons = rows[: SUBJECTS // 2]
            pair = np.tile(np.arange(SUBJECTS // 2), 2)
            label = rng.permutation(np.array(["a", "b"]).repeat(SUBJECTS // 4))[pair]
            columns = {"person": [f"p{k}" for k in pair]}
            chosen = np.concatenate([half[persons] for half in self.halves])
        else:
            chosen = matrices[rows]
        for name, word in (("mean_fd", "motion"), ("age", "age")):
            if word in design:
                values = self.facts[name][rows].astype(float)
                columns[name] = values
                label = np.where(values > np.median(values), "a", "b")
                if "logarithm" in design:
                    label = np.log(values) + 0.3 * rng.normal(size=SUBJECTS)
        ids = [f"s{k:03d}" for k in range(SUBJECTS)]
        table = {"subject": ids, "window": 0, "target": label, **columns}
        return chosen, pd.DataFrame(table, index=ids)


def main() -> None:
    """Measure every design and write the table."""
    background = Background(sys.argv[1])
    lines = [
        "| design | what is told | pattern | values | edge |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for design, told, options in DESIGNS:
        rng, found = np.random.default_rng(7), []
        for k in range(COHORTS):
            matrices, table = background.study(design, told, rng)
            question = make_question(table, "target", **options)
            permuted = make_design(question.model, question.permutations(PERMUTATIONS, seed=k))
            tests = operator_effects(make_features(matrices), permuted).tests
            found.append(
                [
                    (tests[name] >= tests[name][0] - 1e-9).mean()
                    for name in ("pattern", "values", "edge")
                ]
            )
        shares = (np.array(found) <= 0.05).mean(axis=0)
        lines.append(f"| {design} | {told} | " + " | ".join(f"{x:.1%}" for x in shares) + " |")
        print(lines[-1], flush=True)
    note = (
        f"False effects at 5 % in {COHORTS} cohorts of {SUBJECTS} scans each (standard error 1.5 %)"
    )
    note += f"; {len(background.whole)} real scans, Pearson correlation, "
    note += f"{PERMUTATIONS} permutations.\n\n"
    OUT.write_text(note + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
