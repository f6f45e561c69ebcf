"""Shorter windows, and none: the same scans cut into windows of 50 time points every 45, or whole.

Whole scans give the paper's static networks. A subject has one, so that they are ranked for labels
only, and no encoder can be trained on them: rankings on the full cohort are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper.agreement import STATIC, agreement_and_yardsticks, agreement_rows, yardstick_cells
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

NOT_LABELS = ("subject", "window", "scan", "start")


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
    labels = [name for name in cohort.samples.columns if name not in NOT_LABELS]
    signals, subjects, names, rows = [], [], [], []
    rows_of = pd.Series(np.arange(len(cohort)), index=cohort.samples.index)
    for scan, windows in cohort.samples.groupby("scan", sort=False):
        starts = windows["start"].to_numpy(dtype=np.int64)
        members = rows_of[windows.index].to_numpy()
        signals.append(_joined(str(scan), np.asarray(cohort.signals[members]), starts))
        subjects.append(str(windows["subject"].iloc[0]))
        names.append(str(scan))
        rows.append(windows.iloc[0])
    scans = Scans(
        [
            Scan(name, who, lambda whole=whole: whole, {label: row[label] for label in labels})  # type: ignore[misc]
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
    for window in order:
        begin = int(starts[window]) - first
        whole[:, begin : begin + length] = windows[window]
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
    return {"usual": setup, "short": _recut_setup(setup, *other_cut(setup))}


def _recut_setup(setup: Setup, length: int, stride: int) -> Setup:
    store = setup.fc.with_name(f"{setup.fc.name}-{length}x{stride}")
    return Setup(recut(setup.cohort, length, stride), store, setup.options)


def _whole_scans(setup: Setup) -> Setup:
    starts = setup.cohort.samples["start"]
    length = int(starts.max() - starts.min()) + setup.cohort.n_timepoints
    return _recut_setup(setup, length, length)


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
    both = [{"windows": cut, **cell} for cut in ("usual", "short") for cell in cells]
    labels = [task for task in options.tasks if task != "subject"]
    static = [{"task": task, "method": STATIC, "ratio": 0.0, "repeat": 0} for task in labels]
    return [*both, *({"windows": "usual", **cell} for cell in static)]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    for name, cut in _cuts(setup).items():
        own = [cell for cell in cells if cell["windows"] == name and cell["method"] != STATIC]
        if own:
            yield from agreement_and_yardsticks(cut, own, (cut.scorer, cut.sound_scorer))
    static = [cell for cell in cells if cell["method"] == STATIC]
    if static:
        whole = _whole_scans(setup)
        pairs = ((setup.scorer, whole.scorer), (setup.sound_scorer, whole.sound_scorer))
        for cell in static:
            scores = [[scorer.full(cell["task"]) for scorer in pair] for pair in pairs]
            yield cell, [row for windows, scans in scores for row in agreement_rows(windows, scans)]


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ["windows", "task", "method", "ratio"]
    table = summarise_measures(measured, keys)
    names = {"table2": "usual", "table11": "short"}
    published = pd.concat([paper_agreement(name, windows=cut) for name, cut in names.items()])
    return beside_paper(table, published, ["windows", "task", "method", "ratio", "measure"])


def _tables(summary: pd.DataFrame) -> list[Table]:
    return agreement_tables(summary, ("windows", "task", "score", "gain"), _caption)


def _caption(group: dict[str, str]) -> str:
    length, stride = PAPER_CUT if group["windows"] == "usual" else OTHER_CUT
    return f"Windows {length}/{stride} ({group['windows']}), {group['task']}"


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
        version=2,
    )
)
