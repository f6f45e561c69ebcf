"""The classifier behind the training-dynamics methods: its parameters, and its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.core.seeds import child_seed
from sclcs.encoder.classifier.cache import trained_classifier
from sclcs.encoder.classifier.run import ClassifierRun
from sclcs.encoder.classifier.settings import ClassifierSettings

__all__ = ["TRAINING", "TRAINING_HELP", "run_facts", "settings_of", "train", "train_runs"]

#: Parameters of every method that trains the classifier.
TRAINING: dict[str, Any] = {
    **{
        setting.name: setting.default
        for setting in fields(ClassifierSettings)
        if setting.name not in ("feature_epoch", "variance_windows")
    },
    "train_seed": None,
    "device": "auto",
    "cache": None,
}
TRAINING_HELP = {
    "task": "the column the classifier learns: subject, diagnosis, site, ...",
    "dimensions": "1: convolve over time, regions are channels; 2: over an image (region, time)",
    "epochs": "length of training",
    "learning_rate": "of Adam",
    "weight_decay": "of Adam, as part of the gradient",
    "batch_size": "samples per batch; the last batch is kept",
    "scheduler": "constant, or cosine: down to 1e-4 along a half cosine",
    "record": "predictions of the pass that trains (train), or of an extra pass (eval)",
    "input_norm": "zscore: standardise each region in its window; none",
    "train_seed": "seed of the training, if it should differ from the seed of the draw",
    "device": "auto, cpu, cuda, cuda:1, ...",
    "cache": "folder of finished trainings; False keeps none",
}


def settings_of(parameters: Mapping[str, Any], **extra: Any) -> ClassifierSettings:  # noqa: ANN401
    """Return the settings of the classifier among a method's parameters, checked."""
    names = [field.name for field in fields(ClassifierSettings) if field.name in parameters]
    return ClassifierSettings(**{name: parameters[name] for name in names}, **extra)


def train(cohort: Cohort, seed: int, parameters: Mapping[str, Any], **extra: Any) -> ClassifierRun:  # noqa: ANN401
    """Train the classifier (or take it from the cache) as a method's parameters say.

    Parameters
    ----------
    cohort : Cohort
        What to learn.
    seed : int
        Used if ``train_seed`` is None.
    parameters : mapping
        At least the names of :data:`TRAINING`.
    **extra : object
        Further settings of the classifier.

    Returns
    -------
    ClassifierRun
    """
    train_seed = parameters["train_seed"]
    return trained_classifier(
        cohort,
        settings_of(parameters, **extra),
        seed=seed if train_seed is None else train_seed,
        device=parameters["device"],
        cache=parameters["cache"],
    )


def train_runs(
    cohort: Cohort,
    seed: int,
    parameters: Mapping[str, Any],
    **extra: Any,  # noqa: ANN401
) -> list[ClassifierRun]:
    """Train ``runs`` classifiers that differ in their seed only; the first has the seed itself."""
    runs = parameters["runs"]
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise InputError(f"Expected runs to be a whole number of at least 1, got {runs!r}.")
    first = seed if parameters["train_seed"] is None else parameters["train_seed"]
    seeds = [first, *(child_seed(first, "classifier", "run", place) for place in range(1, runs))]
    return [
        train(cohort, seed, {**parameters, "train_seed": run_seed}, **extra) for run_seed in seeds
    ]


def run_facts(*runs: ClassifierRun) -> dict[str, Any]:
    """Return what is recorded about trainings."""
    return {"train_seeds": [run.seed for run in runs], "training": dict(runs[0].facts)}
