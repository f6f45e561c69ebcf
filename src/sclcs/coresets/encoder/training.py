"""Signals as the encoder takes them: standardised, samples in an order of their own."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from sclcs._core import (
    DamagedStoreError,
    InputError,
    SclcsError,
    bytes_digest,
    child_seed,
    explain_damage,
    explain_write_errors,
    generator,
    name_first,
    progress,
    remove_partials,
    write_bytes,
)
from sclcs.cohort import Cohort, iterate_rows, require_equal_lengths
from sclcs.coresets.encoder.model import AttentionEncoder, contrastive_loss
from sclcs.coresets.encoder.score import Scratch, Tracker
from sclcs.coresets.encoder.settings import EncoderSettings, InputNorm

__all__ = [
    "CheckpointedTraining",
    "SubjectPairs",
    "Training",
    "TrainingDivergedError",
    "find_pairs",
    "prepare_inputs",
    "read_checkpoint",
    "snapshot_epochs",
    "standardised",
    "write_checkpoint",
]


#: Keeps a nearly constant region from being blown up; relative to the sample's own variance,
#: so that the unit of the signals does not matter.
RELATIVE_EPSILON = 1e-5


def standardised(signals: NDArray[np.float32], norm: InputNorm) -> NDArray[np.float32]:
    """Give every region of every window mean 0 and variance 1 (or leave it, with ``none``)."""
    if norm == "none":
        return signals
    values = signals.astype(np.float64)
    values -= values.mean(axis=2, keepdims=True)
    variance = (values**2).mean(axis=2, keepdims=True)
    floor = RELATIVE_EPSILON * variance.mean(axis=1, keepdims=True)
    values /= np.sqrt(variance + np.where(floor > 0, floor, 1))
    return values.astype(np.float32)


def prepare_inputs(
    cohort: Cohort, order: NDArray[np.int64], norm: InputNorm, scratch: Scratch
) -> Tensor:
    """Read, check and standardise all signals.

    Parameters
    ----------
    cohort : Cohort
        What to read, block by block.
    order : array of int
        Row of the cohort that goes to each place of the result.
    norm : {"layernorm", "zscore", "none"}
        See :class:`~sclcs.coresets.encoder.settings.EncoderSettings`.
    scratch : Scratch
        Where the result is kept.

    Returns
    -------
    Tensor, shape (sample, region, time point + 1)
        The last feature is one: it carries every bias.
    """
    require_equal_lengths(cohort, "Training on signals")
    shape = (len(cohort), cohort.n_regions, cohort.n_timepoints + 1)
    inputs = scratch.zeros("inputs", shape)
    inputs[:, :, -1] = 1
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    start = 0
    for block in iterate_rows(cohort.signals):
        rows = slice(start, start + len(block))
        bad = np.flatnonzero(~np.isfinite(block).all(axis=(1, 2))) + start
        if len(bad):
            names = name_first(cohort.sample_ids[row] for row in bad)
            raise InputError(
                f"Signals must be finite, but these samples hold NaN or infinite values: {names}; "
                "leave them out or repair them."
            )
        inputs[torch.from_numpy(place[rows]), :, :-1] = torch.from_numpy(standardised(block, norm))
        start += len(block)
    return inputs


Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SubjectPairs:
    """The pairs of windows each subject can contribute.

    Parameters
    ----------
    first, second : array of int
        Row numbers of all pairs, sorted by subject. A subject without a pair has one entry
        per sample, with `second` equal to `first`: it contributes a single window.
    offsets : array of int
        Where each subject's entries begin, and the end.
    """

    first: Integers
    second: Integers
    offsets: Integers

    @property
    def n_subjects(self) -> int:
        """Number of subjects."""
        return len(self.offsets) - 1

    def batches(
        self, batch_subjects: int, seed: int, epoch: int
    ) -> Iterator[tuple[Integers, Integers]]:
        """Go through all subjects once, in an order drawn for this epoch.

        Parameters
        ----------
        batch_subjects : int
            Subjects per batch. A last batch of one subject joins the one before it,
            because it would have no negatives.
        seed, epoch : int
            What the draw depends on, and nothing else.

        Yields
        ------
        rows, subjects : array of int
            Row numbers of the samples of a batch and the number of their subject.
        """
        rng = generator(seed, "encoder", "batches", epoch)
        order = rng.permutation(self.n_subjects)
        choices = np.diff(self.offsets)
        chosen = self.offsets[:-1] + (rng.random(self.n_subjects) * choices).astype(np.int64)
        for start, stop in _batch_bounds(self.n_subjects, batch_subjects):
            subjects = order[start:stop]
            entries = chosen[subjects]
            rows = np.stack([self.first[entries], self.second[entries]], axis=1)
            keep = np.stack([np.full(len(rows), True), rows[:, 0] != rows[:, 1]], axis=1)
            yield rows[keep], np.repeat(subjects, keep.sum(axis=1))


def _batch_bounds(n_subjects: int, batch_subjects: int) -> list[tuple[int, int]]:
    starts = list(range(0, n_subjects, batch_subjects))
    if len(starts) > 1 and n_subjects - starts[-1] == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], n_subjects], strict=True))


def find_pairs(samples: pd.DataFrame, n_timepoints: int, *, allow_overlap: bool) -> SubjectPairs:
    """Find the pairs of windows of every subject.

    Parameters
    ----------
    samples : DataFrame
        The cohort's table of samples.
    n_timepoints : int
        Length of a window.
    allow_overlap : bool
        Whether two windows of a pair may share time points.

    Raises
    ------
    InputError
        If there are fewer than two subjects, or no subject has a pair.
    """
    subjects, codes = np.unique(samples["subject"].to_numpy(dtype=str), return_inverse=True)
    if len(subjects) < 2:
        raise InputError(
            f"Training compares subjects, so at least 2 are needed, but the cohort has "
            f"{len(subjects)} ({name_first(subjects)}); add scans of others."
        )
    starts = None if allow_overlap else _starts(samples)
    scans = samples["scan"].to_numpy(dtype=str) if "scan" in samples else samples["subject"]
    first: list[Integers] = []
    second: list[Integers] = []
    for members in np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1]):
        one, other = (members[place] for place in np.triu_indices(len(members), k=1))
        if starts is not None:
            shared = np.abs(starts[one] - starts[other]) < n_timepoints
            shared &= np.asarray(scans)[one] == np.asarray(scans)[other]
            one, other = one[~shared], other[~shared]
        first.append(one if len(one) else members)
        second.append(other if len(one) else members)
    _require_a_pair(first, second, allow_overlap)
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in first])])
    return SubjectPairs(np.concatenate(first), np.concatenate(second), offsets.astype(np.int64))


def _starts(samples: pd.DataFrame) -> Integers:
    if "start" not in samples:
        raise InputError(
            "allow_overlap=False needs the column start (where each window begins), but the "
            f"cohort has {name_first(samples.columns, 10)}; allow overlapping windows."
        )
    return samples["start"].to_numpy(dtype=np.int64)


def _require_a_pair(first: list[Integers], second: list[Integers], allow_overlap: bool) -> None:
    if any((a != b).any() for a, b in zip(first, second, strict=True)):
        return
    raise InputError(
        "Training needs two windows of at least one subject, but no subject has "
        + ("two; cut scans into more windows." if allow_overlap else "two that do not overlap; ")
        + ("" if allow_overlap else "use a larger stride or allow_overlap=True.")
    )


_SIGNATURE = b"\nsclcs:sha256:"


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Write a checkpoint in one step: a crash leaves the old one."""
    stream = io.BytesIO()
    torch.save(content, stream)
    payload = stream.getvalue()
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_partials(path.parent, path.name)
    write_bytes(path, payload + _SIGNATURE + bytes_digest(payload).encode())


