"""What a training depends on: the identity of its place in the cache and of its checkpoint."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from sclcs._core import (
    CACHE_VARIABLE,
    Identity,
    InputError,
    OutputExistsError,
    UnreadableFileError,
    cache_folder,
    checked,
    get_logger,
    import_extra,
    versions,
)
from sclcs.cohort import Cohort, id_order
from sclcs.coresets.encoder.settings import PRESETS, EncoderSettings, encoder_settings
from sclcs.coresets.encoder.trained import TrainedEncoder

if TYPE_CHECKING:
    import torch

    from sclcs.coresets.encoder.training import Training

__all__ = [
    "CACHE_VARIABLE",
    "CLASSIFIER_VERSION",
    "ENCODER_VERSION",
    "cache_folder",
    "cache_place",
    "choose_device",
    "kept_training",
    "train_encoder",
    "trained_encoder",
    "training_identity",
]


#: Raised when the same settings would give other scores than before.
ENCODER_VERSION = 1
#: Raised when the same settings would give other dynamics than before.
CLASSIFIER_VERSION = 1

VERSIONS = {"encoder": ENCODER_VERSION, "classifier": CLASSIFIER_VERSION}


def training_identity(
    kind: str,
    fingerprint: str,
    settings: Mapping[str, Any],
    seed: int,
    **more: Any,  # noqa: ANN401
) -> Identity:
    """Return what two trainings must share to be the same.

    The device is no part of it: it decides last digits only.

    Parameters
    ----------
    kind : {"encoder", "classifier"}
        What is trained.
    fingerprint : str
        Of the cohort.
    settings : mapping
        Of the training; for a checkpoint, without what may change when it continues.
    seed : int
        Of the training.
    **more : object
        Further parameters, for example what is kept beside the scores.

    Returns
    -------
    Identity
    """
    return Identity(
        kind,
        inputs={"cohort": fingerprint},
        parameters={**settings, **more},
        versions={kind: VERSIONS[kind]},
        seeds={"training": seed},
    )


def choose_device(device: str) -> torch.device:
    """Return the device of that name; ``auto`` is CUDA where there is one, else the CPU."""
    torch_module = import_extra("torch", "torch")
    if device == "auto":
        device = "cuda" if torch_module.cuda.is_available() else "cpu"
    try:
        chosen: torch.device = torch_module.device(device)
        torch_module.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"Expected device to be auto, cpu or an available CUDA device, got {device!r} "
            f"({str(error).splitlines()[0]})."
        ) from error
    return chosen


@checked
def train_encoder(
    cohort: Cohort,
    settings: str | EncoderSettings = "paper",
    *,
    seed: int = 0,
    device: str = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 10,
    keep_curves: bool = False,
    memory_gb: float | None = None,
    **changes: Any,  # noqa: ANN401
) -> TrainedEncoder:
    """Train the encoder and score every sample by how much its attention map moves.

    On a CPU the result is the same, bit by bit, for the same cohort, settings and seed (and
    number of threads), whatever the order of the samples in the cohort.

    Parameters
    ----------
    cohort : Cohort
        At least two subjects, one of them with two windows.
    settings : str or EncoderSettings
        A preset (``paper``, ``official``, ``mha``, ``mha-published``) or settings.
    seed : int
        Of the initial weights, the batches and dropout.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
    checkpoint : path-like, optional
        A file from which an interrupted training continues; written as it goes.
    checkpoint_every : int
        Epochs between two checkpoints.
    keep_curves : bool
        Keep the perturbation of every sample at every epoch.
    memory_gb : float, optional
        Memory for signals and maps; what does not fit goes to a temporary file. A quarter
        of the available memory by default.
    **changes : object
        Single settings that differ, for example ``epochs=50``.

    Returns
    -------
    TrainedEncoder
    """
    chosen = encoder_settings(settings, **changes)
    place = choose_device(device)
    if checkpoint_every < 1:
        raise InputError(f"Expected checkpoint_every of at least 1, got {checkpoint_every}.")
    from sclcs.coresets.encoder.model import crew_of
    from sclcs.coresets.encoder.score import Scratch

    order = id_order(cohort.sample_ids)
    started = time.perf_counter()
    options: dict[str, Any] = {"seed": seed, "device": place, "keep_curves": keep_curves}
    with Scratch(memory_gb) as scratch:
        training = _prepare(cohort, order, chosen, scratch=scratch, **options)
        with crew_of(_workers(place)) as training.model.crew:
            training.run_epochs(
                "encoder",
                chosen.epochs,
                Path(checkpoint) if checkpoint else None,
                _identity(cohort.fingerprint, chosen, seed, keep_curves),
                checkpoint_every,
            )
        facts = _facts(training, place, scratch.on_disk)
    facts["seconds"] = round(time.perf_counter() - started, 3)
    return _collect(cohort, order, training, facts)


def _identity(fingerprint: str, settings: EncoderSettings, seed: int, keep_curves: bool) -> str:
    """Return what two trainings must share for one to continue the other.

    The number of epochs is left out: a longer training begins like a shorter one.
    """
    rest = {name: value for name, value in settings.to_dict().items() if name != "epochs"}
    return training_identity("encoder", fingerprint, rest, seed, keep_curves=keep_curves).text


def _workers(device: torch.device) -> int:
    """Return how many workers share the blocks: torch's threads, or one beside a GPU."""
    import torch

    return torch.get_num_threads() if device.type == "cpu" else 1


