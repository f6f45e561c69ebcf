"""Training the encoder: pairs of windows, the loop, and the score that runs beside it.

The structural perturbation score of a sample is the mean squared distance between its attention
maps of consecutive epochs; only one map per sample is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from sclcs._core import InputError, child_seed, generator, name_first
from sclcs.cohort import Cohort, id_order
from sclcs.coresets.attention import (
    BLOCK,
    AttentionEncoder,
    BlockMaps,
    contrastive_loss,
    workers_on,
)
from sclcs.coresets.encoder import EncoderSettings, TrainedEncoder
from sclcs.coresets.training import Training, inverse, prepare_inputs, working_array

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
        """Go through all subjects once, in an order that depends on seed and epoch only.

        Yields the row numbers of the samples of a batch and the number of their subject.
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
    # A last batch of one subject would have no negatives: it joins the one before it.
    starts = list(range(0, n_subjects, batch_subjects))
    if len(starts) > 1 and n_subjects - starts[-1] == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], n_subjects], strict=True))


def find_pairs(samples: pd.DataFrame, n_timepoints: int, *, allow_overlap: bool) -> SubjectPairs:
    """Find the pairs of windows of every subject that may (or may not) share time points."""
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
        one, other = (members[index] for index in np.triu_indices(len(members), k=1))
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


class Tracker:
    """Follows the maps during training and keeps the score: the mean move of each sample's map.

    Moves are Frobenius norms (to the power of the settings) of differences between two maps, over
    the epochs that count. With `keep_curves` all moves are kept (sample, epoch), NaN where there
    is none. One map per sample goes to a temporary file if all take more than `memory_gb`.
    """

    def __init__(
        self,
        inputs: Tensor,
        settings: EncoderSettings,
        *,
        keep_curves: bool,
        memory_gb: float | None = None,
    ) -> None:
        n_samples, n_regions, _ = inputs.shape
        self._inputs, self._settings = inputs, settings
        self._maps = working_array((n_samples, n_regions, n_regions), memory_gb)
        self._seen = np.zeros(n_samples, dtype=bool)
        self._total = np.zeros(n_samples)
        self._count = np.zeros(n_samples, dtype=np.int64)
        shape = (n_samples, settings.epochs if keep_curves else 0)
        self.curves = np.full(shape, np.nan, dtype=np.float32)
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Forget the moves of the last epoch."""
        self._epoch_total, self._epoch_count = 0.0, 0

    def add(self, rows: slice | Integers, norms: Tensor, epoch: int) -> None:
        """Add norms of differences that end at this epoch."""
        moves = norms.double().numpy() ** self._settings.power
        self._epoch_total += float(moves.sum())
        self._epoch_count += len(moves)
        if self._settings.counts(epoch):
            self._total[rows] += moves
            self._count[rows] += 1
        if self.curves.shape[1]:
            self.curves[rows, epoch - 1] = moves

    @property
    def epoch_mean(self) -> float:
        """Mean move of the samples that had one in this epoch."""
        return self._epoch_total / self._epoch_count if self._epoch_count else float("nan")

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score; infinite for a sample without any move."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self._count > 0, self._total / self._count, np.inf)

    def start(self, model: AttentionEncoder) -> None:
        """Look at the model before it is trained."""

    def after_batch(self, rows: NDArray[np.int64], maps: Tensor, epoch: int) -> None:
        """Look at the maps of a batch, computed before its update."""

    def after_epoch(self, model: AttentionEncoder, epoch: int) -> None:
        """Look at the model at the end of an epoch."""

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint keeps; the maps follow from the weights."""
        return {
            "total": torch.from_numpy(self._total.copy()),
            "count": torch.from_numpy(self._count.copy()),
            "curves": torch.from_numpy(self.curves.copy()),
        }

    def restore(self, state: Mapping[str, Tensor], model: AttentionEncoder) -> None:
        """Continue from :meth:`state` with the model of that moment."""
        self._total[:], self._count[:] = state["total"].numpy(), state["count"].numpy()
        known = state["curves"].shape[1]  # a longer training has room for more epochs
        self.curves[:, :known] = state["curves"].numpy()
        self.start(model)


