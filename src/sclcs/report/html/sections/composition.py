"""Who is in the core-set: classes, sites, subjects and windows against the cohort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from sclcs.benchmark.balance import balance
from sclcs.cohort.table import class_columns, number_columns
from sclcs.report.html.formats import percent
from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Content
from sclcs.report.html.svg import Axis, Drawing

__all__ = ["composition_section"]

MOST_VALUES = 20
MOST_NUMBERS = 6  # a column of numbers with more different values is a covariate


def composition_section(run: RunParts) -> Content | None:
    """Make the section; None before the core-set was chosen."""
    if run.core is None:
        return None
    facts: dict[str, Any] = {"core": run.core, "columns": [], "balance": None}
    facts |= {"windows": [], "numbers": []}
    facts["parameters"] = {
        name: value
        for name, value in sorted(run.core.parameters.items())
        if not isinstance(value, dict | list)
    }
    everybody = run.everybody
    if everybody is not None:
        found = balance(everybody, run.core, _drawn(everybody.samples))
        facts["balance"] = found
        columns = [
            _column(name, rows, found[f"{name}_l1_subjects"])
            for name, rows in found["shares"].items()
            if len(rows) > 1
        ]
        facts["columns"] = sorted(columns, key=lambda column: len(column["lines"]))
        facts["numbers"] = _numbers(everybody.samples, list(run.core.sample_ids))
        facts["windows"] = _windows(everybody.samples, list(run.core.sample_ids))
        facts["cohort_samples"] = len(everybody.samples)
        facts["cohort_subjects"] = int(everybody.samples["subject"].nunique())
    return Content("composition.jinja", facts)


def _drawn(samples: pd.DataFrame) -> list[str]:
    """Return the label columns; ages in whole years are no classes, however few there are."""
    return [
        name
        for name in class_columns(samples)
        if samples[name].dtype.kind not in "if" or samples[name].nunique() <= MOST_NUMBERS
    ]


def _numbers(samples: pd.DataFrame, chosen: list[str]) -> list[dict[str, Any]]:
    """Return quartiles of the other numbers over subjects, in cohort and core-set."""
    skipped = set(class_columns(samples)) - set(_drawn(samples))
    rows = []
    for name in [*sorted(skipped), *number_columns(samples)]:
        parts = {}
        for where, table in (("cohort", samples), ("core", samples.loc[chosen])):
            values = table.groupby("subject")[name].first().dropna().to_numpy(dtype=float)
            parts[where] = np.percentile(values, [25, 50, 75]).tolist() if values.size else None
        rows.append({"name": name, **parts})
    return rows


def _column(name: str, rows: Mapping[str, Mapping[str, float]], l1: float) -> dict[str, Any]:
    """Return the bars of one label column, the most frequent values if there are many."""
    largest = sorted(rows, key=lambda value: (-rows[value]["cohort_subjects"], value))[:MOST_VALUES]
    shown = [value for value in rows if value in set(largest)]
    highest = max(max(rows[v]["cohort_subjects"], rows[v]["coreset_subjects"]) for v in shown)
    axis = Axis(0.0, highest)
    lines = [
        {
            "value": value,
            "cohort": rows[value]["cohort_subjects"],
            "core": rows[value]["coreset_subjects"],
            "bars": _bars(axis, value, rows[value]),
        }
        for value in shown
    ]
    return {"name": name, "l1": l1, "lines": lines, "hidden": len(rows) - len(shown)}


def _bars(axis: Axis, value: str, shares: Mapping[str, float]) -> Markup:
    drawing = Drawing(22)
    for top, where, kind, words in (
        (2, "cohort_subjects", "bar cohort", "of the cohort's subjects"),
        (12, "coreset_subjects", "bar core", "of the core-set's subjects"),
    ):
        tip = f"{value}: {percent(shares[where], 1)} {words}"
        drawing.bar((0, top), (max(axis.place(shares[where]), 0.002), 8), kind, tip)
    return drawing.markup()


def _windows(samples: pd.DataFrame, chosen: list[str]) -> list[dict[str, Any]]:
    """Count subjects by how many of their windows there are, and how many were chosen."""
    whole = Counter(samples.groupby("subject").size().tolist())
    core = samples.loc[chosen].groupby("subject").size()
    kept = Counter(core.tolist())
    kept[0] = int(samples["subject"].nunique()) - len(core)
    numbers = [int(n) for n in np.unique([*whole, *kept])]
    return [
        {"windows": n, "cohort": whole[n], "core": kept[n]} for n in numbers if whole[n] or kept[n]
    ]
