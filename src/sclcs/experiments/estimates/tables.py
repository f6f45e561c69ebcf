"""Tables and picture of the experiment ``estimation``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sclcs.experiments.estimates.bars import bars_table
from sclcs.experiments.estimates.measures import CONFIRMED, MEASURES
from sclcs.experiments.estimates.truth import EVERYBODY, HALF, NO_SCANS, NOTHING
from sclcs.experiments.figures import grid
from sclcs.experiments.tables import Table, number
from sclcs.report.style import BLUE, ORANGE, finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sclcs.experiments.registry import Outcome

__all__ = ["PERMUTED", "draw", "make_tables", "summarise"]

PERMUTED = "permuted"
KEYS = ["task", "score", "given", "known", "method", "ratio"]


def summarise(measured: pd.DataFrame) -> pd.DataFrame:
    """Average over splits and repeats; keep the worst split beside it."""
    rows = []
    for values, part in measured.groupby(KEYS, sort=False, dropna=False):
        facts: dict[str, Any] = dict(zip(KEYS, values, strict=True))
        facts["effect_p"] = part["effect_p"].iloc[0]
        for name in MEASURES:
            if name in part and part[name].notna().any():
                facts[name] = part[name].mean()
        if "ndcg@10" in facts:
            facts["ndcg@10_worst"] = part["ndcg@10"].min()
        rows.append({**facts, "n": len(part)})
    return pd.DataFrame(rows)


def make_tables(summary: pd.DataFrame) -> list[Table]:
    """Return the tables: bars first, then estimates, confirmations and permutations."""
    estimates = summary[summary["method"] != PERMUTED]
    halves, slow = estimates[estimates["known"] == HALF], estimates[estimates["known"] != HALF]
    found = [
        bars_table(summary),
        _estimates(
            "estimates",
            halves,
            "Operators of families that were never computed on everybody, estimated from the "
            "others (random halves of the families). Halves: Kendall between two halves of the "
            "subjects, how well the cohort itself knows the order. Own: weight of the operator's "
            "own score on the core-set. Dropped: share that cannot be among the top five by its "
            "interval; kept: how often the true top five survived that.",
        ),
        _confirmations("confirmations", halves),
    ]
    if len(slow):
        caption = "Slow operators, estimated from the fast set or the panel on everybody."
        found += [_estimates("slow-from-fast", slow, caption), _confirmations("slow", slow)]
    return [*found, _permutations(summary)]


def _criterion(row: dict[Any, Any]) -> list[str]:
    given = "" if row["given"] == NOTHING else f" given {row['given']}"
    return [str(row["task"]), f"`{row['score']}`{given}"]


def _core(row: dict[Any, Any]) -> str:
    known = "" if row["known"] == HALF else f"{row['known']}, "
    if row["method"] == NO_SCANS:
        return f"{known}similarity prior (no scans)"
    if row["method"] == EVERYBODY:
        return f"{known}everybody (limit of geometry)"
    return f"{known}{row['method']} {number(100 * row['ratio'], 0)} %"


def _percent(row: dict[Any, Any], name: str, digits: int = 0) -> str:
    return f"{number(100 * row.get(name, float('nan')), digits)} %"


def _estimates(name: str, rows: pd.DataFrame, caption: str) -> Table:
    header = ["task", "score", "core-set", "nDCG@10 (worst)", "Kendall", "halves", "90 % cover"]
    lines = [
        [
            *_criterion(row),
            _core(row),
            f"{number(row['ndcg@10'], 3)} ({number(row['ndcg@10_worst'], 2)})",
            number(row["kendall"], 2),
            number(row.get("halves_agree", float("nan")), 2),
            number(row["coverage"], 2),
            number(row["own_weight"], 2),
            f"{_percent(row, 'dropped')} (kept {_percent(row, 'kept')})",
        ]
        for row in rows.to_dict(orient="records")
    ]
    return Table(name, caption, [*header, "own", "dropped"], lines)


def _confirmations(name: str, rows: pd.DataFrame) -> Table:
    header = ["task", "score", "core-set", *(f"after {k}" for k in CONFIRMED), "steps to the best"]
    lines = []
    for row in rows.to_dict(orient="records"):
        if not np.isfinite(row.get("regret_0", float("nan"))):
            continue
        cells = [
            f"{_percent(row, f'regret_{k}', 1)} / {_percent(row, f'in_best_set_{k}')} / "
            f"{_percent(row, f'set_holds_best_{k}')}"
            for k in CONFIRMED
        ]
        lines.append([*_criterion(row), _core(row), *cells, number(row["steps_to_best"], 1)])
    caption = (
        "After so many confirmations: regret (of best minus median) / the chosen operator is in "
        "the best set of the whole cohort / the run's own 90 % set holds the true best. Where no "
        "best set is known (predict), only the best itself counts. Steps to the best: "
        f"confirmations until the true best is among the known ({max(CONFIRMED) + 1}: never)."
    )
    return Table(name, caption, header, lines)


def _permutations(summary: pd.DataFrame) -> Table:
    rows = [
        [
            *_criterion(row),
            number(row["effect_p"], 3),
            _percent(row, "says_no_effect", 1),
        ]
        for row in summary[summary["method"] == PERMUTED].to_dict(orient="records")
        if np.isfinite(row["effect_p"])
    ]
    caption = (
        "Family-wise p of the cohort, and how often the run says 'no effect' to permuted ones."
    )
    return Table("permuted", caption, ["task", "score", "p", "says no effect"], rows)


def draw(outcome: Outcome) -> Figure:
    """Draw order and regret of every criterion, with and without scans."""
    part = outcome.summary[outcome.summary["known"] == HALF]
    part = part[part["method"] != PERMUTED]
    names = np.array([" ".join(_criterion(row)) for row in part.to_dict(orient="records")])
    figure, axes = grid(1, 2, (4.8, 3.6))
    for panel, name, title in (
        (axes[0][0], "kendall", "Kendall of unseen families"),
        (axes[0][1], "regret_8", "regret after 8 confirmations"),
    ):
        labels = sorted(set(names))
        for colour, method in ((ORANGE, NO_SCANS), (BLUE, "random")):
            chosen = (part["method"] == method).to_numpy()
            places = [labels.index(label) for label in names[chosen]]
            panel.plot(part.loc[chosen, name], places, "o", color=colour, label=method)
        panel.set_yticks(range(len(labels)), labels, fontsize=7)
        finish(panel, title, "", "")
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure
