"""Perturbation of the attention maps and loss, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from paper.setup import Cell, Experiment, Measured, Outcome, Setup, register
from paper.summary import grid
from paper.tables import Table, number
from sclcs._core import track
from sclcs.coresets import trained_encoder
from sclcs.report.figures import BLUE, ORANGE, finish

#: Presets and how many seeds of each at most: the second only shows what published scripts do.
PRESETS = {"paper": 5, "official": 2}
SMOOTHED_EPOCHS = 11
WITHIN = 0.1  # of the level at the end


def _cells(setup: Setup) -> list[Cell]:
    seeds = setup.options.seeds()
    return [
        {"preset": preset, "repeat": seed}
        for preset, most in PRESETS.items()
        for seed in seeds[:most]
    ]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    for cell in track(cells, "trainings"):
        run = trained_encoder(
            setup.cohort, cell["preset"], seed=cell["repeat"], epochs=setup.options.epochs
        )
        names = ("epoch", "perturbation", "loss")
        columns = [run.history[name].tolist() for name in names]
        yield cell, [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    groups = measured.groupby(["preset", "epoch"], sort=False)
    return groups.agg(
        perturbation=("perturbation", "mean"),
        perturbation_std=("perturbation", "std"),
        loss=("loss", "mean"),
        loss_std=("loss", "std"),
        n=("loss", "size"),
    ).reset_index()


def _tables(summary: pd.DataFrame) -> list[Table]:
    rows = []
    for preset, part in summary.groupby("preset", sort=False):
        moved = part["perturbation"].to_numpy(dtype=np.float64)
        known = np.flatnonzero(np.isfinite(moved))
        epochs = part["epoch"].to_numpy()[known]
        rows.append(
            [
                str(preset),
                str(int(part["n"].max())),
                str(len(part)),
                number(settled(moved[known], epochs), 0),
                number(float(moved[known][-SMOOTHED_EPOCHS:].mean() / moved[known].max()), 3),
                number(float(part["loss"].iloc[0]), 2),
                number(float(part["loss"].iloc[-1]), 2),
                number(settled(part["loss"].to_numpy(), part["epoch"].to_numpy()), 0),
            ]
        )
    header = [
        "preset",
        "seeds",
        "epochs",
        "perturbation settles at epoch",
        "perturbation at the end / largest",
        "loss at the start",
        "loss at the end",
        "loss settles at epoch",
    ]
    caption = (
        "When trainings settle: the first epoch from which the smoothed curve stays within 10 % "
        "of its range around its end. The paper trains 1000 epochs and says that perturbation "
        "settles at about 500 (elsewhere: about 50)."
    )
    return [Table("convergence", caption, header, rows)]


def settled(values: np.ndarray, epochs: np.ndarray) -> float:
    """Return the first epoch from which a smoothed curve stays near its end."""
    width = min(SMOOTHED_EPOCHS, len(values))
    smooth = np.convolve(values, np.ones(width) / width, mode="valid")
    far = np.abs(smooth - smooth[-1]) > WITHIN * np.ptp(smooth)
    first = int(np.flatnonzero(far)[-1]) + 1 if far.any() else 0
    return float(epochs[min(first + width // 2, len(epochs) - 1)])


def _draw(outcome: Outcome) -> Figure:
    figure, axes = grid(1, 2, (4.6, 3.1))
    colours = dict(zip(PRESETS, (BLUE, ORANGE), strict=True))
    for preset, part in outcome.summary.groupby("preset", sort=False):
        peak = part["perturbation"].max()  # presets measure it in different units
        for panel, column, scale in ((axes[0][0], "perturbation", peak), (axes[0][1], "loss", 1)):
            panel.plot(
                part["epoch"], part[column] / scale, color=colours[str(preset)], label=str(preset)
            )
    finish(axes[0][0], "Mean perturbation per epoch", "epoch", "share of the largest")
    finish(axes[0][1], "Contrastive loss", "epoch")
    axes[0][0].set_yscale("log")
    axes[0][1].legend(frameon=False, fontsize=8)
    return figure


EXPERIMENT = register(
    Experiment(
        name="figure8",
        title="Do perturbation and loss settle during training?",
        paper="Figure 8 (convergence dynamics)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
