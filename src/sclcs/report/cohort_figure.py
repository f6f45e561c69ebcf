"""One picture of a cohort."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.lengths import iterate_samples
from sclcs.cohort.table import class_columns
from sclcs.core.seeds import generator
from sclcs.report.style import BLUE, INK, MUTED, ORANGE, check_format, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_cohort", "save_cohort_figure"]

MAX_SUBJECTS = 100  # enough for a histogram; a 50 GB cohort must not be read for a picture


def save_cohort_figure(cohort: Cohort, path: str | os.PathLike[str]) -> Path:
    """Draw a cohort and save the picture (.png, .svg or .pdf)."""
    check_format(path)
    return save_figure(draw_cohort(cohort), path)


def draw_cohort(cohort: Cohort) -> Figure:
    """Draw example signals, mean connectivity, classes by site and sample similarity.

    Parameters
    ----------
    cohort : Cohort
        At most 100 of its subjects, drawn at random but always the same, are read.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    some = _some_subjects(cohort)
    connectivity = np.empty((len(some), some.n_regions, some.n_regions))
    for rows, block in iterate_samples(some.signals, some.lengths):
        connectivity[rows] = _correlations(block.astype(np.float64))
    first = np.asarray(some.signals[0], dtype=np.float64)[:, : some.lengths[0]]
    figure = Figure(figsize=(11, 7.6), layout="constrained")
    axes = figure.subplots(2, 2)
    _draw_signals(axes[0, 0], first, some)
    _draw_connectivity(figure, axes[0, 1], connectivity.mean(axis=0))
    _draw_classes(axes[1, 0], cohort)
    _draw_similarity(axes[1, 1], connectivity, some.samples["subject"].to_numpy())
    figure.suptitle(repr(cohort)[len("Cohort(") : -1], fontsize=11, color=MUTED)
    return figure


def _some_subjects(cohort: Cohort) -> Cohort:
    subjects = cohort.samples["subject"].unique()
    if len(subjects) <= MAX_SUBJECTS:
        return cohort
    chosen = generator(0, "cohort figure").permutation(len(subjects))[:MAX_SUBJECTS]
    return cohort.where(subject=[str(subjects[i]) for i in sorted(chosen)])


def _correlations(signals: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = signals - signals.mean(axis=2, keepdims=True)
    length = np.linalg.norm(centred, axis=2, keepdims=True)
    scaled = centred / np.where(length == 0, 1, length)
    return np.asarray(scaled @ scaled.transpose(0, 2, 1))


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold")
    axes.tick_params(colors=MUTED, labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_signals(axes: Axes, sample: NDArray[np.float64], cohort: Cohort) -> None:
    shown = min(8, len(sample))
    step = cohort.tr or 1.0
    time = np.arange(sample.shape[1]) * step
    spread = sample.std(axis=1)
    scaled = (sample - sample.mean(axis=1, keepdims=True)) / np.where(spread == 0, 1, spread)[
        :, None
    ]
    for row in range(shown):
        axes.plot(time, scaled[row] - 4 * row, color=BLUE, linewidth=1)
    axes.set_yticks([-4 * row for row in range(shown)], cohort.regions[:shown])
    axes.set_xlabel("seconds" if cohort.tr else "time points", color=MUTED, fontsize=9)
    _finish(axes, f"One sample: {cohort.sample_ids[0]}")


def _draw_connectivity(figure: Figure, axes: Axes, mean: NDArray[np.float64]) -> None:
    matrix = mean.copy()
    np.fill_diagonal(matrix, np.nan)
    limit = float(np.nanmax(np.abs(matrix)))
    image = axes.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit)
    bar = figure.colorbar(image, ax=axes, shrink=0.85)
    bar.ax.tick_params(colors=MUTED, labelsize=8)
    axes.set_xlabel("region", color=MUTED, fontsize=9)
    _finish(axes, "Mean correlation between regions")


def _draw_classes(axes: Axes, cohort: Cohort) -> None:
    subjects = cohort.samples.drop_duplicates("subject")
    labels = class_columns(subjects)
    if not labels:
        axes.text(0.5, 0.5, "no label columns", ha="center", color=MUTED)
        axes.set_axis_off()
        return
    rows = "site" if "site" in labels else labels[0]
    split = "diagnosis" if "diagnosis" in labels and rows != "diagnosis" else None
    counts: Any = (
        subjects.groupby([rows, split]).size().unstack(fill_value=0)
        if split
        else subjects.groupby(rows).size().to_frame("subjects")
    )
    start = np.zeros(len(counts))
    places = np.arange(len(counts))
    for name, colour in zip(counts.columns, [BLUE, ORANGE, MUTED, INK] * 8, strict=False):
        axes.barh(places, counts[name], left=start, color=colour, label=str(name), height=0.7)
        start += counts[name].to_numpy()
    axes.set_yticks(places, [str(value) for value in counts.index])
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=8)
    axes.set_xlabel("subjects", color=MUTED, fontsize=9)
    _finish(axes, f"Subjects by {rows}" + (f" and {split}" if split else ""))


def _draw_similarity(
    axes: Axes, connectivity: NDArray[np.float64], subjects: NDArray[np.object_]
) -> None:
    upper = np.triu_indices(connectivity.shape[1], k=1)
    vectors = connectivity[:, upper[0], upper[1]]
    similarity = np.atleast_2d(np.corrcoef(vectors))
    first, second = np.triu_indices(len(vectors), k=1)
    same = subjects[first] == subjects[second]
    pairs = similarity[first, second]
    bins = np.linspace(np.nanmin(pairs), 1, 60).tolist() if len(pairs) else [0.0, 1.0]
    for mask, name, colour in ((~same, "different subjects", MUTED), (same, "same subject", BLUE)):
        if mask.any():
            label = f"{name} (mean {np.nanmean(pairs[mask]):.2f})"
            axes.hist(pairs[mask], bins=bins, density=True, alpha=0.65, color=colour, label=label)
    axes.legend(frameon=False, fontsize=8)
    axes.set_yticks([])
    axes.set_xlabel("correlation of two samples' matrices", color=MUTED, fontsize=9)
    _finish(axes, "How alike two samples are")
