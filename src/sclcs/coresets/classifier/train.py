"""A compact residual network that learns a label, and how each sample fared while it did.

torch is imported when training starts, never by importing this package.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import model_validator

from sclcs._core import InputError, Settings, checked, name_first, setting, versions
from sclcs.cohort import Cohort, id_order
from sclcs.coresets.encoder.train import (
    cache_place,
    choose_device,
    kept_training,
    training_identity,
)
from sclcs.coresets.encoder.trained import reading_training, training_facts, writing_training

if TYPE_CHECKING:
    import torch

    from sclcs.coresets.classifier.training import ClassifierTraining

__all__ = [
    "ClassifierSettings",
    "LearningSettings",
    "TrainedClassifier",
    "class_numbers",
    "train_classifier",
    "trained_classifier",
]


CHECKPOINT_EVERY = 10
#: Epoch (the first is 0) whose features are kept, if there are that many.
USUAL_FEATURE_EPOCH = 10


class LearningSettings(Settings):
    """How the classifier learns: what its settings share with the methods that train it."""

    task: str = setting(
        "the column the classifier learns: subject, diagnosis, site, ...", "subject"
    )
    epochs: int = setting("length of training", 200, ge=1)
    learning_rate: float = setting("of Adam", 0.01, ge=0)
    weight_decay: float = setting("of Adam, as part of the gradient", 1e-4, ge=0)
    batch_size: int = setting("samples per batch; the last batch is kept", 256, ge=2)
    record: Literal["train", "eval"] = setting(
        "predictions of the pass that trains (train), or of an extra pass (eval)", "train"
    )
    input_norm: Literal["zscore", "none"] = setting(
        "zscore: standardise each region in its window; none", "zscore"
    )


class ClassifierSettings(LearningSettings):
    """How the classifier is built, trained and watched; the defaults are the paper's.

    Epochs are counted from 0. What the fields mean: ``ClassifierSettings.helps()``.
    """

    feature_epoch: int | None = setting(
        "epoch of the features that are kept; 10, or the last", None
    )

    @classmethod
    def noun(cls) -> str:
        """Return what a field is called."""
        return "classifier setting"

    @model_validator(mode="after")
    def _check_epochs(self) -> Self:
        known = range(self.epochs)
        if self.feature_epoch is not None and self.feature_epoch not in known:
            raise ValueError(
                f"Expected feature_epoch to be an epoch from 0 to {self.epochs - 1} (of "
                f"{self.epochs}), got {self.feature_epoch!r}."
            )
        return self

    @property
    def kept_feature_epoch(self) -> int:
        """The epoch whose features are kept."""
        if self.feature_epoch is not None:
            return self.feature_epoch
        return min(USUAL_FEATURE_EPOCH, self.epochs - 1)


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
)


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
    history : DataFrame
        One row per epoch: epoch, loss, accuracy.
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
    def open(cls, path: str | os.PathLike[str]) -> TrainedClassifier:
        """Read a training written by :meth:`save`."""
        with reading_training(path, KIND) as (folder, stored):
            with np.load(folder / DYNAMICS, allow_pickle=False) as file:
                arrays = {name: file[name] for name in ARRAYS}
                names = [str(name) for name in file["sample_ids"]]
            settings = ClassifierSettings().change(stored["settings"])
            return cls(names, **arrays, settings=settings, **training_facts(folder, stored))


def class_numbers(cohort: Cohort, task: str) -> NDArray[np.int64]:
    """Give the classes of a column numbers from 0, in alphabetical order.

    Parameters
    ----------
    cohort : Cohort
        Where the column is.
    task : str
        Name of the column.

    Returns
    -------
    array of int
        One class per sample.

    Raises
    ------
    InputError
        If a sample has no value, there are fewer than two classes, or the column holds
        measurements rather than classes.
    """
    column = cohort.labels(task)
    missing = column.index[column.isna()]
    if len(missing):
        raise InputError(
            f"Every sample needs a value of {task} to learn it, but it is missing for "
            f"{name_first(missing)}; leave these samples out or choose another task."
        )
    if column.dtype.kind == "f" and not (column == column.round()).all():
        raise InputError(
            f"The task needs a column of classes, but {task} holds measurements such as "
            f"{name_first(column.unique(), 3)}; choose subject, diagnosis, site or the like."
        )
    names, numbers = np.unique(column.to_numpy().astype(str), return_inverse=True)
    if len(names) < 2:
        raise InputError(
            f"Learning {task} needs at least 2 classes, but all samples are {name_first(names)}; "
            "choose another task."
        )
    return numbers.astype(np.int64)


@checked
def train_classifier(
    cohort: Cohort,
    settings: ClassifierSettings | None = None,
    *,
    seed: int = 0,
    device: str = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    **changes: Any,  # noqa: ANN401
) -> TrainedClassifier:
    """Train the classifier on all samples and record how each fared.

    On a CPU the result is the same, bit by bit, for the same cohort, settings and seed (and
    number of threads), whatever the order of the samples in the cohort.

    Parameters
    ----------
    cohort : Cohort
        What to learn.
    settings : ClassifierSettings, optional
        The paper's by default.
    seed : int
        Of the initial weights and the batches.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
    checkpoint : path-like, optional
        A file from which an interrupted training continues; written every ten epochs.
    **changes : object
        Single settings that differ, for example ``epochs=50``.

    Returns
    -------
    TrainedClassifier
    """
    chosen = (settings or ClassifierSettings()).change(changes)
    class_numbers(cohort, chosen.task)  # says what is wrong before anything is read
    place = choose_device(device)
    from sclcs.coresets.encoder.score import Scratch

    started = time.perf_counter()
    with Scratch() as scratch:
        training = prepare_training(cohort, chosen, seed, place, scratch)
        identity = training_identity("classifier", cohort.fingerprint, chosen.to_dict(), seed)
        place_of = Path(checkpoint) if checkpoint else None
        training.run_epochs("classifier", chosen.epochs, place_of, identity.text, CHECKPOINT_EVERY)
        logits = training.final_logits()
    facts = _facts(training, place) | {"seconds": round(time.perf_counter() - started, 3)}
    return _collect(cohort, training, logits, facts)


def prepare_training(
    cohort: Cohort,
    settings: ClassifierSettings,
    seed: int,
    device: torch.device,
    scratch: Any,  # noqa: ANN401 (Scratch; its module imports torch)
) -> ClassifierTraining:
    """Read the signals, in the order of sample ids, and build model, recorder and loop."""
    import torch

    from sclcs.coresets.classifier.training import (
        ClassifierTraining,
        DynamicsRecorder,
        ResidualClassifier,
    )
    from sclcs.coresets.encoder.training import prepare_inputs

    # The encoder's inputs end with a constant feature, which convolutions do not need.
    order = id_order(cohort.sample_ids)
    numbers = class_numbers(cohort, settings.task)
    inputs = prepare_inputs(cohort, order, settings.input_norm, scratch)[:, :, :-1]
    targets = torch.from_numpy(numbers[order])
    n_classes = int(numbers.max()) + 1
    model = ResidualClassifier(cohort.n_regions, n_classes, seed)
    recorder = DynamicsRecorder(targets, settings)
    return ClassifierTraining(model.to(device), inputs, targets, settings, seed, recorder)


def _facts(training: ClassifierTraining, device: torch.device) -> dict[str, Any]:
    import torch

    return {
        "device": str(device),
        "threads": torch.get_num_threads(),
        "parameters": sum(weight.numel() for weight in training.model.parameters()),
        "classes": int(training.targets.max()) + 1,
        "final_accuracy": training.history[-1]["accuracy"],
        "versions": versions() | {"torch": str(torch.__version__)},
    }


def _collect(
    cohort: Cohort,
    training: ClassifierTraining,
    logits: NDArray[np.float32],
    facts: dict[str, Any],
) -> TrainedClassifier:
    import pandas as pd

    from sclcs.coresets.classifier.training import final_entropy

    recorder = training.recorder
    assert recorder is not None  # noqa: S101 (prepare_training makes one)
    place = np.argsort(
        id_order(cohort.sample_ids), kind="stable"
    )  # where each row of the cohort went
    return TrainedClassifier(
        sample_ids=cohort.sample_ids,
        classes=np.asarray(training.targets.numpy())[place],
        **{name: trace[place] for name, trace in recorder.traces().items()},
        features=recorder.features[place],
        entropy=final_entropy(logits)[place],
        history=pd.DataFrame(training.history).astype({"epoch": np.int64}),
        settings=training.settings,
        seed=training.seed,
        fingerprint=cohort.fingerprint,
        facts=facts,
    )


@checked
def trained_classifier(
    cohort: Cohort,
    settings: ClassifierSettings | None = None,
    *,
    seed: int = 0,
    device: str = "auto",
    cache: str | os.PathLike[str] | bool | None = None,
    **changes: Any,  # noqa: ANN401
) -> TrainedClassifier:
    """Return a training from the cache, or train as :func:`train_classifier` does and keep it.

    An interrupted training leaves a checkpoint in the cache and continues from there.

    Parameters
    ----------
    cohort, settings, seed, device, **changes
        As for :func:`train_classifier`; the cohort is recognised by its fingerprint.
    cache : path-like or bool, optional
        Folder of the cache; the default is ``$SCLCS_CACHE`` or the user's cache folder.
        False neither reads nor writes any.

    Returns
    -------
    TrainedClassifier
    """
    chosen = (settings or ClassifierSettings()).change(changes)
    if cache is False:
        return train_classifier(cohort, chosen, seed=seed, device=device)
    identity = training_identity("classifier", cohort.fingerprint, chosen.to_dict(), seed)

    def train(checkpoint: Path) -> TrainedClassifier:
        return train_classifier(cohort, chosen, seed=seed, device=device, checkpoint=checkpoint)

    place = cache_place(cache, f"{chosen.epochs}epochs-", identity)
    return kept_training(place, TrainedClassifier.open, train)
