"""Theorem 2: how well attention maps approximate the matrices of sixteen operators.

Once as the paper seems to have done it (windows split at random, matrices made symmetric
with a unit diagonal that counts, no softmax), and once soundly (subjects split, diagonal
left out, targets standardised, compared with predictors that know nothing).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor, nn

from paper.setup import Cell, Experiment, Measured, Outcome, Row, Setup, register, usual_operators
from paper.summary import grid
from paper.tables import Table, beside, number, paper_table, spread
from sclcs._core import child_seed, generator, track
from sclcs.cohort import Cohort
from sclcs.coresets.attention import AttentionEncoder
from sclcs.coresets.encoder import EncoderSettings, encoder_settings
from sclcs.report.figures import BLUE, ORANGE, finish
from sclcs.spi import resolve

Readout = Literal["logits", "affine", "stochastic"]
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

USUAL_HEADS = 16
BATCH, LEARNING_RATE = 16, 1e-3  # small batches: a few hundred samples must give enough steps
SHARES = (0.7, 0.8)  # end of the training and of the validation part
VALIDATE_AT_ONCE = 256
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class FittingData:
    """Signals, the matrices to be fitted, and who is in which part.

    Parameters
    ----------
    inputs : Tensor, shape (sample, region, time point + 1)
    targets : Tensor, shape (sample, region, region)
    mask : Tensor of bool, shape (region, region)
        Entries that count.
    train, validation, test : array of int
    symmetric : bool
        Whether the model's maps are made symmetric before they are compared.
    """

    inputs: Tensor
    targets: Tensor
    mask: Tensor
    train: Integers
    validation: Integers
    test: Integers
    symmetric: bool


@dataclass(frozen=True)
class Fit:
    """How a fit went: mean squared errors.

    Parameters
    ----------
    start : float
        On the training part, untrained.
    train, test : float
        With the weights of the epoch that was best on the validation part.
    best_epoch : int
    curves : list of (epoch, training, validation)
        The running mean while the epoch trained, and after it.
    """

    start: float
    train: float
    test: float
    best_epoch: int
    curves: list[tuple[int, float, float]]


def split(groups: NDArray[np.object_], seed: int) -> tuple[Integers, Integers, Integers]:
    """Split samples 70/10/20 into parts that share no group.

    Parameters
    ----------
    groups : array, shape (sample,)
        What must not be torn apart: subjects, or the samples themselves.
    seed : int

    Returns
    -------
    train, validation, test : arrays of int
    """
    names, codes = np.unique(groups.astype(str), return_inverse=True)
    lots = generator(seed, "universal", "split").permutation(len(names))
    ends = [round(share * len(names)) for share in SHARES]
    part = np.searchsorted(ends, lots[codes], side="right")
    return tuple(np.flatnonzero(part == number) for number in range(3))  # type: ignore[return-value]


def _settings(readout: Readout, heads: int) -> EncoderSettings:
    return encoder_settings("official" if readout == "logits" else "paper", heads=heads)


def row_stochastic(targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return matrices as the theorem has them: a softmax of every row, without the diagonal."""
    off = ~np.eye(targets.shape[1], dtype=bool)
    powers = np.where(off, np.exp(targets - targets.max(axis=2, keepdims=True)), 0.0)
    return np.asarray(powers / powers.sum(axis=2, keepdims=True))


class _Model(nn.Module):
    """The attention part of the encoder, with a scalar scale and shift where asked for."""

    def __init__(self, readout: Readout, heads: int, n_timepoints: int, seed: int) -> None:
        super().__init__()
        self.encoder = AttentionEncoder(_settings(readout, heads), n_timepoints, seed)
        self.affine, self.stochastic = readout == "affine", readout == "stochastic"
        self.scale = nn.Parameter(torch.ones(()), requires_grad=self.affine)
        self.shift = nn.Parameter(torch.zeros(()), requires_grad=self.affine)

    def forward(self, inputs: Tensor, symmetric: bool) -> Tensor:
        maps: Tensor = self.encoder(inputs)[1]
        if self.stochastic:  # rows sum to one without what regions give to themselves
            others = maps * (1 - torch.eye(maps.shape[1]))
            return others / others.sum(dim=2, keepdim=True).clamp_min(TINY)
        if symmetric:
            maps = (maps + maps.transpose(1, 2)) / 2
        if not self.affine:
            return maps
        # Rows of a softmax sum to one: centre and scale away what that fixes.
        fitted: Tensor = self.scale * (maps.shape[1] * maps - 1) + self.shift
        return fitted


