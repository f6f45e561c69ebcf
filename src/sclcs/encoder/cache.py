"""Trained scores are kept, so that another ratio or another draw trains nothing."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import OutputExistsError
from sclcs.core.logging import get_logger
from sclcs.encoder.run import EncoderRun
from sclcs.encoder.settings import PRESETS, EncoderSettings, encoder_settings
from sclcs.encoder.train import train_encoder

__all__ = ["CACHE_VARIABLE", "cache_folder", "trained_run"]

CACHE_VARIABLE = "SCLCS_CACHE"
#: Raised when the same settings would give other scores than before.
ALGORITHM_VERSION = 1

_log = get_logger(__name__)


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return where results are kept: the argument, $SCLCS_CACHE, or the user's cache folder."""
    if folder is not None:
        return Path(folder)
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE])
    import platformdirs

    return Path(platformdirs.user_cache_dir("sclcs", appauthor=False))


def _entry(cohort: Cohort, settings: EncoderSettings, seed: int) -> str:
    """Return the folder's name. The device is no part of it: it decides last digits only."""
    facts = {
        "version": ALGORITHM_VERSION,
        "cohort": cohort.fingerprint,
        "settings": settings.to_dict(),
        "seed": seed,
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
    alike = [
        name
        for name, preset in PRESETS.items()
        if replace(preset, epochs=settings.epochs) == settings
    ]
    name = alike[0] if alike else "custom"
    return f"{cohort.fingerprint[:8]}-{name}-{settings.epochs}epochs-seed{seed}-{digest}"


def trained_run(
    cohort: Cohort,
    settings: str | EncoderSettings = "paper",
    *,
    seed: int = 0,
    device: str = "auto",
    cache: str | os.PathLike[str] | bool | None = None,
    memory_gb: float | None = None,
    **changes: Any,  # noqa: ANN401
) -> EncoderRun:
    """Return a training from the cache, or train and keep it.

    An interrupted training leaves a checkpoint in the cache and continues from there.

    Parameters
    ----------
    cohort : Cohort
        What to train on; recognised by its fingerprint.
    settings : str or EncoderSettings
        A preset or settings.
    seed : int
        Of the training.
    device : str
        See :func:`~sclcs.encoder.train.train_encoder`.
    cache : path-like or bool, optional
        Folder of the cache; the default is ``$SCLCS_CACHE`` or the user's cache folder.
        False neither reads nor writes any.
    memory_gb : float, optional
        See :func:`~sclcs.encoder.train.train_encoder`.
    **changes : object
        Single settings that differ.

    Returns
    -------
    EncoderRun
    """
    chosen = encoder_settings(settings, **changes)
    options: dict[str, Any] = {"seed": seed, "device": device, "memory_gb": memory_gb}
    if cache is False:
        return train_encoder(cohort, chosen, **options)
    root = cache_folder(None if cache in (None, True) else cache) / "encoder"  # type: ignore[arg-type]
    place = root / _entry(cohort, chosen, seed)
    if place.exists():
        _log.info("Taking trained scores from %s", place)
        return EncoderRun.open(place)
    checkpoint = place.with_name(f"{place.name}.checkpoint")
    run = train_encoder(cohort, chosen, checkpoint=checkpoint, **options)
    try:
        run.save(place)
    except OutputExistsError:
        _log.info("Another process has finished the same training meanwhile.")
    checkpoint.unlink(missing_ok=True)
    return run
