"""The compact residual network, what records how it learns, and its training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sclcs._core import child_seed, generator
from sclcs.cohort import Cohort, id_order
from sclcs.coresets.classifier import TRACES, ClassifierSettings, TrainedClassifier, class_numbers
from sclcs.coresets.training import Training, inverse, prepare_inputs

# mypy: disable-error-code="misc,no-untyped-call"

#: Output channels and stride of the three blocks.
BLOCKS = ((32, 1), (64, 2), (128, 2))
FEATURES = BLOCKS[-1][0]
_STEM_CHANNELS, _STEM_KERNEL = 32, 7


def _convolution(n_in: int, n_out: int, kernel: int, stride: int = 1) -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(n_in, n_out, kernel, stride=stride, padding=kernel // 2, bias=False),
        nn.BatchNorm1d(n_out),
    )


class _Block(nn.Module):
    """Two convolutions around which the input is carried."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.first = _convolution(n_in, n_out, 3, stride)
        self.second = _convolution(n_out, n_out, 3)
        same_shape = n_in == n_out and stride == 1
        self.shortcut = nn.Identity() if same_shape else _convolution(n_in, n_out, 1, stride)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = functional.relu(self.first(inputs), inplace=True)
        return functional.relu(self.second(hidden) + self.shortcut(inputs), inplace=True)