def fit(
    data: FittingData,
    readout: Readout,
    *,
    epochs: int,
    heads: int = USUAL_HEADS,
    patience: int = 10,
    seed: int = 0,
) -> Fit:
    """Train maps to match the targets, with early stopping.

    Parameters
    ----------
    data : FittingData
    readout : {"logits", "affine", "stochastic"}
        The published scripts' bare products, row-stochastic maps with a learned scalar scale
        and shift, or row-stochastic maps as they are, against targets of the same kind.
    epochs : int
        At most.
    heads : int
        Of the attention.
    patience : int
        Epochs without a better validation error after which training stops.
    seed : int
    """
    axes = ("universal", readout) if heads == USUAL_HEADS else ("universal", readout, heads)
    model = _Model(readout, heads, data.inputs.shape[2] - 1, child_seed(seed, *axes))
    used = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.Adam(used, lr=LEARNING_RATE)
    start = _error(model, data, data.train)
    best, kept, best_epoch = float("inf"), _copy(model), 0
    curves = []
    for epoch in range(1, epochs + 1):
        running = _train_epoch(model, data, optimiser, generator(seed, "universal", epoch))
        validation = _error(model, data, data.validation)
        curves.append((epoch, running, validation))
        if validation < best:
            best, kept, best_epoch = validation, _copy(model), epoch
        elif epoch - best_epoch >= patience:
            break
    model.load_state_dict(kept)
    errors = [_error(model, data, part) for part in (data.train, data.test)]
    return Fit(start, errors[0], errors[1], best_epoch, curves)


def _copy(model: _Model) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _train_epoch(
    model: _Model, data: FittingData, optimiser: torch.optim.Optimizer, lots: np.random.Generator
) -> float:
    order = lots.permutation(data.train)
    total = 0.0
    for start in range(0, len(order), BATCH):
        rows = torch.from_numpy(order[start : start + BATCH])
        optimiser.zero_grad()
        loss = _loss(model, data, rows)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        total += loss.item() * len(rows)
    return total / len(order)


def _loss(model: _Model, data: FittingData, rows: Tensor) -> Tensor:
    maps: Tensor = model(data.inputs[rows], data.symmetric)
    difference = (maps - data.targets[rows])[:, data.mask]
    return difference.square().mean()


@torch.no_grad()
def _error(model: _Model, data: FittingData, part: Integers) -> float:
    total = 0.0
    for start in range(0, len(part), VALIDATE_AT_ONCE):
        rows = torch.from_numpy(part[start : start + VALIDATE_AT_ONCE])
        total += _loss(model, data, rows).item() * len(rows)
    return total / len(part)


def references(data: FittingData) -> dict[str, float]:
    """Return the test errors of predictors that need no network.

    ``mean``: one number; ``edges``: the mean matrix of the training part, which knows
    nothing about the sample; ``pearson``: a cubic polynomial of the sample's own correlation
    matrix.
    """
    mask = data.mask.numpy()
    targets = data.targets.numpy()[:, mask].astype(np.float64)
    train, test = targets[data.train], targets[data.test]
    return {
        "mean": _mse(test, train.mean()),
        "edges": _mse(test, train.mean(axis=0)),
        "pearson": _polynomial(data, mask, train, test),
    }


def _mse(values: NDArray[np.float64], predicted: NDArray[np.float64] | float) -> float:
    return float(np.square(values - predicted).mean())


def _polynomial(
    data: FittingData,
    mask: NDArray[np.bool_],
    train: NDArray[np.float64],
    test: NDArray[np.float64],
) -> float:
    signals = data.inputs[:, :, :-1].numpy()
    products = np.concatenate(list(_products(signals)))
    powers = [products[part][:, mask].ravel() for part in (data.train, data.test)]
    weights = np.polyfit(powers[0].astype(np.float64), train.ravel(), 3)
    return _mse(test.ravel(), np.polyval(weights, powers[1]))


def _products(signals: Floats) -> Iterator[Floats]:
    for start in range(0, len(signals), VALIDATE_AT_ONCE):
        block = signals[start : start + VALIDATE_AT_ONCE]
        yield block @ block.transpose(0, 2, 1) / np.float32(block.shape[2])


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
    names = paper_table("table4")["spi"].tolist()
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

    from sclcs.coresets.training import standardised

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
    paper = paper_table("table4").rename(columns={name: f"paper_{name}" for name in numbers})
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


EXPERIMENT = register(
    Experiment(
        name="table4",
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
