"""Compare what every selection method keeps on a real cohort.

    python tools/compare_selectors.py ../shared/data/abide_dos160_dmn33.npz --epochs 200

The cohort is the restriction of ABIDE I to 33 default-mode regions (see the README beside the
file), cut into the paper's windows: scans of at least 211 time points, the first one dropped, 210
used, five windows of 70 with stride 35. Written to docs/results and docs/_static, from
which the documentation is made:

selectors_abide.csv
    one row per method, variant and task: subjects covered, class and site balance;
selectors_abide_overlap.csv
    share of one method's samples that another keeps too;
selectors_abide.json
    how they were made;
selectors_overlap.png
    the overlap as a picture.

Never signals or sample ids.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sclcs._core import plain, show_progress, versions
from sclcs.cohort import Cohort, CoreSet, read_scans
from sclcs.coresets import SELECTORS, select

DOCS = Path(__file__).resolve().parents[1] / "docs"
CASE = "ASD"
RANDOM_DRAWS = 200


def main() -> None:
    """Choose, measure, write."""
    options = _options()
    cohort = read_scans(options.source).to_cohort(
        window=70, stride=35, truncate=210, drop_first=1, on_bad="skip"
    )
    with show_progress():
        cores = choose_all(cohort, options)
    table = pd.DataFrame([{**key, **measure(cohort, core)} for key, core in cores])
    table = pd.concat([table, random_band(cohort, options.ratio)], ignore_index=True)
    compared = {key["method"]: core for key, core in cores if key["variant"] == "as is"}
    overlap = overlap_table(compared)
    results = DOCS / "results"
    results.mkdir(exist_ok=True)
    table.round(4).to_csv(results / "selectors_abide.csv", index=False)
    overlap.round(4).to_csv(results / "selectors_abide_overlap.csv")
    (results / "selectors_abide.json").write_text(
        json.dumps(plain(_facts(cohort, cores, options)), indent=2) + "\n", encoding="utf-8"
    )
    draw(overlap, options.ratio, DOCS / "_static" / "selectors_overlap.png")
    print(table.round(3).to_string())
    print(overlap.round(2).to_string())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--ratio", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", default=None, help="folder of finished trainings")
    return parser.parse_args()


def choose_all(cohort: Cohort, options: argparse.Namespace) -> list[tuple[dict[str, str], CoreSet]]:
    """Return the core-sets of every method, with density, and with the diagnosis as task."""
    cores = []
    for name, selector in SELECTORS.items():
        learns_labels = selector.needs_training and selector.network == "classifier"
        variants: dict[str, dict[str, Any]] = {"as is": {}}
        if learns_labels:
            variants["task diagnosis"] = {"task": "diagnosis"}
        if learns_labels and selector.can_balance:
            variants["density"] = {"density": True}
        for variant, parameters in variants.items():
            print(f"{name}, {variant}", flush=True)
            if selector.needs_training:
                parameters |= {"epochs": options.epochs, "cache": options.cache}
            core = select(cohort, name, options.ratio, options.seed, **parameters)
            cores.append(({"method": name, "variant": variant}, core))
    return cores


def measure(cohort: Cohort, core: CoreSet) -> dict[str, float]:
    """Return how well a core-set covers subjects, classes and sites."""
    whole = cohort.samples
    chosen = whole.iloc[core.rows(cohort.sample_ids)]
    persons = chosen.drop_duplicates("subject")
    everyone = whole.drop_duplicates("subject")
    cases = int((chosen["diagnosis"] == CASE).sum())
    return {
        "samples": len(chosen),
        "subjects": len(persons),
        "samples_per_subject": len(chosen) / len(persons),
        "class_ratio": cases / (len(chosen) - cases) if cases < len(chosen) else np.inf,
        "site_l1_samples": _l1(chosen["site"], whole["site"]),
        "site_l1_subjects": _l1(persons["site"], everyone["site"]),
    }


def _l1(chosen: pd.Series, whole: pd.Series) -> float:
    shares = [column.value_counts(normalize=True) for column in (chosen, whole)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum())


def random_band(cohort: Cohort, ratio: float) -> pd.DataFrame:
    """Return what random core-sets give: mean and the 5th and 95th percentile."""
    draws = pd.DataFrame(
        [measure(cohort, select(cohort, "random", ratio, seed)) for seed in range(RANDOM_DRAWS)]
    )
    rows = {
        "random, mean": draws.mean(),
        "random, 5 %": draws.quantile(0.05),
        "random, 95 %": draws.quantile(0.95),
    }
    table = pd.DataFrame(rows).T.reset_index(names="method")
    table.insert(1, "variant", f"{RANDOM_DRAWS} draws")
    return table


def overlap_table(cores: dict[str, CoreSet]) -> pd.DataFrame:
    """Return the share of common samples of every two core-sets of the same size."""
    sets = {name: set(core.sample_ids) for name, core in cores.items()}
    return pd.DataFrame(
        {a: {b: len(sets[a] & sets[b]) / len(sets[a]) for b in sets} for a in sets}
    ).rename_axis("method")


def draw(overlap: pd.DataFrame, ratio: float, path: Path) -> None:
    """Draw the overlap as a map; white is what chance gives."""
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    names = list(overlap.columns)
    figure = Figure(figsize=(8.5, 7), layout="constrained")
    axes = figure.subplots()
    values = overlap.to_numpy()
    image = axes.imshow(values, cmap="RdBu_r", norm=TwoSlopeNorm(ratio, 0, 1))
    for row, column in np.ndindex(values.shape):
        colour = "white" if values[row, column] > 0.7 else "black"
        axes.text(
            column,
            row,
            f"{100 * values[row, column]:.0f}",
            ha="center",
            va="center",
            fontsize=7,
            color=colour,
        )
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set_title(f"Common samples of two core-sets, % (chance: {100 * ratio:.0f})")
    figure.colorbar(image, ax=axes, shrink=0.7)
    figure.savefig(path, dpi=110)


def _facts(
    cohort: Cohort, cores: list[tuple[dict[str, str], CoreSet]], options: argparse.Namespace
) -> dict[str, Any]:
    trainings = {}
    for key, core in cores:
        facts = core.parameters.get("training")
        if facts:
            learner = core.parameters.get("task", f"encoder {core.parameters.get('preset')}")
            trainings.setdefault(learner, {"first_user": key["method"], **facts})
    return {
        "command": f"python tools/compare_selectors.py {options.source.name} "
        f"--epochs {options.epochs} --ratio {options.ratio:g} --seed {options.seed}",
        "samples": len(cohort),
        "subjects": cohort.n_subjects,
        "epochs": options.epochs,
        "ratio": options.ratio,
        "seed": options.seed,
        "trainings": trainings,
        "versions": versions(),
    }


if __name__ == "__main__":
    main()
