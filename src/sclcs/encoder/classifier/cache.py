"""Trainings of the classifier are kept: one serves every score made from its dynamics."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import OutputExistsError
from sclcs.core.logging import get_logger
from sclcs.encoder.cache import cache_folder
from sclcs.encoder.classifier.run import ClassifierRun
from sclcs.encoder.classifier.settings import ClassifierSettings
from sclcs.encoder.classifier.train import train_classifier

__all__ = ["trained_classifier"]

#: Raised when the same settings would give other dynamics than before.
ALGORITHM_VERSION = 1

_log = get_logger(__name__)


def _entry(cohort: Cohort, settings: ClassifierSettings, seed: int) -> str:
    """Return the folder's name. The device is no part of it: it decides last digits only."""
    facts = {
        "version": ALGORITHM_VERSION,
        "cohort": cohort.fingerprint,
        "settings": settings.to_dict(),
        "seed": seed,
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
    return f"{cohort.fingerprint[:8]}-{settings.epochs}epochs-seed{seed}-{digest}"


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
    root = cache_folder(None if cache in (None, True) else cache)  # type: ignore[arg-type]
    place: Path = root / "classifier" / _entry(cohort, chosen, seed)
    if place.exists():
        _log.info("Taking the classifier's training from %s", place)
        return ClassifierRun.open(place)
    run = train_classifier(cohort, chosen, seed=seed, device=device)
    try:
        run.save(place)
    except OutputExistsError:
        _log.info("Another process has finished the same training meanwhile.")
    return run