class EveryEpoch(Tracker):
    """Compares the maps of all samples after every epoch with those of the epoch before."""

    def start(self, model: AttentionEncoder) -> None:
        """Take the maps of the model as it is now."""
        self._pass(model, None)

    def after_epoch(self, model: AttentionEncoder, epoch: int) -> None:
        """Compare the maps of all samples with those of the epoch before."""
        self._pass(model, epoch)

    def _pass(self, model: AttentionEncoder, epoch: int | None) -> None:
        device = model.output_weight.device
        compute = BlockMaps(model)

        def work(start: int) -> Tensor:
            rows = slice(start, start + BLOCK)
            new = compute(self._inputs[rows].to(device)).cpu()
            kept = self._maps[rows]
            norms: Tensor = torch.linalg.vector_norm(kept.sub_(new), dim=(1, 2))
            kept.copy_(new)
            return norms

        norms = torch.cat(model.workers.map(work, range(0, len(self._inputs), BLOCK)))
        if epoch is not None:
            self.add(slice(None), norms, epoch)


class LoggedMaps(Tracker):
    """Compares each drawn sample's map with the one of the last time it was drawn.

    This is what the published scripts do: maps come from the training batches, before
    their update, and gaps between two draws are of any length.
    """

    def after_batch(self, rows: NDArray[np.int64], maps: Tensor, epoch: int) -> None:
        """Compare the maps of the batch with the last ones of the same samples."""
        new = maps.detach().cpu()
        indices = torch.from_numpy(rows)
        norms = torch.linalg.vector_norm(new - self._maps[indices], dim=(1, 2))
        again = self._seen[rows]
        self.add(rows[again], norms[torch.from_numpy(again)], epoch)
        self._maps[indices] = new
        self._seen[rows] = True

    def state(self) -> dict[str, Tensor]:
        """Return the sums, and the last maps, which no later weights can give again."""
        kept = {"maps": self._maps.clone(), "seen": torch.from_numpy(self._seen.copy())}
        return super().state() | kept

    def restore(self, state: Mapping[str, Tensor], model: AttentionEncoder) -> None:
        """Put the sums and the last maps back."""
        super().restore(state, model)
        self._maps.copy_(state["maps"])
        self._seen[:] = state["seen"].numpy()


TRACKERS: dict[str, type[Tracker]] = {"every-epoch": EveryEpoch, "logged": LoggedMaps}


def snapshot_epochs(epochs: int) -> set[int]:
    """Return the epochs whose weights are kept: 0, 1, 2, 5, 10, 20, ... and the last."""
    steps = {int(digit * 10**power) for power in range(8) for digit in (1, 2, 5)}
    return {0, epochs} | {step for step in steps if step < epochs}


