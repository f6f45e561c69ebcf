"""The training loop of the classifier."""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from sclcs.core.progress import progress
from sclcs.core.seeds import generator
from sclcs.encoder.checkpoint import read_checkpoint, write_checkpoint
from sclcs.encoder.classifier.network import ResidualClassifier
from sclcs.encoder.classifier.recorder import DynamicsRecorder
from sclcs.encoder.classifier.settings import ClassifierSettings
from sclcs.encoder.training import TrainingDivergedError

__all__ = ["ClassifierTraining", "batches"]

LOWEST_LEARNING_RATE = 1e-4
EVALUATION_BATCH = 1024


def batches(n_samples: int, size: int, seed: int, epoch: int) -> list[Tensor]:
    """Return the shuffled samples of an epoch in batches; every sample is in one of them."""
    order = torch.from_numpy(
        generator(seed, "classifier", "batches", epoch).permutation(n_samples).astype(np.int64)
    )
    parts = list(order.split(size))
    if len(parts) > 1 and len(parts[-1]) == 1:
        # Batch statistics of a single short window may be undefined.
        parts[-2:] = [torch.cat(parts[-2:])]
    return parts


@dataclass
class ClassifierTraining:
    """A classifier in training; everything random depends on the seed and the epoch only.

    Parameters
    ----------
    model : ResidualClassifier
        What is trained, in place.
    inputs : Tensor, shape (sample, region, time)
        All samples.
    targets : Tensor of int
        Class of each sample.
    settings : ClassifierSettings
        Of the training.
    seed : int
        Of the batches.
    recorder : DynamicsRecorder, optional
        What watches; None only to measure what watching costs.
    """

    model: ResidualClassifier
    inputs: Tensor
    targets: Tensor
    settings: ClassifierSettings
    seed: int
    recorder: DynamicsRecorder | None
    history: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = self.settings
        self._device = next(self.model.parameters()).device
        self._optimiser = torch.optim.Adam(
            self.model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        n_batches = len(batches(len(self.inputs), settings.batch_size, self.seed, 0))
        self._schedule = (
            torch.optim.lr_scheduler.CosineAnnealingLR(
                self._optimiser, n_batches * settings.epochs, eta_min=LOWEST_LEARNING_RATE
            )
            if settings.scheduler == "cosine"
            else None
        )

    def run(self, checkpoint: Path | None = None, identity: str = "", every: int = 10) -> None:
        """Train to the last epoch, from the checkpoint if there is one."""
        epochs = self.settings.epochs
        known = read_checkpoint(checkpoint, identity, epochs) if checkpoint else None
        if known is not None:
            self._restore(known)
        with progress("Training the classifier", total=epochs) as ticker:
            ticker.advance(len(self.history))
            for epoch in range(len(self.history), epochs):
                self.train_epoch(epoch)
                if self.settings.record == "eval" and self.recorder is not None:
                    self._record_all(epoch)
                ticker.advance()
                if checkpoint and (epoch + 1) % every == 0:
                    write_checkpoint(checkpoint, self._state() | {"identity": identity})

    def _state(self) -> dict[str, Any]:
        return {
            "epoch": len(self.history),
            "model": self.model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "schedule": self._schedule.state_dict() if self._schedule else None,
            "recorder": self.recorder.state() if self.recorder else None,
            "history": self.history,
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self._optimiser.load_state_dict(state["optimiser"])
        if self._schedule is not None:
            self._schedule.load_state_dict(state["schedule"])
        if self.recorder is not None:
            self.recorder.restore(state["recorder"])
        self.history = list(state["history"])

    def train_epoch(self, epoch: int) -> None:
        """Go through all samples once."""
        self.model.train()
        rate = self._optimiser.param_groups[0]["lr"]
        loss_sum, right = 0.0, 0
        for rows in batches(len(self.inputs), self.settings.batch_size, self.seed, epoch):
            loss, n_right = self._train_batch(rows, epoch)
            loss_sum += loss * len(rows)
            right += n_right
        n_samples = len(self.inputs)
        self.history.append(
            {
                "epoch": epoch,
                "loss": loss_sum / n_samples,
                "accuracy": right / n_samples,
                "learning_rate": rate,
            }
        )

    def _train_batch(self, rows: Tensor, epoch: int) -> tuple[float, int]:
        logits, features = self.model(self.inputs[rows].to(self._device))
        truth = self.targets[rows].to(self._device)
        log_probabilities = functional.log_softmax(logits, dim=1)
        loss = functional.nll_loss(log_probabilities, truth)
        value = float(loss.detach())
        if not np.isfinite(value):
            raise TrainingDivergedError(
                f"Training diverged: the loss of epoch {epoch} is {value}; lower learning_rate "
                f"(now {self.settings.learning_rate:g}) or standardise the signals."
            )
        right = int((logits.detach().argmax(1) == truth).sum())
        if self.settings.record == "train" and self.recorder is not None:
            with torch.no_grad():
                self.recorder.add(
                    rows, epoch, logits.detach(), log_probabilities.detach(), features.detach()
                )
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self._optimiser.step()
        if self._schedule is not None:
            self._schedule.step()
        return value, right

    @torch.no_grad()
    def _record_all(self, epoch: int) -> None:
        assert self.recorder is not None  # noqa: S101 (asked before the call)
        self.model.eval()
        for rows in torch.arange(len(self.inputs)).split(EVALUATION_BATCH):
            logits, features = self.model(self.inputs[rows].to(self._device))
            log_probabilities = functional.log_softmax(logits, dim=1)
            self.recorder.add(rows, epoch, logits, log_probabilities, features)

    @torch.no_grad()
    def final_logits(self) -> NDArray[np.float32]:
        """Return the logits of the model as it is now, in evaluation mode (sample, class)."""
        self.model.eval()
        parts = [
            self.model(part.to(self._device))[0].cpu()
            for part in self.inputs.split(EVALUATION_BATCH)
        ]
        return np.asarray(torch.cat(parts).numpy())
