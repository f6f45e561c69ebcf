"""Trainings of the classifier are kept: one serves every score made from its dynamics."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.core.arguments import checked
from sclcs.encoder.cache import cache_place, kept_training
from sclcs.encoder.classifier.settings import ClassifierSettings
from sclcs.encoder.classifier.train import train_classifier
from sclcs.encoder.classifier.trained import TrainedClassifier
from sclcs.encoder.identity import training_identity

__all__ = ["trained_classifier"]


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
    """Return a training from the cache, or train and keep it.

    An interrupted training leaves a checkpoint in the cache and continues from there.

    Parameters
    ----------
    cohort : Cohort
        What to train on; recognised by its fingerprint.
    settings : ClassifierSettings, optional
        The paper's by default.
    seed : int
        Of the training.
    device : str
        See :func:`~sclcs.encoder.classifier.train.train_classifier`.
    cache : path-like or bool, optional
        Folder of the cache; the default is ``$SCLCS_CACHE`` or the user's cache folder.
        False neither reads nor writes any.
    **changes : object
        Single settings that differ.

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