def read_checkpoint(path: Path, expected_identity: str, epochs: int) -> dict[str, Any] | None:
    """Read a checkpoint of this very training; None if there is none.

    Parameters
    ----------
    path : Path
        The file.
    expected_identity : str
        From :func:`~sclcs.coresets.encoder.train.training_identity`.
    epochs : int
        Epochs asked for now.
    """
    if not path.exists():
        return None
    payload, signature, digest = path.read_bytes().rpartition(_SIGNATURE)
    if not signature or bytes_digest(payload).encode() != digest:
        raise DamagedStoreError(
            f"The checkpoint {path} is damaged, or was written before checkpoints were signed; "
            "remove it to start again."
        )
    with explain_damage(path, "a checkpoint of sclcs (remove it to start again)"):
        stream = io.BytesIO(payload)
        content: dict[str, Any] = torch.load(stream, map_location="cpu", weights_only=True)
        found, epoch = content["identity"], content["epoch"]
    if found != expected_identity:
        raise InputError(
            f"The checkpoint {path} belongs to another cohort, seed or settings; "
            "remove it or name another file."
        )
    if epoch > epochs:
        raise InputError(
            f"The checkpoint {path} is at epoch {epoch}, past the {epochs} epochs asked for; "
            "ask for more epochs or name another file."
        )
    return content


class CheckpointedTraining:
    """Epoch after epoch, with progress, and from the last checkpoint if there is one."""

    epoch = 0

    def begin(self) -> None:
        """Do what must be done before the first epoch."""

    def train_epoch(self) -> None:
        """Train for one epoch; `epoch` is its number, the first is 1."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        raise NotImplementedError

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state`."""
        raise NotImplementedError

    def run_epochs(
        self, what: str, epochs: int, checkpoint: Path | None, identity: str, every: int
    ) -> None:
        """Train to the last epoch; `identity` says whose checkpoint it is."""
        known = read_checkpoint(checkpoint, identity, epochs) if checkpoint else None
        if known is None:
            self.begin()
        else:
            self.epoch = known["epoch"]
            self.restore(known)
        with progress(f"Training the {what}", total=epochs) as ticker:
            ticker.advance(self.epoch)
            while self.epoch < epochs:
                self.epoch += 1
                self.train_epoch()
                ticker.advance()
                if checkpoint and (self.epoch == epochs or self.epoch % every == 0):
                    content = {"epoch": self.epoch, "identity": identity}
                    write_checkpoint(checkpoint, self.state() | content)


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
class Training(CheckpointedTraining):
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

    def begin(self) -> None:
        """Look at the untrained model."""
        self.tracker.start(self.model)
        self._take_snapshot()

    def train_epoch(self) -> None:
        """Go through all subjects once, then look at all maps."""
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

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        weights = {
            epoch: {name: torch.from_numpy(array) for name, array in arrays.items()}
            for epoch, arrays in self.snapshots.items()
        }
        return {
            "model": self.model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "tracker": self.tracker.state(),
            "history": self.history,
            "snapshots": weights,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state`."""
        self.model.load_state_dict(state["model"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.tracker.restore(state["tracker"], self.model)
        self.history = list(state["history"])
        self.snapshots = {
            epoch: {name: tensor.numpy() for name, tensor in weights.items()}
            for epoch, weights in state["snapshots"].items()
            if epoch in self._snapshot_epochs  # a shorter training also kept its last epoch
        }
