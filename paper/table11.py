"""Shorter windows: the same scans cut into windows of 50 time points every 45."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper.agreement import agreement_and_yardsticks, yardstick_cells
from paper.options import PAPER_METHODS
from paper.setup import Cell, Experiment, Measured, Outcome, Setup, register
from paper.summary import (
    agreement_panels,
    agreement_tables,
    beside_paper,
    paper_agreement,
    summarise_measures,
    usual,
)
from paper.table9 import LEFT_OUT
from paper.tables import Table
from sclcs._core import InputError
from sclcs.cohort import Cohort, Scan, Scans

NOT_FACTS = ("subject", "window", "scan", "start")


def recut(cohort: Cohort, length: int, stride: int) -> Cohort:
    """Cut the scans of a cohort into other windows.

    Overlapping or adjoining windows hold every time point of their scan, so that it can be
    put back together without the original files.

    Parameters
    ----------
    cohort : Cohort
        With the columns ``scan`` and ``start``; windows without gaps, not standardised.
    length, stride : int
        Of the new windows.
    """
    missing = [name for name in ("scan", "start") if name not in cohort.samples.columns]
    if missing:
        raise InputError(
            f"Cutting scans again needs the columns scan and start, but {', '.join(missing)} is "
            "missing; import the cohort again."
        )
    if cohort.provenance.get("zscore", "none") == "window":
        raise InputError(
            "The windows were standardised one by one, so scans cannot be put back together; "
            "import the cohort with --zscore none."
        )
    facts = [name for name in cohort.samples.columns if name not in NOT_FACTS]
    signals, subjects, names, rows = [], [], [], []
    places = pd.Series(np.arange(len(cohort)), index=cohort.samples.index)
    for scan, windows in cohort.samples.groupby("scan", sort=False):
        starts = windows["start"].to_numpy(dtype=np.int64)
        members = places[windows.index].to_numpy()
        signals.append(_joined(str(scan), np.asarray(cohort.signals[members]), starts))
        subjects.append(str(windows["subject"].iloc[0]))
        names.append(str(scan))
        rows.append(windows.iloc[0])
    scans = Scans(
        [
            Scan(name, who, lambda whole=whole: whole, {fact: row[fact] for fact in facts})  # type: ignore[misc]
            for name, who, whole, row in zip(names, subjects, signals, rows, strict=True)
        ],
        cohort.regions,
        cohort.tr,
    )
    return scans.to_cohort(window=length, stride=stride)


def _joined(
    scan: str, windows: NDArray[np.float32], starts: NDArray[np.int64]
) -> NDArray[np.float32]:
    order = np.argsort(starts)
    n_regions, length = windows.shape[1:]
    first, end = int(starts[order[0]]), int(starts[order[-1]]) + length
    whole = np.full((n_regions, end - first), np.nan, dtype=np.float32)
    for place in order:
        begin = int(starts[place]) - first
        whole[:, begin : begin + length] = windows[place]
    if np.isnan(whole).any():
        raise InputError(
            f"The windows of scan {scan} leave gaps, so it cannot be put back together; cut the "
            "cohort with a stride of at most the window length."
        )
    return whole


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
            yield from agreement_and_yardsticks(cut, own, (cut.scorer,))


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ["windows", "task", "method", "ratio"]
    table = summarise_measures(measured, keys)
    names = {"table2": "usual", "table11": "short"}
    published = pd.concat([paper_agreement(name, windows=cut) for name, cut in names.items()])
    return beside_paper(table, published, ["windows", "task", "method", "ratio", "measure"])


def _tables(summary: pd.DataFrame) -> list[Table]:
    return agreement_tables(summary, ("windows", "task", "score", "gain"), _caption)


def _caption(facts: dict[str, str]) -> str:
    length, stride = PAPER_CUT if facts["windows"] == "usual" else OTHER_CUT
    return f"Windows {length}/{stride} ({facts['windows']}), {facts['task']}"


def _draw(outcome: Outcome) -> Figure:
    return agreement_panels(usual(outcome.summary, "ndcg@10"), "windows")


EXPERIMENT = register(
    Experiment(
        name="table11",
        title="Does the length of the windows matter?",
        paper="Table 11 (robustness to window size)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