@dataclass
class EncoderTraining(Training):
    """An encoder in training, with what follows its maps and what batches are drawn from."""

    model: AttentionEncoder
    inputs: Tensor
    pairs: SubjectPairs
    tracker: Tracker
    seed: int
    history: list[dict[str, float]] = field(default_factory=list)
    snapshots: dict[int, dict[str, NDArray[np.float32]]] = field(default_factory=dict)

    kind: ClassVar[str] = "encoder"

    def __post_init__(self) -> None:
        self.settings = self.model.settings
        self.start_optimiser(self.settings.learning_rate, self.settings.weight_decay)
        self._snapshot_epochs = snapshot_epochs(self.settings.epochs)

    def begin(self) -> None:
        """Look at the untrained model."""
        self.tracker.start(self.model)
        self.snapshots[0] = self.model.export()

    def run(self, *arguments: Any, **options: Any) -> dict[str, Any]:  # noqa: ANN401
        """Train with one worker per thread."""
        with workers_on(self.model.output_weight.device) as self.model.workers:
            return super().run(*arguments, **options)

    def train_epoch(self) -> None:
        """Go through all subjects once, then look at all maps."""
        self.tracker.begin_epoch()
        loss_sum, n_pairs = 0.0, 0
        batches = self.pairs.batches(self.settings.batch_subjects, self.seed, self.epoch)
        for number, (rows, subjects) in enumerate(batches):
            pairs = 2 * (len(rows) - len(np.unique(subjects)))
            loss_sum += pairs * self._train_batch(rows, subjects, number)
            n_pairs += pairs
        self.tracker.after_epoch(self.model, self.epoch)
        heads = self.model.head_weights.detach().cpu().tolist()
        row = {"epoch": self.epoch, "loss": loss_sum / max(n_pairs, 1)}
        row["perturbation"] = self.tracker.epoch_mean
        self.history.append(row | {f"head_{head}": weight for head, weight in enumerate(heads)})
        if self.epoch in self._snapshot_epochs:
            self.snapshots[self.epoch] = self.model.export()

    def _train_batch(self, rows: Integers, subjects: Integers, number: int) -> float:
        settings = self.settings
        device = self.model.output_weight.device
        dropout = torch.Generator(device=device).manual_seed(
            child_seed(self.seed, "encoder", "dropout", self.epoch, number)
        )
        embeddings, maps = self.model(self.inputs[torch.from_numpy(rows)].to(device), dropout)
        self.tracker.after_batch(rows, maps, self.epoch)
        if len(rows) == len(np.unique(subjects)):
            return 0.0  # only subjects with one window: nothing to learn from
        loss = contrastive_loss(
            embeddings,
            torch.from_numpy(subjects).to(device),
            temperature=settings.temperature,
            denominator=settings.denominator,
        )
        if settings.attention_l1:
            loss = loss + settings.attention_l1 * maps.abs().mean()
        return self.update(loss, settings.learning_rate)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps besides model, optimiser and history."""
        weights = {
            epoch: {name: torch.from_numpy(array) for name, array in arrays.items()}
            for epoch, arrays in self.snapshots.items()
        }
        return {"tracker": self.tracker.state(), "snapshots": weights}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state`."""
        self.tracker.restore(state["tracker"], self.model)
        self.snapshots = {
            epoch: {name: tensor.numpy() for name, tensor in weights.items()}
            for epoch, weights in state["snapshots"].items()
            if epoch in self._snapshot_epochs  # a shorter training also kept its last epoch
        }

    def result(self, cohort: Cohort, info: dict[str, Any]) -> TrainedEncoder:
        """Return the scores, in the order of the cohort's rows."""
        back = inverse(id_order(cohort.sample_ids))
        return TrainedEncoder(
            sample_ids=cohort.sample_ids,
            scores=self.tracker.scores[back],
            history=self.table(),
            settings=self.settings,
            seed=self.seed,
            fingerprint=cohort.fingerprint,
            snapshots=self.snapshots,
            curves=self.tracker.curves[back] if self.tracker.curves.size else None,
            info=info,
        )


def prepare_encoder(
    cohort: Cohort,
    settings: EncoderSettings,
    seed: int,
    device: torch.device,
    *,
    keep_curves: bool,
    memory_gb: float | None,
) -> EncoderTraining:
    """Read the signals, in the order of sample ids, and build model, tracker and loop."""
    order = id_order(cohort.sample_ids)
    pairs = find_pairs(
        cohort.samples.iloc[order], cohort.n_timepoints, allow_overlap=settings.allow_overlap
    )
    inputs = prepare_inputs(cohort, order, settings.input_norm, memory_gb)
    model = AttentionEncoder(settings, cohort.n_timepoints, seed).to(device)
    kind = TRACKERS[settings.tracking]
    tracker = kind(inputs, settings, keep_curves=keep_curves, memory_gb=memory_gb)
    return EncoderTraining(model, inputs, pairs, tracker, seed)
