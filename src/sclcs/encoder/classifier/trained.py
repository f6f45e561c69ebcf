"""A finished training of the classifier: what happened to every sample."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.core.arguments import checked, checked_methods
from sclcs.encoder.classifier.settings import ClassifierSettings
from sclcs.encoder.training_folder import reading_training, training_facts, writing_training

__all__ = ["TrainedClassifier"]

KIND = "trained classifier"
DYNAMICS = "dynamics.npz"
ARRAYS = (
    "classes",
    "true_probability",
    "other_probability",
    "error_norm",
    "margin",
    "features",
    "entropy",
    "vector_variance",
)


@checked_methods
@dataclass(frozen=True, eq=False)
class TrainedClassifier:
    """What the classifier predicted for each sample, epoch by epoch.

    Parameters
    ----------
    sample_ids : sequence of str
        All samples of the cohort, in its order.
    classes : array of int
        Class of each sample, a number from 0.
    true_probability, other_probability : array, shape (sample, epoch)
        Predicted probability of the sample's class, and the highest of another class.
    error_norm : array, shape (sample, epoch)
        Euclidean norm of predicted minus true (one-hot) probabilities.
    margin : array, shape (sample, epoch)
        Logit of the sample's class minus the highest logit of another class; the prediction
        was right where it is positive.
    features : array, shape (sample, 128)
        Input of the last layer at one epoch.
    entropy : array of float
        Of the trained network's prediction, in evaluation mode.
    vector_variance : array, shape (sample, window)
        Variance of the whole prediction over windows of epochs, if asked for.
    history : DataFrame
        One row per epoch: epoch, loss, accuracy, learning_rate.
    settings : ClassifierSettings
        Of the training.
    seed : int
        Of the training.
    fingerprint : str
        Of the cohort.
    facts : mapping
        Device, threads, seconds, versions.
    """

    sample_ids: Sequence[str]
    classes: NDArray[np.int64]
    true_probability: NDArray[np.float32]
    other_probability: NDArray[np.float32]
    error_norm: NDArray[np.float32]
    margin: NDArray[np.float32]
    features: NDArray[np.float32]
    entropy: NDArray[np.float64]
    vector_variance: NDArray[np.float64]
    history: pd.DataFrame
    settings: ClassifierSettings
    seed: int
    fingerprint: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"TrainedClassifier({len(self.sample_ids)} samples, task {self.settings.task!r}, "
            f"{self.settings.epochs} epochs, seed {self.seed})"
        )

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether each sample was predicted right at each epoch (sample, epoch)."""
        return self.margin > 0

    @checked
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the training as a folder of CSV, JSON and npz; :meth:`open` reads it back.

        Parameters
        ----------
        path : path-like
            A folder that does not exist yet.

        Returns
        -------
        Path
            The folder.
        """
        arrays: dict[str, Any] = {name: getattr(self, name) for name in ARRAYS}
        arrays["sample_ids"] = np.array(list(self.sample_ids), dtype=str)
        with writing_training(path, KIND, self) as folder:
            np.savez(folder / DYNAMICS, **arrays)
        return Path(path)

    @classmethod
    @checked
    def open(cls, path: str | os.PathLike[str]) -> TrainedClassifier:
        """Read a training written by :meth:`save`."""
        with reading_training(path, KIND) as (folder, stored):
            with np.load(folder / DYNAMICS, allow_pickle=False) as file:
                arrays = {name: file[name] for name in ARRAYS}
                names = [str(name) for name in file["sample_ids"]]
            settings = ClassifierSettings().change(stored["settings"])
            return cls(names, **arrays, settings=settings, **training_facts(folder, stored))
