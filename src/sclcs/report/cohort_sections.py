"""Who is in the core-set: classes, sites, subjects and windows against the cohort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from sclcs._core import SclcsError, track
from sclcs.cohort import class_columns, number_columns
from sclcs.coresets import TrainedEncoder
from sclcs.report.answers import task_answer
from sclcs.report.brain_figure import brain_image, known_coordinates
from sclcs.report.drawing import (
    Axis,
    Drawing,
    axis_over,
    draw_ruler,
    matrix_data,
    percent,
    short,
    strongest,
    tick_label,
)
from sclcs.report.page import Content
from sclcs.report.parts import RunParts
from sclcs.spi import catalogue, operator_name
from sclcs.stats import balance, case_and_control
from sclcs.store import FCStore

__all__ = [
    "class_means",
    "composition_section",
    "connectivity_section",
    "paper_section",
    "training_section",
]


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
    step = store.block_size(spi)
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


BINS = 40
HEIGHT = 150
SHOWN_EPOCHS = 4
CUT = 0.995  # a few samples move very much; the picture ends before them


def training_section(run: RunParts) -> Content | None:
    """Make the section; None if no encoder was trained."""
    training = run.encoder
    if training is None:
        return None
    chosen = set() if run.core is None else set(run.core.sample_ids)
    kept = np.array([name in chosen for name in training.sample_ids])
    maps, no_maps = _maps(run, training)
    return Content(
        "training.jinja",
        {
            "epochs": training.settings.epochs,
            "seed": training.seed,
            "scores": _histogram(training.scores, kept),
            "curves": _curves(training),
            "maps": maps,
            "no_maps": no_maps,
            "seconds": training.info.get("seconds"),
        },
    )


def paper_section(run: RunParts) -> Content | None:
    """Make the section of the demo's second part; None in all other runs."""
    facts = run.folder.core_sets()
    if facts is None:
        return None
    axis = Axis(0.0, 1.0)
    tasks = []
    for task, found in facts["tasks"].items():
        drawing = Drawing(28, f"nDCG@10 for {task}: the core-set and random draws of its size")
        drawing.line(0, 14, 1, 14, "grid")
        known = [value for value in found["random"] if value is not None]
        for value in known:
            drawing.dot(axis.place(value), 14, 4, "bar cohort see-through", f"random: {value:.2f}")
        if found["ndcg@10"] is not None:
            value = found["ndcg@10"]
            drawing.dot(axis.place(value), 14, 6, "bar core", f"{facts['method']}: {value:.2f}")
        mean = sum(known) / len(known) if known else None
        tasks.append(
            {"task": task, "ours": found["ndcg@10"], "random": mean, "draws": len(known)}
            | {"picture": drawing.markup()}
        )
    picture = _histogram(np.array(facts["scores"], dtype=float), np.array(facts["kept"]))
    return Content(
        "paper.jinja", facts | {"tasks": tasks, "ruler": draw_ruler(axis), "sps": picture}
    )


def _histogram(scores: Floats, kept: NDArray[np.bool_]) -> dict[str, Any]:
    known = np.isfinite(scores)
    last = float(np.quantile(scores[known], CUT))
    first = float(scores[known].min())
    edges = np.linspace(first, max(last, first + 1e-12), BINS + 1)
    drawing = Drawing(HEIGHT, "Histogram of structural perturbation scores: cohort and core-set")
    shares = []
    for mask, kind in ((known, "bar cohort"), (known & kept, "bar core see-through")):
        counts = np.histogram(np.clip(scores[mask], first, edges[-1]), edges)[0]
        shares.append((counts / max(counts.sum(), 1), counts, kind))
    highest = max(float(share.max()) for share, _, _ in shares) or 1.0
    for share, counts, kind in shares:
        for place in np.flatnonzero(counts):
            height = HEIGHT * float(share[place]) / highest
            ends = f"{short(edges[place])} to {short(edges[place + 1])}"
            tip = f"{counts[place]} samples with a score of {ends}"
            drawing.bar((place / BINS, HEIGHT - height), (0.94 / BINS, height), kind, tip)
    beyond = int((scores[known] > edges[-1]).sum())
    axis = Axis(first, float(edges[-1]))
    return {"picture": drawing.markup(), "ruler": draw_ruler(axis), "beyond": beyond}


def _curves(training: TrainedEncoder) -> list[dict[str, Any]]:
    epochs = training.history["epoch"].to_numpy(dtype=float)
    found = []
    for name, title in (("loss", "Contrastive loss"), ("perturbation", "Mean perturbation")):
        values = training.history[name].to_numpy(dtype=float)
        known = np.isfinite(values)
        if known.sum() < 2:
            continue
        across = Axis(float(epochs[known].min()), float(epochs[known].max()))
        down = axis_over(values[known].tolist())
        drawing = Drawing(HEIGHT, f"{title} by epoch")
        for place, value in down.ticks(4):
            drawing.line(0, HEIGHT * (1 - place), 1, HEIGHT * (1 - place), "grid")
            drawing.text(0.995, HEIGHT * (1 - place) - 3, tick_label(value), "tick halo", "end")
        drawing.curve(
            [across.place(value) for value in epochs[known]],
            [1 - down.place(value) for value in values[known]],
            "curve",
        )
        last = float(values[known][-1])
        found.append(
            {"title": title, "picture": drawing.markup(), "ruler": draw_ruler(across), "last": last}
        )
    return found


def _maps(run: RunParts, training: TrainedEncoder) -> tuple[list[dict[str, Any]], str]:
    """Return the maps of the steadiest and the least steady sample, or why there are none."""
    if not training.snapshots:
        return [], "The run kept no weights, so attention maps cannot be drawn."
    if run.cohort is None or run.cohort.fingerprint != training.fingerprint:
        return (
            [],
            "The cohort is no longer where the run found it, so attention maps cannot be drawn.",
        )
    finite = np.flatnonzero(np.isfinite(training.scores))
    order = finite[np.argsort(training.scores[finite], kind="stable")]
    epochs = sorted(training.snapshots)
    places = np.unique(np.linspace(0, len(epochs) - 1, min(SHOWN_EPOCHS, len(epochs))).round())
    rows = []
    for words, row in (("steadiest", int(order[0])), ("least steady", int(order[-1]))):
        sample = training.sample_ids[row]
        try:
            stack = [training.maps(run.cohort, [sample], epochs[int(place)])[0] for place in places]
        except SclcsError as error:  # torch is not installed here
            return [], f"Attention maps need torch: {error}"
        low, high = np.quantile(np.stack(stack), [1 - CUT, CUT]).tolist()
        rows.append(
            {
                "words": words,
                "sample": sample,
                "score": float(training.scores[row]),
                "maps": [
                    {
                        "epoch": epochs[int(place)],
                        "data": matrix_data(values, list(run.cohort.regions), ends=(low, high)),
                    }
                    for place, values in zip(places, stack, strict=True)
                ],
            }
        )
    return rows, ""
