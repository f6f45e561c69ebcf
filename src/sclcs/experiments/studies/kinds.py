"""Does the tool find what is there, in four kinds of simulated cohorts, and say when it cannot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sclcs.core.progress import track
from sclcs.experiments.figures import grid
from sclcs.experiments.kinds.cohorts import KINDS
from sclcs.experiments.kinds.measures import CASES, FULL, TOY, measure_cohort
from sclcs.experiments.registry import Experiment, Measured, Outcome, register
from sclcs.experiments.setup import Cell, Row, Setup
from sclcs.experiments.tables import Table, number
from sclcs.report.style import BLUE, ORANGE, finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDY"]

MEASURES = (
    "exact_found", "exact_cover", "exact_holds", "exact_size", "run_found", "run_cover",
    "run_holds", "regret", "panel", "confirmed", "spent",
)  # fmt: skip


def _cells(setup: Setup) -> list[Cell]:
    # A run that is stopped has some cohorts of every kind.
    return [{"case": name, "cohort": k} for k in range(setup.options.draws) for name in CASES]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    effort, seed = (TOY if setup.options.toy else FULL), setup.options.seed
    for cell in track(cells, "simulated cohorts"):
        yield cell, [measure_cohort(CASES[cell["case"]], cell["cohort"], seed, effort)]


def _operators(_: Setup) -> Sequence[str]:
    return list(dict.fromkeys(name for case in CASES.values() for name in case.operators))


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    rows: list[Row] = []
    for name in CASES:
        part = measured[measured["case"] == name]
        row: Row = {"case": name, "cohorts": len(part)}
        for measure in MEASURES:
            values = part[measure].dropna() if measure in part else pd.Series(dtype=float)
            row[measure] = values.mean()
            row[f"{measure}_n"] = len(values)
        row["regret_worst"] = part["regret"].max() if "regret" in part else math.nan
        rows.append(row)
    return pd.DataFrame(rows)


def _tables(summary: pd.DataFrame) -> list[Table]:
    records = [{str(k): v for k, v in row.items()} for row in summary.to_dict(orient="records")]
    return [_verdicts(records), _coverage(records)]


def _rate(row: dict[str, Any], name: str) -> str:
    """Return a share in percent, with its standard error if it counts cohorts."""
    rate, count = float(row[name]), int(row[f"{name}_n"])
    if count == 0:
        return "–"
    error = math.sqrt(max(rate * (1 - rate), 0.0) / count)
    return f"{100 * rate:.0f} ± {100 * error:.0f} % of {count}"


def _right(name: str) -> str:
    return "5 % by design" if not _has_effect(name) else "all"


def _has_effect(name: str) -> bool:
    return CASES[name].kind.has_effect


def _verdicts(records: list[dict[str, Any]]) -> Table:
    rows = [
        [
            row["case"],
            number(row["cohorts"], 0),
            _right(row["case"]),
            _rate(row, "exact_found"),
            _rate(row, "run_found"),
            f"{number(100 * row['regret'], 0)} ({number(100 * row['regret_worst'], 0)}) %",
            number(row["panel"], 0),
            number(row["confirmed"], 1),
            f"{number(100 * row['spent'], 0)} %",
        ]
        for row in records
    ]
    caption = (
        "How often “there is an effect” is said (family-wise 5 %): by the ranking of all operators "
        "on everybody, and by a run that may spend 30 % of its cost. Regret: what the run's choice "
        "loses on everybody, of best minus median, mean (worst); where a run says that there is no "
        "effect, it is that of the best operator among those it computed. Known: operators on "
        "everybody from the start; then how many were confirmed, and what was spent."
    )
    header = ["kind", "cohorts", "right", "exact: found", "run: found", "regret (worst)"]
    return Table("verdicts", caption, [*header, "known", "confirmed", "spent"], rows)


def _coverage(records: list[dict[str, Any]]) -> Table:
    rows = [
        [
            row["case"],
            f"{number(100 * row['exact_cover'], 1)} %",
            _rate(row, "exact_holds"),
            number(row["exact_size"], 1),
            f"{number(100 * row['run_cover'], 1)} %" if row["run_cover_n"] else "–",
            _rate(row, "run_holds"),
        ]
        for row in records
    ]
    caption = (
        "Coverage by kind of cohort. Exact: 95 % intervals of all operators that hold the score of "
        f"the population ({FULL.truth} subjects), and the set of those that could be the best "
        "(90 %) that holds the best of the population, with its size. Run: 95 % intervals of "
        "estimated operators that hold their exact score, and the run's set that holds the best "
        "of the cohort; over the cohorts in which the run names an effect."
    )
    header = ["kind", "exact: intervals", "exact: set holds best", "size"]
    return Table("coverage", caption, [*header, "run: intervals", "run: set holds best"], rows)


def _draw(outcome: Outcome) -> Figure:
    summary = outcome.summary
    figure, axes = grid(1, 2, (4.6, 2.8))
    places = np.arange(len(summary))
    left, right = axes[0]
    for panel, names, title in (
        (left, ("exact_found", "run_found"), "“There is an effect”"),
        (right, ("exact_cover", "run_cover"), "95 % intervals hold the truth"),
    ):
        for name, colour in zip(names, (BLUE, ORANGE), strict=True):
            label = "exact" if colour == BLUE else "run"
            panel.plot(100 * summary[name], places, "o", color=colour, label=label)
        panel.set_yticks(places, list(summary["case"]), fontsize=7)
        panel.invert_yaxis()
        panel.set_xlim(-3, 103)
        finish(panel, title, "%")
    left.legend(frameon=False, fontsize=7)
    return figure


STUDY = register(
    Experiment(
        name="kinds",
        title=f"Is the effect found in {len(KINDS)} kinds of cohorts, and is it said when not?",
        paper="not in the paper",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
        operators=_operators,
    )
)
