"""Trained scores are kept, so that another ratio or another draw trains nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sclcs.cohort.cohort import Cohort
from sclcs.core.arguments import checked
from sclcs.core.errors import OutputExistsError, UnreadableFileError
from sclcs.core.identity import Identity
from sclcs.core.logging import get_logger
from sclcs.core.places import CACHE_VARIABLE, cache_folder
from sclcs.encoder.identity import training_identity
from sclcs.encoder.settings import PRESETS, EncoderSettings, encoder_settings
from sclcs.encoder.train import train_encoder
from sclcs.encoder.trained import TrainedEncoder

__all__ = ["CACHE_VARIABLE", "cache_folder", "cache_place", "kept_training", "trained_encoder"]

DIGITS = 12

_log = get_logger(__name__)


def cache_place(cache: str | os.PathLike[str] | bool | None, name: str, identity: Identity) -> Path:
    """Return the folder of a training: readable, and different whenever its identity is."""
    root = cache_folder(None if isinstance(cache, bool) else cache)
    cohort, seed = str(identity.inputs["cohort"])[:8], identity.seeds["training"]
    return root / identity.kind / f"{cohort}-{name}seed{seed}-{identity.digest(DIGITS)}"


class Saveable(Protocol):
    """A training that can be written to a folder."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the training."""


Run = TypeVar("Run", bound=Saveable)


def kept_training(place: Path, read: Callable[[Path], Run], train: Callable[[Path], Run]) -> Run:
    """Read a training from its place in the cache, or train (with a checkpoint) and keep it."""
    if place.exists():
        _log.info("Taking a finished training from %s", place)
        try:
            return read(place)
        except UnreadableFileError as error:  # the cache is ours: what is damaged is made again
            _log.warning("%s Training again.", error)
            shutil.rmtree(place, ignore_errors=True)
    checkpoint = place.with_name(f"{place.name}.checkpoint")
    try:
        trained = train(checkpoint)
    except UnreadableFileError as error:
        if not checkpoint.exists():
            raise
        _log.warning("%s Starting again.", error)
        checkpoint.unlink()
        trained = train(checkpoint)
    try:
        trained.save(place)
    except OutputExistsError:
        _log.info("Another process has finished the same training meanwhile.")
    checkpoint.unlink(missing_ok=True)
    return trained


def _label(settings: EncoderSettings) -> str:
    for name, preset in PRESETS.items():
        if preset.to_dict() | {"epochs": settings.epochs} == settings.to_dict():
            return name
    return "custom"


@checked
def trained_encoder(
    cohort: Cohort,
    settings: str | EncoderSettings = "paper",
    *,
    seed: int = 0,
    device: str = "auto",
    cache: str | os.PathLike[str] | bool | None = None,
    memory_gb: float | None = None,
    **changes: Any,  # noqa: ANN401
) -> TrainedEncoder:
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
    TrainedEncoder
    """
    chosen = encoder_settings(settings, **changes)
    options: dict[str, Any] = {"seed": seed, "device": device, "memory_gb": memory_gb}
    if cache is False:
        return train_encoder(cohort, chosen, **options)
    identity = training_identity("encoder", cohort.fingerprint, chosen.to_dict(), seed)
    name = f"{_label(chosen)}-{chosen.epochs}epochs-"
    return kept_training(
        cache_place(cache, name, identity),
        TrainedEncoder.open,
        lambda checkpoint: train_encoder(cohort, chosen, checkpoint=checkpoint, **options),
    )
