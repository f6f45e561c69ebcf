"""Shorter windows: the same scans cut into windows of 50 time points every 45."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from sclcs.experiments.figures import agreement_panels
from sclcs.experiments.options import PAPER_METHODS
from sclcs.experiments.recut import recut
from sclcs.experiments.registry import Experiment, Measured, Outcome, register
from sclcs.experiments.setup import Cell, Setup
from sclcs.experiments.studies.operators import LEFT_OUT
from sclcs.experiments.summary import (
    agreement_tables,
    beside_paper,
    paper_agreement,
    regret_first,
    summarise_measures,
    usual,
)
from sclcs.experiments.tables import Table
from sclcs.experiments.yardsticks import agreement_and_yardsticks, yardstick_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["WINDOWS"]

PAPER_CUT, OTHER_CUT = (70, 35), (50, 45)  # length, stride


def other_cut(setup: Setup) -> tuple[int, int]:
    """Return the other length and stride, in proportion to the cohort's windows."""
    length = setup.cohort.n_timepoints
    return round(OTHER_CUT[0] * length / PAPER_CUT[0]), round(OTHER_CUT[1] * length / PAPER_CUT[0])


def _cuts(setup: Setup) -> dict[str, Setup]:
    """Return the setup of the cohort as it is, and of its scans cut in the other way."""
    length, stride = other_cut(setup)
    other = recut(setup.cohort, length, stride)
    place = setup.fc.with_name(f"{setup.fc.name}-{length}x{stride}")
    return {"usual": setup, "short": Setup(other, place, setup.options)}


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    methods = [name for name in options.methods if name in PAPER_METHODS and name not in LEFT_OUT]
    chosen = [
        {"task": task, "method": method, "ratio": ratio, "repeat": seed}
        for task in options.tasks
        for method in methods or options.methods
        for ratio in options.paper_ratios
        for seed in options.seeds(method)
    ]
    cells = [*chosen, *yardstick_cells(setup)]
    return [{"windows": cut, **cell} for cut in ("usual", "short") for cell in cells]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    for name, cut in _cuts(setup).items():
        own = [cell for cell in cells if cell["windows"] == name]
        if own:
            yield from agreement_and_yardsticks(cut, own, cut.scorer)


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ["windows", "task", "method", "ratio"]
    table = summarise_measures(measured, keys)
    names = {"main": "usual", "windows": "short"}
    published = pd.concat([paper_agreement(name, windows=cut) for name, cut in names.items()])
    return beside_paper(table, published, ["windows", "task", "method", "ratio", "measure"])


def _tables(summary: pd.DataFrame) -> list[Table]:
    return agreement_tables(summary, ("windows", "task", "score", "gain"), _caption)


def _caption(facts: dict[str, str]) -> str:
    length, stride = PAPER_CUT if facts["windows"] == "usual" else OTHER_CUT
    return regret_first(facts) + (
        f"Windows {length}/{stride} ({facts['windows']}); ranking for {facts['task']}, score "
        f"`{facts['score']}`, gain `{facts['gain']}`. In percent: our mean ±std (worst) / the "
        "paper's."
    )


def _draw(outcome: Outcome) -> Figure:
    return agreement_panels(usual(outcome.summary, "ndcg@10"), "windows")


WINDOWS = register(
    Experiment(
        name="windows",
        title="Does the length of the windows matter?",
        paper="Table 11 (robustness to window size)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
