"""Mean connectivity of the winners on the whole cohort, and how two classes differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.balance import case_and_control
from sclcs.core.progress import track
from sclcs.report.brain_figure import brain_image, known_coordinates
from sclcs.report.html.matrix import matrix_data, strongest
from sclcs.report.html.parts import RunParts
from sclcs.report.html.section import Content
from sclcs.report.html.sections.answer import task_answer
from sclcs.spi.catalogue import catalogue
from sclcs.spi.fc_store import FCStore
from sclcs.spi.names import operator_name

__all__ = ["class_means", "connectivity_section"]

BRAIN_EDGES = 30
MOST_WINNERS = 3  # pictures; every further one costs the reader more than it says

Floats = NDArray[np.float64]


def connectivity_section(run: RunParts) -> Content | None:
    """Make the section; None before the winners were computed on the whole cohort."""
    store = run.whole_matrices
    if store is None:
        return None
    winners = _winners(run, store)
    if not winners and not store.not_kept:
        return None
    shown = [
        _winner(store, spi, tasks)
        for spi, tasks in track(list(winners.items()), "Averaging the winners' matrices")
    ]
    return Content(
        "connectivity.jinja",
        {"winners": shown, "samples": len(store), "regions": len(store.regions)},
    )


def _winners(run: RunParts, store: FCStore) -> dict[str, list[str]]:
    """Return operators and the tasks they are shown for: first of each task, then second, ..."""
    complete = set(store.complete_operators)
    orders = []
    for task in run.tasks:
        found = task_answer(run, task)
        names = [] if found is None else [str(name) for name in found.lines["spi"]]
        orders.append((task, [name for name in names if name in complete]))
    chosen: dict[str, list[str]] = {}
    for place in range(max((len(names) for _, names in orders), default=0)):
        for task, names in orders:
            if place < len(names) and (names[place] in chosen or len(chosen) < MOST_WINNERS):
                chosen.setdefault(names[place], []).append(task)
    return chosen


def _winner(store: FCStore, spi: str, tasks: list[str]) -> dict[str, Any]:
    labels = {task: store.samples[task] for task in tasks if _two_classes(store.samples, task)}
    mean, by_class = class_means(store, spi, labels)
    symmetric = catalogue()["symmetry"].get(spi, "") == "symmetric"
    regions = list(store.regions)
    return {
        "spi": spi,
        "name": operator_name(spi),
        "tasks": tasks,
        "symmetric": symmetric,
        "mean": {
            "data": matrix_data(mean, regions),
            "strongest": strongest(mean, regions, not symmetric),
            "brain": _brain(mean, regions),
        },
        "differences": [
            _difference(task, labels[task], means, regions, symmetric)
            for task, means in by_class.items()
        ],
    }


def _brain(mean: Floats, regions: list[str]) -> str | None:
    """Draw the strongest connections in a glass brain, if the places of the regions are known."""
    places = known_coordinates(regions)
    if places is None:
        return None
    size = np.abs(np.where(np.isfinite(mean), mean, 0.0))
    pairs = np.argwhere(np.triu(np.maximum(size, size.T), 1) > 0)
    value = np.where(size >= size.T, mean, mean.T)  # of two directions the stronger
    order = np.argsort(np.abs(value[pairs[:, 0], pairs[:, 1]]), kind="stable")[-BRAIN_EDGES:]
    return brain_image([(int(a), int(b), float(value[a, b])) for a, b in pairs[order]], places)


def _two_classes(samples: pd.DataFrame, task: str) -> bool:
    return task in samples.columns and samples[task].nunique() == 2


def _difference(
    task: str, labels: pd.Series, means: dict[str, Floats], regions: list[str], symmetric: bool
) -> dict[str, Any]:
    case, control = case_and_control(labels)
    values = means[case] - means[control]
    return {
        "task": task,
        "case": case,
        "control": control,
        "data": matrix_data(values, regions),
        "strongest": strongest(values, regions, not symmetric),
    }


def class_means(
    store: FCStore, spi: str, labels: dict[str, pd.Series]
) -> tuple[Floats, dict[str, dict[str, Floats]]]:
    """Average an operator over all samples, and over the samples of every class.

    Matrices are read block by block, so memory does not grow with the cohort.

    Parameters
    ----------
    store : FCStore
    spi : str
    labels : dict of str to Series
        Label columns of the store's samples.

    Returns
    -------
    mean : array, shape (region, region)
        NaN where no sample has a finite value.
    by_class : dict of str to dict of str to array
        The same by label column and class.
    """
    size = len(store.regions)
    groups: list[tuple[str, str, NDArray[np.bool_]]] = [("", "", np.ones(len(store), dtype=bool))]
    for column, values in labels.items():
        names = values.map(lambda value: None if pd.isna(value) else str(value))
        groups += [
            (column, name, (names == name).to_numpy()) for name in sorted(names.dropna().unique())
        ]
    sums = np.zeros((len(groups), size, size))
    counts = np.zeros((len(groups), size, size), dtype=np.int64)
    step = store.layout.block_size
    for start in range(0, len(store), step):
        rows = np.arange(start, min(start + step, len(store)))
        block = store.matrices(spi, rows).astype(np.float64)
        finite = np.isfinite(block)
        block[~finite] = 0.0
        for number, (_, _, members) in enumerate(groups):
            mask = members[rows]
            sums[number] += block[mask].sum(axis=0)
            counts[number] += finite[mask].sum(axis=0)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    by_class: dict[str, dict[str, Floats]] = {}
    for number, (column, name, _) in enumerate(groups[1:], start=1):
        by_class.setdefault(column, {})[name] = means[number]
    return means[0], by_class
