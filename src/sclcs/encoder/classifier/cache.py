"""Trainings of the classifier are kept: one serves every score made from its dynamics."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.encoder.cache import cache_place, kept_run
from sclcs.encoder.classifier.run import ClassifierRun
from sclcs.encoder.classifier.settings import ClassifierSettings
from sclcs.encoder.classifier.train import train_classifier

__all__ = ["trained_classifier"]

#: Raised when the same settings would give other dynamics than before.
ALGORITHM_VERSION = 1


def trained_classifier(
    cohort: Cohort,
    settings: ClassifierSettings | None = None,
    *,
    seed: int = 0,
    device: str = "auto",
    cache: str | os.PathLike[str] | bool | None = None,
    **changes: Any,  # noqa: ANN401
) -> ClassifierRun:
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
    ClassifierRun
    """
    chosen = (settings or ClassifierSettings()).change(changes)
    if cache is False:
        return train_classifier(cohort, chosen, seed=seed, device=device)
    # The device is no part of the place: it decides last digits only.
    facts = {
        "version": ALGORITHM_VERSION,
        "cohort": cohort.fingerprint,
        "settings": chosen.to_dict(),
        "seed": seed,
    }

    def train(checkpoint: Path) -> ClassifierRun:
        return train_classifier(cohort, chosen, seed=seed, device=device, checkpoint=checkpoint)

    place = cache_place(cache, "classifier", f"{chosen.epochs}epochs-", facts)
    return kept_run(place, ClassifierRun.open, train)