class ResidualClassifier(nn.Module):
    """Classify windows (region, time): regions are the channels of one-dimensional convolutions.

    Each initial weight has its own generator; the global one is left alone.
    """

    def __init__(self, n_regions: int, n_classes: int, seed: int = 0) -> None:
        super().__init__()
        # Layers draw initial weights as they are made; those are replaced below.
        with torch.random.fork_rng(devices=[]):
            self.stem = _convolution(n_regions, _STEM_CHANNELS, _STEM_KERNEL)
            before = (_STEM_CHANNELS, *(n_out for n_out, _ in BLOCKS[:-1]))
            self.blocks = nn.Sequential(
                *(
                    _Block(n_in, n_out, stride)
                    for n_in, (n_out, stride) in zip(before, BLOCKS, strict=True)
                )
            )
            self.output = nn.Linear(FEATURES, n_classes)
        self._initialise(seed)

    def _initialise(self, seed: int) -> None:
        for name, weight in self.named_parameters():
            rng = torch.Generator().manual_seed(child_seed(seed, "classifier", name))
            if name.startswith("output"):  # the range that torch.nn.Linear uses
                nn.init.uniform_(weight, -(FEATURES**-0.5), FEATURES**-0.5, generator=rng)
            elif weight.ndim > 1:
                nn.init.kaiming_normal_(weight, mode="fan_out", nonlinearity="relu", generator=rng)

    def forward(self, windows: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits (sample, class) and penultimate features (sample, 128)."""
        hidden = self.blocks(functional.relu(self.stem(windows), inplace=True))
        features = hidden.flatten(2).mean(2)
        return self.output(features), features


class DynamicsRecorder:
    """Keeps the numbers per sample and epoch from which every score of dynamics is made."""

    def __init__(self, targets: Tensor, settings: ClassifierSettings) -> None:
        self._targets = targets
        self._feature_epoch = settings.kept_feature_epoch
        # Epochs first: what a batch writes then lies together in memory.
        self._traces = torch.full((settings.epochs, len(TRACES), len(targets)), torch.nan)
        self.features = np.zeros((len(targets), FEATURES), dtype=np.float32)

    def add(
        self, rows: Tensor, epoch: int, logits: Tensor, log_probabilities: Tensor, features: Tensor
    ) -> None:
        """Record the predictions of some samples (rows on the CPU), without gradients."""
        truth = self._targets[rows].to(logits.device)[:, None]
        true_logit = logits.gather(1, truth)
        other_logit = logits.scatter(1, truth, -torch.inf).amax(1, keepdim=True)
        normaliser = true_logit - log_probabilities.gather(1, truth)
        errors = log_probabilities.exp()
        true_probability = errors.gather(1, truth)
        errors.scatter_(1, truth, true_probability - 1)
        numbers = torch.cat(
            [
                true_probability,
                (other_logit - normaliser).exp(),
                torch.linalg.vector_norm(errors, dim=1, keepdim=True),
                true_logit - other_logit,
            ],
            dim=1,
        )
        self._traces[epoch][:, rows] = numbers.T.cpu()
        if epoch == self._feature_epoch:
            self.features[rows.numpy()] = features.cpu().numpy()

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` needs to go on."""
        return {
            "traces": self._traces,
            "features": torch.from_numpy(self.features),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self._traces = state["traces"]
        self.features = state["features"].numpy()

    def traces(self) -> dict[str, NDArray[np.float32]]:
        """Return each number as an array (sample, epoch)."""
        return {
            name: np.ascontiguousarray(self._traces[:, index].T.numpy())
            for index, name in enumerate(TRACES)
        }


def final_entropy(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the entropy of the predicted classes (natural units).

    In double precision: a converged network is so sure that single precision gives noise.
    """
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=1, keepdims=True)
    probabilities = np.exp(shifted)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return -np.asarray((probabilities * np.log(probabilities + 1e-10)).sum(axis=1))


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
class ClassifierTraining(Training):
    """A classifier in training; the recorder is None only to measure what recording costs."""

    model: ResidualClassifier
    inputs: Tensor
    targets: Tensor
    settings: ClassifierSettings
    seed: int
    recorder: DynamicsRecorder | None
    history: list[dict[str, float]] = field(default_factory=list)

    kind: ClassVar[str] = "classifier"

    def __post_init__(self) -> None:
        self._device = next(self.model.parameters()).device
        self.start_optimiser(self.settings.learning_rate, self.settings.weight_decay)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps besides model, optimiser and history."""
        return {"recorder": self.recorder.state() if self.recorder else None}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state`."""
        if self.recorder is not None:
            self.recorder.restore(state["recorder"])

    def train_epoch(self) -> None:
        """Go through all samples once, and through them again if predictions are recorded after."""
        epoch = self.epoch - 1  # recorded epochs count from 0
        self.model.train()
        loss_sum, right = 0.0, 0
        for rows in batches(len(self.inputs), self.settings.batch_size, self.seed, epoch):
            loss, n_right = self._train_batch(rows, epoch)
            loss_sum += loss * len(rows)
            right += n_right
        n_samples = len(self.inputs)
        means = {"loss": loss_sum / n_samples, "accuracy": right / n_samples}
        self.history.append({"epoch": epoch, **means})
        if self.settings.record == "eval" and self.recorder is not None:
            self._record_all(epoch)

    def _train_batch(self, rows: Tensor, epoch: int) -> tuple[float, int]:
        logits, features = self.model(self.inputs[rows].to(self._device))
        truth = self.targets[rows].to(self._device)
        log_probabilities = functional.log_softmax(logits, dim=1)
        loss = functional.nll_loss(log_probabilities, truth)
        right = int((logits.detach().argmax(1) == truth).sum())
        if self.settings.record == "train" and self.recorder is not None:
            with torch.no_grad():
                self.recorder.add(
                    rows, epoch, logits.detach(), log_probabilities.detach(), features.detach()
                )
        return self.update(loss, self.settings.learning_rate), right

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

    def result(self, cohort: Cohort, info: dict[str, Any]) -> TrainedClassifier:
        """Return the dynamics, in the order of the cohort's rows."""
        assert self.recorder is not None  # noqa: S101 (prepare_classifier makes one)
        back = inverse(id_order(cohort.sample_ids))
        last = {
            "classes": int(self.targets.max()) + 1,
            "final_accuracy": self.history[-1]["accuracy"],
        }
        return TrainedClassifier(
            sample_ids=cohort.sample_ids,
            classes=np.asarray(self.targets.numpy())[back],
            **{name: trace[back] for name, trace in self.recorder.traces().items()},
            features=self.recorder.features[back],
            entropy=final_entropy(self.final_logits())[back],
            history=self.table(),
            settings=self.settings,
            seed=self.seed,
            fingerprint=cohort.fingerprint,
            info=info | last,
        )


def prepare_classifier(
    cohort: Cohort, settings: ClassifierSettings, seed: int, device: torch.device
) -> ClassifierTraining:
    """Read the signals, in the order of sample ids, and build model, recorder and loop."""
    order = id_order(cohort.sample_ids)
    numbers = class_numbers(cohort, settings.task)
    # The inputs end with a constant feature for the encoder, which convolutions do not need.
    inputs = prepare_inputs(cohort, order, settings.input_norm)[:, :, :-1]
    targets = torch.from_numpy(numbers[order])
    model = ResidualClassifier(cohort.n_regions, int(numbers.max()) + 1, seed).to(device)
    recorder = DynamicsRecorder(targets, settings)
    return ClassifierTraining(model, inputs, targets, settings, seed, recorder)
