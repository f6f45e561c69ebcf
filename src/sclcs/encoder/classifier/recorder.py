"""What is kept of every prediction: a few numbers per sample and epoch, never all classes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sclcs.encoder.classifier.network import FEATURES
from sclcs.encoder.classifier.settings import ClassifierSettings

__all__ = ["DynamicsRecorder"]

#: Numbers per sample and epoch, in the order in which they are stacked.
TRACES = ("true_probability", "other_probability", "error_norm", "margin")


class _VectorVariance:
    """Welford's running variance of the error vector, summed over classes."""

    def __init__(self, n_samples: int, n_classes: int, window: tuple[int, int]) -> None:
        self._first, self._last = window
        self._mean = torch.zeros(n_samples, n_classes)
        self._squares = torch.zeros(n_samples, dtype=torch.float64)

    def add(self, rows: Tensor, epoch: int, errors: Tensor) -> None:
        if not self._first <= epoch <= self._last:
            return
        before = self._mean[rows]
        step = errors - before
        after = before + step / (epoch - self._first + 1)
        self._mean[rows] = after
        self._squares[rows] += (step * (errors - after)).sum(1, dtype=torch.float64)

    def variance(self) -> NDArray[np.float64]:
        return np.asarray((self._squares / (self._last - self._first)).numpy())


class DynamicsRecorder:
    """Keeps the scalars from which every training-dynamics score is made.

    Parameters
    ----------
    targets : Tensor of int, shape (sample,)
        Class of each sample.
    n_classes : int
        Number of classes.
    settings : ClassifierSettings
        Number of epochs, whose features to keep, windows.
    """

    def __init__(self, targets: Tensor, n_classes: int, settings: ClassifierSettings) -> None:
        self._targets = targets
        self._feature_epoch = settings.kept_feature_epoch
        # Epochs first: what a batch writes then lies together in memory.
        self._traces = torch.full((settings.epochs, len(TRACES), len(targets)), torch.nan)
        self.features = np.zeros((len(targets), FEATURES), dtype=np.float32)
        self._variances = [
            _VectorVariance(len(targets), n_classes, window) for window in settings.variance_windows
        ]

    def add(
        self, rows: Tensor, epoch: int, logits: Tensor, log_probabilities: Tensor, features: Tensor
    ) -> None:
        """Record the predictions of some samples; call it without gradients.

        Parameters
        ----------
        rows : Tensor of int
            Which samples, on the CPU.
        epoch : int
            From 0.
        logits, log_probabilities : Tensor, shape (sample, class)
            Before and after the log-softmax.
        features : Tensor, shape (sample, 128)
            Input of the last layer.
        """
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
        for variance in self._variances:
            variance.add(rows, epoch, errors.cpu())

    def traces(self) -> dict[str, NDArray[np.float32]]:
        """Return each number as an array (sample, epoch)."""
        return {
            name: np.ascontiguousarray(self._traces[:, place].T.numpy())
            for place, name in enumerate(TRACES)
        }

    def vector_variance(self) -> NDArray[np.float64]:
        """Return the variance of the error vector (sample, window)."""
        parts = [variance.variance() for variance in self._variances]
        return np.stack(parts, axis=1) if parts else np.zeros((len(self._targets), 0))


def final_entropy(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the entropy of the predicted classes (natural units).

    In double precision: a converged network is so sure that single precision gives noise.
    """
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=1, keepdims=True)
    probabilities = np.exp(shifted)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return -np.asarray((probabilities * np.log(probabilities + 1e-10)).sum(axis=1))
