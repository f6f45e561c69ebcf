"""Pictures of what a score is made of: similarities of pairs, and the balance of a core-set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sclcs.benchmark import CRITERIA, FCSource, KernelView, make_kernel, make_question
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError
from sclcs.report.style import BLUE, INK, MUTED, ORANGE, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_balance", "draw_similarities"]

BINS = 80
MOST_BARS = 12


def draw_similarities(
    source: FCSource, spi: str, task: str = "subject", coreset: CoreSet | None = None
) -> Figure:
    """Draw the similarities of within and between pairs for one operator.

    Parameters
    ----------
    source : FCSource
        Where the matrices come from.
    spi : str
        The operator.
    task : str
        ``"subject"`` or a label column.
    coreset : CoreSet, optional
        Only these samples.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    question = make_question(source.samples, task, coreset, n_timepoints=source.n_timepoints)
    if question.degenerate:
        raise InputError(f"There is nothing to draw: {question.degenerate}")
    design = question.pairs
    view = KernelView(make_kernel(source.matrices(spi)).take(question.rows), question)
    vectors, d = view.of_pairs, float(CRITERIA["cohen_d"].compute(view)[0])
    kinds = design.pair_kinds.copy()
    kinds[~vectors.usable] = -1
    kinds[:, ~vectors.usable] = -1
    kinds[np.tril_indices(len(design))] = -1  # each pair once
    groups = (
        ("between", vectors.similarity[kinds == 0], MUTED),
        ("within", vectors.similarity[kinds == 1], BLUE),
    )
    low = min(float(values.min()) for _, values, _ in groups)
    high = max(float(values.max()) for _, values, _ in groups)
    bins = np.linspace(low, high, BINS).tolist()
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for name, values, colour in groups:
        label = f"{name} pairs ({len(values):,}), mean {values.mean():.3f}"
        axes.hist(values, bins=bins, density=True, color=colour, alpha=0.6, label=label)
        axes.axvline(float(values.mean()), ymax=0.78, color=colour, linewidth=1.5)
    axes.set_yticks([])
    axes.set_ylim(top=axes.get_ylim()[1] * 1.25)  # room for the legend
    axes.legend(frameon=False, fontsize=8, labelcolor=INK, loc="upper left")
    finish(axes, spi, f"similarity of two samples (task {task})", "density")
    figure.suptitle(f"Cohen's d {d:.3f}", fontsize=10, color=MUTED)
    return figure


def draw_balance(found: Mapping[str, Any]) -> Figure:
    """Draw the shares of every label in core-set and cohort as bars.

    Parameters
    ----------
    found : mapping
        What :func:`sclcs.benchmark.balance` returned.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    columns = {name: rows for name, rows in found["shares"].items() if len(rows) > 1}
    if not columns:
        raise InputError("No label column has two values, so there is no balance to draw.")
    sizes = [min(len(rows), MOST_BARS) + 1.2 for rows in columns.values()]
    figure = Figure(figsize=(7, 0.9 + 0.42 * sum(sizes)), layout="constrained")
    panels = figure.subplots(len(columns), 1, squeeze=False, height_ratios=sizes, sharex=True)
    for axes, (name, rows) in zip(panels[:, 0], columns.items(), strict=True):
        _bars(axes, rows)
        l1 = found[f"{name}_l1_subjects"]
        finish(axes, f"{name} (L1 {l1:.3f} over subjects)")
    panels[0, 0].legend(frameon=False, fontsize=8, labelcolor=INK, loc="best")
    panels[-1, 0].set_xlabel("share of subjects, %", color=MUTED, fontsize=9)
    covered = 100 * found["subject_coverage"]
    figure.suptitle(
        f"{found['samples']} samples of {found['subjects']} subjects ({covered:.0f} % of them), "
        f"{found['samples_per_subject']:.2f} samples per subject",
        fontsize=10,
        color=MUTED,
    )
    return figure


def _bars(axes: Axes, rows: Mapping[str, Mapping[str, float]]) -> None:
    largest = sorted(rows, key=lambda value: -rows[value]["cohort_subjects"])[:MOST_BARS]
    names = [name for name in rows if name in set(largest)]
    places = np.arange(len(names))
    for shift, where, label, colour in (
        (-0.19, "cohort_subjects", "cohort", MUTED),
        (0.19, "coreset_subjects", "core-set", ORANGE),
    ):
        shares = [100 * rows[name][where] for name in names]
        axes.barh(places + shift, shares, height=0.36, color=colour, label=label)
    axes.set_yticks(places, [str(name) for name in names])
    axes.invert_yaxis()
