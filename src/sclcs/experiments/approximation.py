"""Fitting attention maps to the matrices of an operator, and what to compare the fit with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sclcs.core.seeds import child_seed, generator
from sclcs.encoder.model import AttentionEncoder
from sclcs.encoder.settings import EncoderSettings, encoder_settings

__all__ = [
    "USUAL_HEADS",
    "Fit",
    "FittingData",
    "Readout",
    "fit",
    "references",
    "row_stochastic",
    "split",
]

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

    Returns
    -------
    Fit
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
