"""What the pictures share: colours that colour-blind readers can tell apart, and small helpers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import InputError, explain_write_errors, generator
from sclcs.cohort import Cohort, CoreSet, class_columns, iterate_samples
from sclcs.spi import KNOWN_BEST
from sclcs.stats import (
    CRITERIA,
    FCSource,
    KernelView,
    Ranking,
    consistency,
    make_kernel,
    make_question,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "FAINT",
    "FORMATS",
    "INK",
    "MUTED",
    "ORANGE",
    "check_format",
    "draw_balance",
    "draw_cohort",
    "draw_rank_rank",
    "draw_ranking",
    "draw_similarities",
    "finish",
    "save_cohort_figure",
    "save_figure",
    "shorten",
]


# Blue and orange differ for every kind of colour blindness, and in grey.
INK, MUTED, FAINT, BLUE, ORANGE = "#1b1f24", "#6b7280", "#e5e7eb", "#2563a8", "#d97706"
FORMATS = {".png", ".svg", ".pdf"}


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: int = 150) -> Path:
    """Save a picture as .png, .svg or .pdf."""
    path = Path(path)
    check_format(path)
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=dpi)
    return path


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuse a file name that is not a picture's, before any work is done."""
    if Path(path).suffix not in FORMATS:
        raise InputError(
            f"A picture is saved as {', '.join(sorted(FORMATS))}, got {Path(path).name!r}."
        )


def finish(axes: Axes, title: str, x: str = "", y: str = "") -> None:
    """Give axes the house's title, labels and ticks."""
    axes.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold")
    axes.set_xlabel(x, color=MUTED, fontsize=9)
    axes.set_ylabel(y, color=MUTED, fontsize=9)
    axes.tick_params(colors=MUTED, labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)


def shorten(name: str, length: int = 44) -> str:
    """Shorten a long operator name in the middle, where the parameters are alike."""
    if len(name) <= length:
        return name
    tail = length // 2 - 1
    return f"{name[: length - tail - 1]}…{name[-tail:]}"


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
        pd.crosstab(subjects[rows], subjects[split])
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


SHOWN = 30
LABELLED = 6


