"""Training the encoder on a cohort."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.sample_order import id_order
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError
from sclcs.core.optional import import_extra
from sclcs.core.provenance import versions
from sclcs.encoder.identity import ENCODER_VERSION, training_identity
from sclcs.encoder.pairs import find_pairs
from sclcs.encoder.settings import EncoderSettings, encoder_settings
from sclcs.encoder.trained import TrainedEncoder

if TYPE_CHECKING:
    import torch

    from sclcs.encoder.training import Training

__all__ = ["choose_device", "train_encoder"]


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
    from sclcs.encoder.crew import crew_of
    from sclcs.encoder.scratch import Scratch

    order = id_order(cohort.sample_ids)
    started = time.perf_counter()
    options: dict[str, Any] = {"seed": seed, "device": place, "keep_curves": keep_curves}
    with Scratch(memory_gb) as scratch:
        training = _prepare(cohort, order, chosen, scratch=scratch, **options)
        with crew_of(_workers(place)) as training.model.crew:
            training.run(
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
    from sclcs.encoder.inputs import prepare_inputs
    from sclcs.encoder.model import AttentionEncoder
    from sclcs.encoder.perturbation import make_tracker
    from sclcs.encoder.training import Training

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
