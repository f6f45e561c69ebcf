"""Training the classifier on a cohort."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.sample_order import id_order
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError, name_first
from sclcs.core.provenance import versions
from sclcs.encoder.classifier.settings import ClassifierSettings
from sclcs.encoder.classifier.trained import TrainedClassifier
from sclcs.encoder.identity import training_identity
from sclcs.encoder.train import choose_device

if TYPE_CHECKING:
    import torch

    from sclcs.encoder.classifier.training import ClassifierTraining

__all__ = ["class_numbers", "train_classifier"]


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
    from sclcs.encoder.scratch import Scratch

    started = time.perf_counter()
    with Scratch() as scratch:
        training = prepare_training(cohort, chosen, seed, place, scratch)
        identity = training_identity("classifier", cohort.fingerprint, chosen.to_dict(), seed)
        training.run(Path(checkpoint) if checkpoint else None, identity.text)
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

    from sclcs.encoder.classifier.network import ResidualClassifier
    from sclcs.encoder.classifier.recorder import DynamicsRecorder
    from sclcs.encoder.classifier.training import ClassifierTraining
    from sclcs.encoder.inputs import prepare_inputs

    # The encoder's inputs end with a constant feature, which convolutions do not need.
    order = id_order(cohort.sample_ids)
    numbers = class_numbers(cohort, settings.task)
    inputs = prepare_inputs(cohort, order, settings.input_norm, scratch)[:, :, :-1]
    targets = torch.from_numpy(numbers[order])
    n_classes = int(numbers.max()) + 1
    model = ResidualClassifier(cohort.n_regions, n_classes, settings.dimensions, seed)
    recorder = DynamicsRecorder(targets, n_classes, settings)
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

    from sclcs.encoder.classifier.recorder import final_entropy

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
        vector_variance=recorder.vector_variance()[place],
        history=pd.DataFrame(training.history).astype({"epoch": np.int64}),
        settings=training.settings,
        seed=training.seed,
        fingerprint=cohort.fingerprint,
        facts=facts,
    )
