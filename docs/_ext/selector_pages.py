"""Pages about selection methods, made from the registry and from the saved comparison."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from markdown_table import table

from sclcs._core import Settings
from sclcs.coresets import SELECTORS, ClassifierParameters
from sclcs.coresets.scored import DensityParameters

RESULTS = Path(__file__).resolve().parents[1] / "results" / "selectors_abide.csv"
YES = {True: "yes", False: ""}
PARAMETERS_INTRODUCTION = (
    "From the registry; the same: `sclcs select --list --method NAME`. Pass them as "
    "`select(cohort, method, name=value)` or `--param name=value`.\n"
)
SHARED = {
    "Training of the classifier": ClassifierParameters,
    "Density balancing": DensityParameters,
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
    for title, model in SHARED.items():
        parts += [f"\n## {title}\n", _parameters(model, model.names())]
    for selector in SELECTORS.values():
        model = selector.parameters
        shared = {title: group for title, group in SHARED.items() if issubclass(model, group)}
        known = {name for group in shared.values() for name in group.model_fields}
        own = [name for name in model.names() if name not in known or _differs(model, name)]
        parts += [f"\n## {selector.name}\n", f"{selector.summary} {selector.reference}.\n"]
        if own:
            parts.append(_parameters(model, own))
        if shared:
            parts.append(f"And: {', '.join(shared).lower()} (above).\n")
    return "\n".join(parts)


def _differs(model: type[Settings], name: str) -> bool:
    """Say whether a method has another default than the group that it shares a parameter with."""
    groups = [group for group in SHARED.values() if name in group.model_fields]
    return model.defaults()[name] not in [group.defaults()[name] for group in groups]


def _parameters(model: type[Settings], names: Iterable[str]) -> str:
    defaults, helps, expected = model.defaults(), model.helps(), model.expected()
    rows = [(f"`{name}`", _shown(defaults[name]), expected[name], helps[name]) for name in names]
    return table(["parameter", "default", "expected", "meaning"], rows)


def _shown(default: object) -> str:
    if default is None:
        return ""
    return f"`{','.join(map(str, default)) if isinstance(default, list) else default}`"


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
