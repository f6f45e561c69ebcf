"""Theorem 2: how well attention maps approximate the matrices of sixteen operators.

Once as the paper seems to have done it (windows split at random, matrices made symmetric
with a unit diagonal that counts, no softmax), and once soundly (subjects split, diagonal
left out, targets standardised, compared with predictors that know nothing).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.progress import track
from sclcs.experiments.figures import grid
from sclcs.experiments.paper import paper_table
from sclcs.experiments.registry import (
    Experiment,
    Measured,
    Outcome,
    register,
    usual_operators,
)
from sclcs.experiments.setup import Cell, Row, Setup
from sclcs.experiments.tables import Table, beside, number, spread
from sclcs.report.style import BLUE, ORANGE, finish
from sclcs.spi import resolve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sclcs.experiments.approximation import FittingData

__all__ = ["UNIVERSAL"]

#: Protocol and read-out of the maps, and heads: the theorem asks for as many as are needed.
PROTOCOLS = (
    ("published", "logits", 16),
    ("sound", "affine", 16),
    ("sound", "logits", 16),
    ("sound", "stochastic", 16),
    ("sound", "affine", 4),
    ("sound", "affine", 64),
)
HEADS = (4, 16, 64)
MOST_SEEDS = 3  # every cell is a training on all windows
TOY_OPERATORS = 2
KEYS = ["protocol", "readout", "heads", "spi"]
NOTHING = 1e-12
WIDE = 10  # a curve that falls further is drawn on a logarithmic scale
VANISHING = 0.05  # share of the symmetric part below which a matrix is fitted as it is


def _operators(setup: Setup) -> list[str]:
    names = paper_table("universal")["spi"].tolist()
    if setup.options.toy:
        return names[:TOY_OPERATORS]
    asked = set(resolve(list(usual_operators(setup))))
    return [name for name in names if name in asked] or names


def _cells(setup: Setup) -> list[Cell]:
    return [
        {
            "protocol": protocol,
            "readout": readout,
            "heads": heads,
            "spi": spi,
            "repeat": setup.options.seed + number,
        }
        for protocol, readout, heads in PROTOCOLS
        for spi in _operators(setup)
        for number in range(min(MOST_SEEDS, setup.options.repeats))
    ]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    from sclcs.experiments.approximation import fit, references

    store = setup.store(_operators(setup))
    for cell in track(cells, "fits"):
        matrices = store.matrices(cell["spi"])
        asked = (cell["protocol"], cell["repeat"])
        data, sigma = fitting_data(setup.cohort, matrices, *asked, readout=cell["readout"])
        found = fit(
            data,
            cell["readout"],
            epochs=setup.options.epochs,
            heads=cell["heads"],
            seed=cell["repeat"],
        )
        known = references(data)
        result: Row = {
            "kind": "result",
            "symmetric": data.symmetric,
            "epochs": found.best_epoch,
            "train_start": found.start * sigma**2,
            "train_end": found.train * sigma**2,
            "test": found.test * sigma**2,
            "r2": _gain(found.test, known["mean"]),
            "r2_pearson": _gain(known["pearson"], known["mean"]),
            "skill": _gain(found.test, known["edges"]),
        }
        curves = [
            {"kind": "curve", "epochs": epoch, "train_end": train, "test": validation}
            for epoch, train, validation in found.curves
        ]
        yield cell, [result, *curves]


def _gain(error: float, reference: float) -> float:
    """Return how much smaller an error is than that of a reference.

    It does not exist if the reference is perfect: made symmetric, the matrices of ``pli``
    are zero with a unit diagonal, the same for every sample.
    """
    return 1 - error / reference if reference > NOTHING else float("nan")


def fitting_data(
    cohort: Cohort,
    matrices: NDArray[Any],
    protocol: str,
    seed: int,
    *,
    readout: str = "affine",
) -> tuple[FittingData, float]:
    """Return what is fitted for one operator, and the unit of its targets."""
    import torch

    from sclcs.encoder.inputs import standardised
    from sclcs.experiments.approximation import FittingData, row_stochastic, split

    signals = standardised(np.asarray(cohort.signals, dtype=np.float32), "layernorm")
    ones = np.ones((*signals.shape[:2], 1), dtype=np.float32)
    sound = protocol == "sound"
    groups = cohort.samples["subject"] if sound else cohort.samples.index.astype(str)
    parts = split(groups.to_numpy(dtype=object), seed)
    off = ~np.eye(signals.shape[1], dtype=bool)
    values = np.where(off, np.asarray(matrices, dtype=np.float64), 0.0)
    symmetric = not sound or not _vanishes(values[parts[0]])
    if symmetric:
        values = (values + values.transpose(0, 2, 1)) / 2
    mean, sigma = 0.0, 1.0
    if sound:
        mean, sigma = float(values[parts[0]][:, off].mean()), float(values[parts[0]][:, off].std())
    scaled = np.where(off, (values - mean) / (sigma or 1.0), 1.0)
    if readout == "stochastic":  # has no unit
        scaled, sigma, symmetric = row_stochastic(scaled), 1.0, False
    targets = scaled.astype(np.float32)
    mask = torch.from_numpy(off if sound else np.ones_like(off))
    inputs = torch.from_numpy(np.concatenate([signals, ones], axis=2))
    return FittingData(inputs, torch.from_numpy(targets), mask, *parts, symmetric), sigma


def _vanishes(values: NDArray[np.float64]) -> bool:
    """Return whether the symmetric part is so small that fitting it would mean nothing."""
    size = float(np.linalg.norm(values))
    return float(np.linalg.norm(values + values.transpose(0, 2, 1))) / 2 < VANISHING * size


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    results = measured[measured["kind"] == "result"].drop(columns="kind")
    groups = results.groupby(KEYS, sort=False)
    means = groups.mean().drop(columns="repeat")
    skill = groups["skill"].agg(skill_std="std", skill_worst="min", seeds="size")
    symmetric = groups["symmetric"].min()  # the training part of another seed may vanish
    found = means.assign(symmetric=symmetric).join(skill).reset_index()
    numbers = ["train_start", "train_end", "test"]
    paper = paper_table("universal").rename(columns={name: f"paper_{name}" for name in numbers})
    return found.merge(paper.drop(columns="printed"), "left", "spi").reset_index(drop=True)


def _tables(summary: pd.DataFrame) -> list[Table]:
    published = summary[summary["protocol"] == "published"]
    names = ("train_start", "train_end", "test")
    rows = [
        [
            f"`{row['spi']}`",
            *(beside(number(row[name], 4), number(row[f"paper_{name}"], 4)) for name in names),
            number(row["r2"], 2),
            _skill(row),
        ]
        for row in published.to_dict(orient="records")
    ]
    header = ["operator", "train, start", "train, end", "test", "R²", "skill over mean matrix"]
    caption = (
        "Theorem 2 as published: mean squared errors of maps without softmax against symmetric "
        "matrices with a unit diagonal, windows split at random; ours / the paper's. Skill: mean "
        "±std (worst) of the seeds."
    )
    return [Table("published", caption, header, rows), _sound(summary), _literal(summary)]


def _skill(row: Mapping[Any, Any]) -> str:
    return spread(row["skill"], row["skill_std"], row["skill_worst"], 2)


def _literal(summary: pd.DataFrame) -> Table:
    sound = summary[summary["protocol"] == "sound"].to_dict(orient="records")
    found = {(row["spi"], row["readout"], int(row["heads"])): row for row in sound}
    rows = [
        [
            f"`{spi}`",
            *(_skill(found[spi, "affine", heads]) for heads in HEADS),
            number(found[spi, "stochastic", HEADS[1]]["r2"], 2),
            _skill(found[spi, "stochastic", HEADS[1]]),
        ]
        for spi in dict.fromkeys(row["spi"] for row in sound)
    ]
    heads = [f"skill, {count} heads" for count in HEADS]
    header = ["operator", *heads, "R², literal", "skill, literal"]
    caption = (
        "More heads, and the literal setting of Theorem 2: row-stochastic maps without a diagonal "
        "against a softmax of every row of the standardised matrix, sixteen heads. The theorem "
        "promises that the error vanishes with more heads; the sound protocol as above."
    )
    return Table("literal", caption, header, rows)


def _sound(summary: pd.DataFrame) -> Table:
    sound = summary[(summary["protocol"] == "sound") & (summary["heads"] == HEADS[1])]
    wide = {(row["spi"], row["readout"]): row for row in sound.to_dict(orient="records")}
    rows = []
    for spi in dict.fromkeys(sound["spi"]):
        affine, logits = wide[spi, "affine"], wide[spi, "logits"]
        rows.append(
            [
                f"`{spi}`",
                "symmetric" if affine["symmetric"] else "directed",
                number(affine["r2"], 2),
                number(logits["r2"], 2),
                number(affine["r2_pearson"], 2),
                _skill(affine),
                _skill(logits),
            ]
        )
    header = [
        "operator",
        "target",
        "R², softmax",
        "R², no softmax",
        "R², cubic in Pearson",
        "skill, softmax",
        "skill, no softmax",
    ]
    caption = (
        "Theorem 2, sound protocol: subjects split, diagonal left out, targets standardised. R² is "
        "over a constant, skill over the mean matrix of the training subjects; only skill above "
        "0 shows that something about the sample is approximated."
    )
    return Table("sound", caption, header, rows)


def _draw(outcome: Outcome) -> Figure:
    measured = outcome.measured
    first = measured["repeat"] == measured["repeat"].min()
    curves = measured[first & (measured["kind"] == "curve") & (measured["protocol"] == "published")]
    names = list(dict.fromkeys(curves["spi"]))
    columns = min(4, len(names))
    figure, axes = grid(-(-len(names) // columns), columns, (2.5, 1.8))
    flat = [panel for line in axes for panel in line]
    for panel, spi in zip(flat, names, strict=False):
        part = curves[curves["spi"] == spi]
        panel.plot(part["epochs"], part["train_end"], color=BLUE, label="training")
        panel.plot(part["epochs"], part["test"], color=ORANGE, label="validation")
        if part["train_end"].max() > WIDE * part["train_end"].min():
            panel.set_yscale("log")
        finish(panel, "", "", "")
        panel.tick_params(which="both", labelsize=6)
        panel.set_title(str(spi).split("_fs-")[0], fontsize=8, loc="left")
    for panel in flat[len(names) :]:
        panel.set_visible(False)
    flat[0].legend(frameon=False, fontsize=7)
    figure.suptitle("Mean squared error by epoch, as published", fontsize=9)
    return figure


UNIVERSAL = register(
    Experiment(
        name="universal",
        title="Can attention maps approximate sixteen operators (Theorem 2)?",
        paper="Table 4 and Figure 7 (empirical validation of Theorem 2)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
        operators=_operators,
    )
)
