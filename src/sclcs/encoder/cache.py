"""Trained scores are kept, so that another ratio or another draw trains nothing."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import OutputExistsError
from sclcs.core.logging import get_logger
from sclcs.encoder.run import EncoderRun
from sclcs.encoder.settings import PRESETS, EncoderSettings, encoder_settings
from sclcs.encoder.train import train_encoder

__all__ = ["CACHE_VARIABLE", "cache_folder", "cache_place", "kept_run", "trained_run"]

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


def cache_place(
    cache: str | os.PathLike[str] | bool | None, kind: str, name: str, facts: dict[str, Any]
) -> Path:
    """Return the folder of a training: readable, and different whenever the facts differ."""
    root = cache_folder(None if isinstance(cache, bool) else cache)
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
    return root / kind / f"{facts['cohort'][:8]}-{name}seed{facts['seed']}-{digest}"


class Saveable(Protocol):
    """A training that can be written to a folder."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the training."""


Run = TypeVar("Run", bound=Saveable)


def kept_run(place: Path, read: Callable[[Path], Run], train: Callable[[Path], Run]) -> Run:
    """Read a training from its place in the cache, or train (with a checkpoint) and keep it."""
    if place.exists():
        _log.info("Taking a finished training from %s", place)
        return read(place)
    checkpoint = place.with_name(f"{place.name}.checkpoint")
    run = train(checkpoint)
    try:
        run.save(place)
    except OutputExistsError:
        _log.info("Another process has finished the same training meanwhile.")
    checkpoint.unlink(missing_ok=True)
    return run


def _label(settings: EncoderSettings) -> str:
    for name, preset in PRESETS.items():
        if replace(preset, epochs=settings.epochs) == settings:
            return name
    return "custom"


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
    # The device is no part of the place: it decides last digits only.
    facts = {
        "version": ALGORITHM_VERSION,
        "cohort": cohort.fingerprint,
        "settings": chosen.to_dict(),
        "seed": seed,
    }
    name = f"{_label(chosen)}-{chosen.epochs}epochs-"
    return kept_run(
        cache_place(cache, "encoder", name, facts),
        EncoderRun.open,
        lambda checkpoint: train_encoder(cohort, chosen, checkpoint=checkpoint, **options),
    )
