"""A compact residual network that learns a label, and how each sample fared while it did.

Its trainings serve all methods that look at training dynamics. torch is imported when training
starts, never by importing this module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from sclcs._core import InputError, Settings, checked, child_seed, name_first, setting
from sclcs.cohort import Cohort
from sclcs.coresets.training import (
    KeptTraining,
    Trained,
    choose_device,
    kept_training,
    training_identity,
)

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


DYNAMICS = "dynamics.npz"
TRACES = ("true_probability", "other_probability", "error_norm", "margin")
ARRAYS = ("classes", *TRACES, "features", "entropy")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TrainedClassifier(Trained):
    """What the classifier predicted for each sample, epoch by epoch.

    Parameters
    ----------
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
    sample_ids, history, settings, seed, fingerprint, info
        See :class:`~sclcs.coresets.training.Trained`; the history has loss and accuracy.
    """

    classes: NDArray[np.int64]
    true_probability: NDArray[np.float32]
    other_probability: NDArray[np.float32]
    error_norm: NDArray[np.float32]
    margin: NDArray[np.float32]
    features: NDArray[np.float32]
    entropy: NDArray[np.float64]

    kind: ClassVar[str] = "classifier"

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether each sample was predicted right at each epoch (sample, epoch)."""
        return self.margin > 0

    def _write(self, folder: Path) -> None:
        names = np.array(list(self.sample_ids), dtype=str)
        arrays: dict[str, Any] = {name: getattr(self, name) for name in ARRAYS}
        np.savez(folder / DYNAMICS, sample_ids=names, **arrays)

    @classmethod
    def _read(cls, folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
        with np.load(folder / DYNAMICS, allow_pickle=False) as file:
            found: dict[str, Any] = {name: file[name] for name in ARRAYS}
            found["sample_ids"] = [str(name) for name in file["sample_ids"]]
        return found | {"settings": ClassifierSettings().change(settings)}


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


def _train(
    cohort: Cohort,
    settings: ClassifierSettings,
    *,
    seed: int,
    device: str,
    checkpoint: str | os.PathLike[str] | None = None,
) -> TrainedClassifier:
    class_numbers(cohort, settings.task)  # says what is wrong before anything is read
    hardware = choose_device(device)
    from sclcs.coresets.classifier_training import prepare_classifier

    training = prepare_classifier(cohort, settings, seed, hardware)
    identity = training_identity("classifier", cohort.fingerprint, settings.to_dict(), seed)
    info = training.run(settings.epochs, checkpoint, identity.text, CHECKPOINT_EVERY)
    return training.result(cohort, info)


@checked
def train_classifier(
    cohort: Cohort,
    settings: ClassifierSettings | None = None,
    *,
    seed: int = 0,
    device: str = "auto",
    cache: str | os.PathLike[str] | bool | None = None,
    **changes: Any,  # noqa: ANN401
) -> TrainedClassifier:
    """Train the classifier on all samples and record how each fared, or take it from the cache.

    On a CPU the result is the same, bit by bit, for the same cohort, settings and seed (and
    number of threads), whatever the order of the samples in the cohort. An interrupted training
    leaves a checkpoint in the cache and continues from there.

    Parameters
    ----------
    cohort : Cohort
        What to learn; it is recognised by its fingerprint.
    settings : ClassifierSettings, optional
        The paper's by default.
    seed : int
        Of the initial weights and the batches.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
    cache : path-like or bool, optional
        Folder of the cache; the default is ``$SCLCS_CACHE`` or the user's cache folder.
        False neither reads nor writes any.
    **changes : object
        Single settings that differ, for example ``epochs=50``.

    Returns
    -------
    TrainedClassifier
    """
    chosen = (settings or ClassifierSettings()).change(changes)
    return kept_training(
        TrainedClassifier, _train, cohort, chosen, seed=seed, cache=cache, device=device
    )


class ClassifierParameters(LearningSettings, KeptTraining):
    """Parameters of every method that trains the classifier."""


class RepeatedParameters(ClassifierParameters):
    """The same for methods that average over trainings."""

    runs: int = setting("trainings with different seeds whose scores are averaged", 1, ge=1)


def settings_of(parameters: Settings) -> ClassifierSettings:
    """Return the settings of the classifier among a method's parameters, checked."""
    known = parameters.to_dict()
    names = [name for name in ClassifierSettings.model_fields if name in known]
    return ClassifierSettings(**{name: known[name] for name in names})


def train(cohort: Cohort, seed: int, parameters: ClassifierParameters) -> TrainedClassifier:
    """Train (or take from the cache) as a method's parameters say; `seed` is that of the draw."""
    return train_classifier(
        cohort,
        settings_of(parameters),
        seed=parameters.seed_of(seed),
        device=parameters.device,
        cache=parameters.cache,
    )


def train_several(
    cohort: Cohort, seed: int, parameters: RepeatedParameters
) -> list[TrainedClassifier]:
    """Train ``runs`` classifiers that differ in their seed only; the first has the seed itself."""
    first = parameters.seed_of(seed)
    more = range(1, parameters.runs)
    seeds = [first, *(child_seed(first, "classifier", "run", number) for number in more)]
    return [train(cohort, 0, parameters.change({"train_seed": one})) for one in seeds]


def training_info(*trained: TrainedClassifier) -> dict[str, Any]:
    """Return what a core-set records about its trainings."""
    return {"train_seeds": [one.seed for one in trained], "training": dict(trained[0].info)}
