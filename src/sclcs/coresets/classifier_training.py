"""The classifier behind the training-dynamics methods: its parameters, and its trainings."""

from __future__ import annotations

import os
from typing import Any

from sclcs._core import Settings, child_seed, setting
from sclcs.cohort import Cohort
from sclcs.coresets.classifier.train import (
    ClassifierSettings,
    LearningSettings,
    TrainedClassifier,
    trained_classifier,
)

__all__ = [
    "ClassifierParameters",
    "KeptTraining",
    "RepeatedParameters",
    "settings_of",
    "train",
    "train_several",
    "training_facts",
]


class KeptTraining(Settings):
    """Where a training runs and is kept: parameters of every method that trains a network."""

    train_seed: int | None = setting(
        "seed of the training, if it should differ from the seed of the draw", None, ge=0
    )
    device: str = setting("auto, cpu, cuda, cuda:1, ...", "auto", decides=False)
    cache: str | os.PathLike[str] | bool | None = setting(
        "folder of finished trainings; False keeps none", None, decides=False
    )


class ClassifierParameters(LearningSettings, KeptTraining):
    """Parameters of every method that trains the classifier."""


class RepeatedParameters(ClassifierParameters):
    """The same for methods that average over trainings."""

    runs: int = setting("trainings with different seeds whose scores are averaged", 1, ge=1)


def settings_of(parameters: Settings, **extra: Any) -> ClassifierSettings:  # noqa: ANN401
    """Return the settings of the classifier among a method's parameters, checked."""
    known = parameters.to_dict()
    names = [name for name in ClassifierSettings.model_fields if name in known]
    return ClassifierSettings(**{name: known[name] for name in names}, **extra)


def train(
    cohort: Cohort,
    seed: int,
    parameters: ClassifierParameters,
    **extra: Any,  # noqa: ANN401
) -> TrainedClassifier:
    """Train the classifier (or take it from the cache) as a method's parameters say.

    Parameters
    ----------
    cohort : Cohort
        What to learn.
    seed : int
        Used if ``train_seed`` is None.
    parameters : ClassifierParameters
    **extra : object
        Further settings of the classifier.
    """
    return trained_classifier(
        cohort,
        settings_of(parameters, **extra),
        seed=seed if parameters.train_seed is None else parameters.train_seed,
        device=parameters.device,
        cache=parameters.cache,
    )


def train_several(
    cohort: Cohort,
    seed: int,
    parameters: RepeatedParameters,
    **extra: Any,  # noqa: ANN401
) -> list[TrainedClassifier]:
    """Train ``runs`` classifiers that differ in their seed only; the first has the seed itself."""
    first = seed if parameters.train_seed is None else parameters.train_seed
    more = range(1, parameters.runs)
    seeds = [first, *(child_seed(first, "classifier", "run", place) for place in more)]
    return [
        train(cohort, seed, parameters.change({"train_seed": run_seed}), **extra)
        for run_seed in seeds
    ]


def training_facts(*trained: TrainedClassifier) -> dict[str, Any]:
    """Return what is recorded about trainings."""
    return {"train_seeds": [one.seed for one in trained], "training": dict(trained[0].facts)}