def _prepare(
    cohort: Cohort,
    order: np.ndarray,
    settings: EncoderSettings,
    *,
    seed: int,
    device: torch.device,
    scratch: Any,  # noqa: ANN401 (Scratch; its module imports torch)
    keep_curves: bool,
) -> Training:
    from sclcs.coresets.encoder.model import AttentionEncoder
    from sclcs.coresets.encoder.score import make_tracker
    from sclcs.coresets.encoder.training import Training, find_pairs, prepare_inputs

    pairs = find_pairs(
        cohort.samples.iloc[order], cohort.n_timepoints, allow_overlap=settings.allow_overlap
    )
    inputs = prepare_inputs(cohort, order, settings.input_norm, scratch)
    model = AttentionEncoder(settings, cohort.n_timepoints, seed).to(device)
    tracker = make_tracker(inputs, settings, scratch, keep_curves=keep_curves)
    return Training(model, inputs, pairs, tracker, seed)


def _facts(training: Training, device: torch.device, on_disk: bool) -> dict[str, Any]:
    import torch

    return {
        "device": str(device),
        "threads": torch.get_num_threads(),
        "parameters": sum(weight.numel() for weight in training.model.parameters()),
        "maps_on_disk": on_disk,
        "algorithm": ENCODER_VERSION,
        "versions": versions() | {"torch": str(torch.__version__)},
    }


def _collect(
    cohort: Cohort, order: np.ndarray, training: Training, facts: dict[str, Any]
) -> TrainedEncoder:
    import pandas as pd

    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    score = training.tracker.score
    return TrainedEncoder(
        sample_ids=cohort.sample_ids,
        scores=score.scores[place],
        history=pd.DataFrame(training.history).astype({"epoch": np.int64}),
        settings=training.settings,
        seed=training.seed,
        fingerprint=cohort.fingerprint,
        snapshots=training.snapshots,
        curves=score.curves[place] if score.curves.size else None,
        facts=facts,
    )


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
    """Return a training from the cache, or train as :func:`train_encoder` does and keep it.

    An interrupted training leaves a checkpoint in the cache and continues from there.

    Parameters
    ----------
    cohort, settings, seed, device, memory_gb, **changes
        As for :func:`train_encoder`; the cohort is recognised by its fingerprint.
    cache : path-like or bool, optional
        Folder of the cache; the default is ``$SCLCS_CACHE`` or the user's cache folder.
        False neither reads nor writes any.

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