def draw_ranking(ranking: Ranking, shown: int = SHOWN) -> Figure:
    """Draw the best operators as dots with the intervals of score and rank.

    Parameters
    ----------
    ranking : Ranking
        Equivalent operators are one line.
    shown : int
        How many lines.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    table = ranking.groups
    scored = table[table["score"].notna()]
    if scored.empty:
        raise InputError(f"No operator has a score, so there is nothing to draw: {_why(table)}")
    top = scored.head(shown)
    places = np.arange(len(top))
    with_intervals = bool(top["low"].notna().any())
    figure = Figure(figsize=(10, 1.6 + 0.23 * len(top)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True, width_ratios=[1.6, 1], squeeze=False)[0]
    if ranking.ranks_only:  # scores and intervals are no effects there
        top = top.assign(score=np.nan, low=np.nan, high=np.nan, rank_low=np.nan, rank_high=np.nan)
        panels[0].text(0.5, 0.5, "chosen by labels and connectivity:\nranks only", ha="center",
                       va="center", color=MUTED, transform=panels[0].transAxes)  # fmt: skip
        panels[0].set_xticks([])
    _dots(panels[0], places, top, ("score", "low", "high"), BLUE)
    _dots(panels[1], places, top, ("rank", "rank_low", "rank_high"), ORANGE)
    panels[0].set_yticks(places, [_line_name(row) for _, row in top.iterrows()])
    panels[0].set_ylim(len(top) - 0.4, -0.6)
    panels[1].set_xlim(left=0)
    if float(top["low"].fillna(top["score"]).min()) < 0:
        panels[0].axvline(0, color=MUTED, linewidth=1)
    finish(panels[0], "Score", ranking.score.replace("_", " "))
    finish(panels[1], "Rank", "rank (1 is best)")
    panels[0].tick_params(axis="y", colors=INK, labelsize=7.5)
    panels[1].tick_params(axis="y", length=0)
    figure.suptitle(
        _heading(ranking, len(top), len(scored), with_intervals), fontsize=10, color=MUTED
    )
    return figure


def _dots(
    axes: Axes, places: NDArray[np.int64], table: pd.DataFrame, names: tuple[str, ...], colour: str
) -> None:
    middle, low, high = (table[name].to_numpy(dtype=float) for name in names)
    axes.hlines(places, low, high, color=colour, alpha=0.45, linewidth=3)
    axes.plot(middle, places, "o", color=colour, markersize=4.5)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)


def _line_name(row: pd.Series) -> str:
    others = len(row["also"])
    name = row["name"] if row["spi"] in KNOWN_BEST else row["spi"]
    return shorten(str(name)) + (f"  (+{others} equivalent)" if others else "")


def _heading(ranking: Ranking, shown: int, scored: int, with_intervals: bool) -> str:
    where = "all samples" if ranking.coreset is None else f"{ranking.coreset['samples']} samples"
    facts = ranking.provenance.get("bootstrap", {})
    interval = ""
    if with_intervals and facts:
        interval = f" · {100 * facts['confidence']:g} % intervals, subjects redrawn"
    lines = f"best {shown} of {scored}" if shown < scored else f"all {scored}"
    return f"task {ranking.task}, {where} · {lines}{interval}"


def _why(table: pd.DataFrame) -> str:
    reasons = [reason for reason in table["reason"].unique() if reason]
    return str(reasons[0]) if reasons else "the ranking is empty."


def draw_rank_rank(reference: Ranking, other: Ranking) -> Figure:
    """Draw the ranks of the operators in one ranking against those in another.

    Parameters
    ----------
    reference, other : Ranking
        Operators without a score in both are left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    both = reference.table.merge(other.table, on="spi", suffixes=("", "_other"))
    both = both[both["rank"].notna() & both["rank_other"].notna()]
    if both.empty:
        raise InputError("The two rankings have no operator with a rank in common.")
    found = consistency(reference, other)
    figure = Figure(figsize=(6.6, 6.4), layout="constrained")
    axes = figure.subplots()
    last = float(max(both["rank"].max(), both["rank_other"].max())) + 1
    axes.plot([0, last], [0, last], color=MUTED, linewidth=1, linestyle="--")
    axes.errorbar(
        both["rank"],
        both["rank_other"],
        xerr=_arms(both, "rank", ""),
        yerr=_arms(both, "rank", "_other"),
        fmt="none",
        ecolor=MUTED,
        alpha=0.18,
        linewidth=1,
    )
    axes.plot(both["rank"], both["rank_other"], "o", color=BLUE, markersize=4, alpha=0.85)
    best = both.nsmallest(LABELLED, "rank")
    axes.plot(best["rank"], best["rank_other"], "o", color=ORANGE, markersize=6)
    _name_points(axes, best, last)
    _best_in_the_corner(axes, last)
    finish(axes, "", f"rank on {_where(reference)}", f"rank on {_where(other)}")
    axes.spines[["top"]].set_visible(True)
    axes.spines[["bottom"]].set_visible(False)
    figure.suptitle(
        f"nDCG@5 {found['ndcg@5']:.2f} · nDCG@10 {found['ndcg@10']:.2f} · "
        f"Kendall {found['kendall']:.2f} · {len(both)} operators, task {reference.task}",
        fontsize=10,
        color=MUTED,
    )
    return figure


def _best_in_the_corner(axes: Axes, last: float) -> None:
    """Put rank 1 of both rankings into the upper left corner, as in a table."""
    axes.set_xlim(0, last)
    axes.set_ylim(last, 0)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")


def _arms(table: pd.DataFrame, name: str, suffix: str) -> Any:  # noqa: ANN401
    middle = table[f"{name}{suffix}"].to_numpy(dtype=float)
    low = table[f"{name}_low{suffix}"].to_numpy(dtype=float)
    high = table[f"{name}_high{suffix}"].to_numpy(dtype=float)
    if np.isnan(low).all():
        return None
    return np.maximum(np.nan_to_num(np.stack([middle - low, high - middle])), 0.0)


def _name_points(axes: Axes, best: pd.DataFrame, last: float) -> None:
    """Write the names of the best beside the points, spread so that they do not overlap."""
    step = last / 26
    lowest = -np.inf
    for _, row in best.sort_values("rank_other").iterrows():
        height = max(float(row["rank_other"]), lowest + step)
        lowest = height
        axes.annotate(
            shorten(str(row["spi"]), 34),
            (row["rank"], row["rank_other"]),
            xytext=(max(float(best["rank"].max()), 0.0) + last / 14, height),
            fontsize=7.5,
            color=INK,
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0},
            arrowprops={"arrowstyle": "-", "color": ORANGE, "linewidth": 0.7},
        )


def _where(ranking: Ranking) -> str:
    if ranking.coreset is None:
        return "all samples"
    return f"a core-set of {ranking.coreset['samples']} ({ranking.coreset['method']})"


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
        What :func:`sclcs.stats.concordance` returned.

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
