"""Pages about selection methods, made from the registry and from the saved comparison."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from markdown_table import table

from sclcs.selection import SELECTORS, Selector
from sclcs.selection.classifier_training import TRAINING
from sclcs.selection.scored import DENSITY

RESULTS = Path(__file__).resolve().parents[1] / "results" / "selectors_abide.csv"
YES = {True: "yes", False: ""}
PARAMETERS_INTRODUCTION = (
    "From the registry; the same: `sclcs select --list --method NAME`. Pass them as "
    "`select(cohort, method, name=value)` or `--param name=value`.\n"
)
SHARED = {
    "Training of the classifier": ("aum", TRAINING),
    "Density balancing": ("aum", DENSITY),
}


def selectors_table() -> str:
    """Return all methods with their properties."""
    header = ["method", "keeps", "end", "trains", "labels", "density", "nested", "reference"]
    rows = [
        (
            f"`{s.name}`",
            s.summary,
            "" if s.direction == "none" else s.direction,
            YES[s.needs_training],
            YES[s.needs_labels],
            YES[s.can_balance],
            YES[s.nested],
            s.reference,
        )
        for s in SELECTORS.values()
    ]
    return table(header, rows)


def parameters_page() -> str:
    """Return every parameter of every method, shared ones once."""
    parts = [
        "# Parameters of selection methods\n",
        PARAMETERS_INTRODUCTION,
    ]
    for title, (example, group) in SHARED.items():
        parts += [f"\n## {title}\n", _parameters(SELECTORS[example], group)]
    for selector in SELECTORS.values():
        own = [name for name in selector.parameters if name not in _shared(selector)]
        rest = [title for title, (_, group) in SHARED.items() if set(group) <= _shared(selector)]
        parts += [f"\n## {selector.name}\n", f"{selector.summary} {selector.reference}.\n"]
        if own:
            parts.append(_parameters(selector, own))
        if rest:
            parts.append(f"And: {', '.join(rest).lower()} (above).\n")
    return "\n".join(parts)


def _shared(selector: Selector) -> set[str]:
    names: set[str] = set()
    for _, group in SHARED.values():
        if set(group) <= set(selector.parameters):
            names |= set(group)
    return names


def _parameters(selector: Selector, names: Iterable[str]) -> str:
    rows = [
        (
            f"`{name}`",
            "" if selector.parameters[name] is None else f"`{selector.parameters[name]}`",
            selector.parameter_help[name],
        )
        for name in names
    ]
    return table(["parameter", "default", "meaning"], rows)


def comparison_table() -> str:
    """Return what every method kept on the real cohort."""
    found = pd.read_csv(RESULTS)
    columns = {
        "subjects": "subjects",
        "samples_per_subject": "windows per subject",
        "class_ratio": "ASD / control",
        "site_l1_samples": "site L1, samples",
        "site_l1_subjects": "site L1, subjects",
    }
    rows = [
        (
            f"`{row['method']}`" if row["method"] in SELECTORS else row["method"],
            "" if row["variant"] == "as is" else row["variant"],
            f"{row['subjects']:.0f}",
            *(f"{row[name]:.2f}" for name in list(columns)[1:]),
        )
        for row in found.to_dict(orient="records")
    ]
    return table(["method", "variant", *columns.values()], rows)
