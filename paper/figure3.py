"""Attention maps over epochs, of samples with the lowest and the highest scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from paper.setup import Cell, Experiment, Measured, Outcome, Setup, register
from paper.tables import Table, spread
from sclcs._core import track
from sclcs.coresets import TrainedEncoder, trained_encoder
from sclcs.report.encoder_figure import draw_attention

SHARE = 0.05  # of the samples, at each end of the score
GROUPS = ("lowest", "highest")


def _cells(setup: Setup) -> list[Cell]:
    return [{"repeat": seed} for seed in setup.options.seeds()]


def _run(setup: Setup, seed: int) -> TrainedEncoder:
    return trained_encoder(setup.cohort, "paper", seed=seed, epochs=setup.options.epochs)


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    for cell in track(cells, "attention maps"):
        run = _run(setup, cell["repeat"])
        order = np.argsort(run.scores, kind="stable")
        count = max(1, round(SHARE * len(order)))
        rows = []
        for group, members in zip(GROUPS, (order[:count], order[-count:]), strict=True):
            ids = [run.sample_ids[row] for row in members]
            maps = {epoch: run.maps(setup.cohort, ids, epoch) for epoch in sorted(run.snapshots)}
            last = maps[max(maps)]
            for epoch, found in maps.items():
                away = float(np.square(found - last).sum(axis=(1, 2)).mean())
                size = float(np.square(last).sum(axis=(1, 2)).mean())
                rows.append({"group": group, "epoch": epoch, "distance_to_last": away / size})
        yield cell, rows


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    groups = measured.groupby(["group", "epoch"], sort=False)["distance_to_last"]
    return groups.agg(mean="mean", std="std", worst="max", n="count").reset_index()


def _tables(summary: pd.DataFrame) -> list[Table]:
    cells = {
        (row["group"], row["epoch"]): spread(row["mean"], row["std"], digits=3)
        for row in summary.to_dict(orient="records")
    }
    rows = [
        [str(epoch), *(cells[group, epoch] for group in GROUPS)]
        for epoch in sorted(set(summary["epoch"]))
    ]
    header = ["epoch", *(f"{group} 5 % of scores" for group in GROUPS)]
    caption = (
        "How far attention maps still are from those of the last epoch: squared distance as a "
        "share of the squared norm, mean ±std over seeds. The paper shows one sample of each kind."
    )
    return [Table("dynamics", caption, header, rows)]


def _draw(outcome: Outcome) -> Figure:
    return draw_attention(_run(outcome.setup, outcome.setup.options.seed), outcome.setup.cohort)


EXPERIMENT = register(
    Experiment(
        name="figure3",
        title="How do attention maps change while the encoder learns?",
        paper="Figure 3 (evolution of the attention map)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
