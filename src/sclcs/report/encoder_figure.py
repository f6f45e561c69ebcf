"""Pictures of a training: scores, convergence, head weights, attention maps over epochs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, explain_write_errors
from sclcs.cohort import Cohort
from sclcs.coresets import StablePool, TrainedEncoder, stable_pool

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "draw_attention",
    "draw_convergence",
    "draw_head_weights",
    "draw_scores",
    "save_encoder_figures",
]

INK, MUTED, BLUE, ORANGE, PALE = "#1b1f24", "#6b7280", "#2563a8", "#d97706", "#c9ced6"
SHOWN_EPOCHS = 6
SMOOTHING_WINDOW, SMOOTHING_ORDER = 31, 3  # Savitzky-Golay, as in the published scripts


def save_encoder_figures(
    run: TrainedEncoder, folder: str | os.PathLike[str], cohort: Cohort | None = None
) -> list[Path]:
    """Draw all pictures of a run.

    Parameters
    ----------
    run : TrainedEncoder
        What to draw.
    folder : path-like
        Where the PNG files go; made if it is not there. Files of the same name are replaced.
    cohort : Cohort, optional
        The run's cohort; attention maps are drawn only with it.

    Returns
    -------
    list of Path
        The files.
    """
    figures = {
        "encoder_scores.png": draw_scores(run),
        "encoder_convergence.png": draw_convergence(run),
        "encoder_heads.png": draw_head_weights(run),
    }
    if cohort is not None:
        figures["encoder_attention.png"] = draw_attention(run, cohort)
    folder = Path(folder)
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            figure.savefig(folder / name, dpi=110)
    return [folder / name for name in figures]


def draw_scores(run: TrainedEncoder, beta: float = 0.05) -> Figure:
    """Draw the distribution of the scores, the stable pool and its density."""
    figure, axes = _figure(1, (7, 3.4))
    finite = run.scores[np.isfinite(run.scores)]
    pool = stable_pool(run.scores, beta=beta)
    # A few samples move very much; without a limit they would squeeze all others into one bin.
    last = float(np.quantile(finite, 0.995)) * 1.05
    bins = np.linspace(finite.min(), max(last, finite.min() + 1e-12), 61).tolist()
    axes[0].hist(finite, bins=bins, density=True, color=PALE, label="all samples")
    _draw_density(axes[0], run.scores, pool)
    axes[0].axvline(pool.threshold, color=ORANGE, linewidth=1.2)
    axes[0].annotate(
        f"the highest {beta:.0%} are never drawn",
        (pool.threshold, 0.93),
        xycoords=("data", "axes fraction"),
        xytext=(4, 0),
        textcoords="offset points",
        color=ORANGE,
        fontsize=8,
    )
    axes[0].set_yticks([])
    axes[0].set_xlim(bins[0], bins[-1])
    axes[0].legend(frameon=False, fontsize=8, loc="center right")
    hidden = int((finite > bins[-1]).sum())
    note = f" ({hidden} beyond the right edge)" if hidden else ""
    _label(axes[0], f"structural perturbation score{note}", "")
    _finish(axes[0], f"Scores of {len(finite)} samples")
    return figure


def _draw_density(axes: Axes, scores: NDArray[np.float64], pool: StablePool) -> None:
    order = np.argsort(scores[pool.rows])
    values = scores[pool.rows][order]
    axes.plot(values, pool.density[order], color=BLUE, linewidth=1.8, label="density of the pool")


def draw_convergence(run: TrainedEncoder) -> Figure:
    """Draw mean perturbation and loss by epoch, raw and smoothed."""
    figure, axes = _figure(2, (9, 3.2))
    epochs = run.history["epoch"].to_numpy()
    for place, (name, title) in enumerate(
        [("perturbation", "Mean perturbation per epoch"), ("loss", "Contrastive loss")]
    ):
        values = run.history[name].to_numpy(dtype=np.float64)
        known = np.isfinite(values)
        axes[place].plot(epochs[known], values[known], color=PALE, linewidth=1.2, label="epoch")
        smooth = _smoothed(values[known])
        if smooth is not None:
            axes[place].plot(epochs[known], smooth, color=BLUE, linewidth=1.8, label="smoothed")
        _label(axes[place], "epoch", "")
        _finish(axes[place], title)
    axes[0].set_ylim(bottom=0)
    axes[1].legend(frameon=False, fontsize=8)
    return figure


def _smoothed(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    if len(values) <= SMOOTHING_WINDOW:
        return None
    from scipy.signal import savgol_filter

    return np.asarray(savgol_filter(values, SMOOTHING_WINDOW, SMOOTHING_ORDER))


def draw_head_weights(run: TrainedEncoder) -> Figure:
    """Draw how the weights of the heads leave the uniform start."""
    figure, axes = _figure(1, (7, 3.2))
    names = [name for name in run.history.columns if str(name).startswith("head_")]
    weights = run.history[names].to_numpy(dtype=np.float64)
    epochs = run.history["epoch"].to_numpy()
    most, least = int(weights[-1].argmax()), int(weights[-1].argmin())
    for head in range(len(names)):
        colour = {most: BLUE, least: ORANGE}.get(head, PALE)
        axes[0].plot(epochs, weights[:, head], color=colour, linewidth=1.2, zorder=head == most)
    axes[0].axhline(1 / len(names), color=MUTED, linewidth=1, linestyle=":", label="uniform")
    if most != least:
        for head, colour in ((most, BLUE), (least, ORANGE)):
            axes[0].annotate(
                f"head {head}",
                (epochs[-1], weights[-1, head]),
                xytext=(5, -3),
                textcoords="offset points",
                color=colour,
                fontsize=8,
                annotation_clip=False,
            )
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    axes[0].set_xlim(0, epochs[-1] * 1.1)
    _label(axes[0], "epoch", "weight")
    _finish(axes[0], f"Weights of {len(names)} heads")
    return figure


def draw_attention(run: TrainedEncoder, cohort: Cohort) -> Figure:
    """Draw the attention maps of the steadiest and the least steady sample over epochs.

    Parameters
    ----------
    run : TrainedEncoder
        With the weights it kept.
    cohort : Cohort
        The run's cohort.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if cohort.fingerprint != run.fingerprint:
        raise InputError("The run was trained on another cohort; give the one it was made from.")
    from matplotlib.figure import Figure

    finite = np.flatnonzero(np.isfinite(run.scores))
    order = finite[np.argsort(run.scores[finite], kind="stable")]
    chosen = [int(order[0]), int(order[-1])]
    ids = [run.sample_ids[row] for row in chosen]
    epochs = _spread(sorted(run.snapshots), SHOWN_EPOCHS)
    maps = np.stack([run.maps(cohort, ids, epoch) for epoch in epochs], axis=1)
    figure = Figure(figsize=(1.75 * len(epochs) + 0.9, 4.1), layout="constrained")
    axes = np.atleast_2d(figure.subplots(2, len(epochs)))
    image: Any = None
    style = _colours(maps)
    for row, kind in enumerate(("lowest", "highest")):
        for column, epoch in enumerate(epochs):
            panel = axes[row, column]
            image = panel.imshow(maps[row, column], **style)
            panel.set_xticks([])
            panel.set_yticks([])
            if row == 0:
                panel.set_title(f"epoch {epoch}", fontsize=9, color=MUTED)
        text = f"{kind} score\n{run.scores[chosen[row]]:.2g}"
        axes[row, 0].set_ylabel(text, color=INK, fontsize=9)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.01)
    bar.ax.tick_params(colors=MUTED, labelsize=8)
    return figure


def _spread(epochs: list[int], count: int) -> list[int]:
    places = np.unique(np.linspace(0, len(epochs) - 1, min(count, len(epochs))).round().astype(int))
    return [epochs[place] for place in places]


def _colours(maps: NDArray[np.float32]) -> dict[str, Any]:
    if maps.min() < 0:  # no softmax: entries of both signs
        limit = float(np.quantile(np.abs(maps), 0.995))
        return {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    return {"cmap": "magma", "vmin": 0.0, "vmax": float(np.quantile(maps, 0.995))}


def _figure(count: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(1, count)))


def _label(axes: Axes, horizontal: str, vertical: str) -> None:
    axes.set_xlabel(horizontal, color=MUTED, fontsize=9)
    axes.set_ylabel(vertical, color=MUTED, fontsize=9)


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold")
    axes.tick_params(colors=MUTED, labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
