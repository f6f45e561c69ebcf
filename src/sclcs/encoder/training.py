"""The training loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sclcs.core.errors import SclcsError
from sclcs.core.progress import progress
from sclcs.core.seeds import child_seed
from sclcs.encoder.checkpoint import read_checkpoint, write_checkpoint
from sclcs.encoder.loss import contrastive_loss
from sclcs.encoder.model import AttentionEncoder
from sclcs.encoder.pairs import SubjectPairs
from sclcs.encoder.perturbation import Tracker
from sclcs.encoder.settings import EncoderSettings

__all__ = ["Training", "TrainingDivergedError", "snapshot_epochs"]


class TrainingDivergedError(SclcsError, ArithmeticError):
    """The loss is no longer a number."""


def snapshot_epochs(epochs: int) -> set[int]:
    """Return the epochs whose weights are kept: 0, 1, 2, 5, 10, 20, ... and the last."""
    steps = {int(digit * 10**power) for power in range(8) for digit in (1, 2, 5)}
    return {0, epochs} | {step for step in steps if step < epochs}


@dataclass
class _EpochSums:
    """Sums over the batches of one epoch, weighted by their number of pairs."""

    pairs: int = 0
    loss: float = 0.0
    alignment: float = 0.0
    uniformity: float = 0.0

    def add(self, pairs: int, loss: float, alignment: float, uniformity: float) -> None:
        self.pairs += pairs
        self.loss += pairs * loss
        self.alignment += pairs * alignment
        self.uniformity += pairs * uniformity

    def means(self) -> dict[str, float]:
        names = ("loss", "alignment", "uniformity")
        return {name: getattr(self, name) / max(self.pairs, 1) for name in names}


@dataclass
class Training:
    """A model in training; everything random depends on the seed and the epoch only.

    Parameters
    ----------
    model : AttentionEncoder
        What is trained, in place.
    inputs : Tensor, shape (sample, region, feature)
        All samples.
    pairs : SubjectPairs
        What batches are drawn from.
    tracker : Tracker
        Follows the maps.
    seed : int
        Of the batches and of dropout.
    """

    model: AttentionEncoder
    inputs: Tensor
    pairs: SubjectPairs
    tracker: Tracker
    seed: int
    epoch: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    snapshots: dict[int, dict[str, NDArray[np.float32]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings = self.settings
        self._optimiser = torch.optim.Adam(
            self.model.parameters(),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
        )
        self._snapshot_epochs = snapshot_epochs(settings.epochs)

    @property
    def settings(self) -> EncoderSettings:
        """The settings of the model."""
        return self.model.settings

    def run(self, checkpoint: Path | None, identity: str, checkpoint_every: int) -> None:
        """Train to the last epoch, from the checkpoint if there is one."""
        epochs = self.settings.epochs
        known = read_checkpoint(checkpoint, identity, epochs) if checkpoint else None
        if known is None:
            self.tracker.start(self.model)
            self._take_snapshot()
        else:
            self._restore(known)
        with progress("Training the encoder", total=epochs) as ticker:
            ticker.advance(self.epoch)
            while self.epoch < epochs:
                self._train_epoch()
                ticker.advance()
                at_end = self.epoch == epochs
                if checkpoint and (at_end or self.epoch % checkpoint_every == 0):
                    write_checkpoint(checkpoint, self._state() | {"identity": identity})

    def _train_epoch(self) -> None:
        self.epoch += 1
        self.tracker.score.begin_epoch()
        sums = _EpochSums()
        batches = self.pairs.batches(self.settings.batch_subjects, self.seed, self.epoch)
        for number, (rows, subjects) in enumerate(batches):
            self._train_batch(rows, subjects, number, sums)
        self.tracker.after_epoch(self.model, self.epoch)
        self._write_history(sums)
        if self.epoch in self._snapshot_epochs:
            self._take_snapshot()

    def _train_batch(
        self,
        rows: NDArray[np.int64],
        subjects: NDArray[np.int64],
        number: int,
        sums: _EpochSums,
    ) -> None:
        settings = self.settings
        device = self.model.output_weight.device
        dropout = torch.Generator(device=device).manual_seed(
            child_seed(self.seed, "encoder", "dropout", self.epoch, number)
        )
        embeddings, maps = self.model(self.inputs[torch.from_numpy(rows)].to(device), dropout)
        self.tracker.after_batch(rows, maps, self.epoch)
        if len(rows) == len(np.unique(subjects)):
            return  # only subjects with one window: nothing to learn from
        loss, geometry = contrastive_loss(
            embeddings,
            torch.from_numpy(subjects).to(device),
            temperature=settings.temperature,
            denominator=settings.denominator,
        )
        if settings.attention_l1:
            loss = loss + settings.attention_l1 * maps.abs().mean()
        value = float(loss.detach())
        if not np.isfinite(value):
            raise TrainingDivergedError(
                f"Training diverged: the loss of epoch {self.epoch} is {value}; lower "
                f"learning_rate (now {settings.learning_rate:g}) or standardise the signals."
            )
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        sums.add(geometry.n_pairs, value, geometry.alignment, geometry.uniformity)

    def _write_history(self, sums: _EpochSums) -> None:
        heads = self.model.head_weights.detach().cpu().tolist()
        row: dict[str, float] = {"epoch": self.epoch, **sums.means()}
        row["perturbation"] = self.tracker.score.epoch_mean
        row |= {f"head_{number}": weight for number, weight in enumerate(heads)}
        self.history.append(row)

    def _take_snapshot(self) -> None:
        self.snapshots[self.epoch] = self.model.export()

    def _state(self) -> dict[str, Any]:
        weights = {
            epoch: {name: torch.from_numpy(array) for name, array in arrays.items()}
            for epoch, arrays in self.snapshots.items()
        }
        return {
            "epoch": self.epoch,
            "model": self.model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "tracker": self.tracker.state(),
            "history": self.history,
            "snapshots": weights,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.epoch = state["epoch"]
        self.model.load_state_dict(state["model"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.tracker.restore(state["tracker"], self.model)
        self.history = list(state["history"])
        self.snapshots = {
            epoch: {name: tensor.numpy() for name, tensor in weights.items()}
            for epoch, weights in state["snapshots"].items()
            if epoch in self._snapshot_epochs  # a shorter training also kept its last epoch
        }
