"""The paper's core-sets: samples whose attention maps move least while the encoder learns."""

from __future__ import annotations

from copy import copy
from typing import Any, Optional

from pydantic import create_model

from sclcs._core import Settings, setting
from sclcs.cohort import Cohort
from sclcs.coresets.encoder import (
    EncoderSettings,
    TrainedEncoder,
    encoder_settings,
    trained_encoder,
)
from sclcs.coresets.scored import DensityParameters, Scores, register_scored
from sclcs.coresets.training import KeptTraining

PAPER = (
    "Accelerating Benchmarking of Functional Connectivity Modeling via Structure-aware Core-set "
    "Selection (ICLR 2026)"
)


def _unset() -> dict[str, Any]:
    """Return the settings of the encoder as fields that may be left to the preset."""
    found = {}
    for name, known in EncoderSettings.model_fields.items():
        info = copy(known)
        info.default = None
        found[name] = (Optional[known.annotation], info)  # noqa: UP045 (at run time)
    return found


EncoderChanges: Any = create_model("EncoderChanges", __base__=Settings, **_unset())


class EncoderParameters(EncoderChanges, KeptTraining, DensityParameters):  # type: ignore[misc]
    """Parameters of the methods of this file; None means as in the preset."""

    preset: str = setting(
        "paper, official, mha or mha-published; other parameters change single settings", "paper"
    )
    memory_gb: float | None = setting(
        "signals or maps that take more than this go to a temporary file; an eighth of what is "
        "available",
        None,
        gt=0,
        decides=False,
    )


class DenseParameters(EncoderParameters):
    """The same, drawn in balance by default."""

    density: bool = setting(DensityParameters.helps()["density"], True)


class AblationParameters(EncoderParameters):
    """The same, with averaged heads by default."""

    preset: str = setting(EncoderParameters.helps()["preset"], "mha")


def training_of(cohort: Cohort, seed: int, parameters: EncoderParameters) -> TrainedEncoder:
    """Train as a method's parameters say, or take it from the cache.

    Parameters
    ----------
    cohort : Cohort
        What to train on.
    seed : int
        Used if ``train_seed`` is None.
    parameters : EncoderParameters
    """
    asked = {name: getattr(parameters, name) for name in EncoderSettings.model_fields}
    changes = {name: value for name, value in asked.items() if value is not None}
    return trained_encoder(
        cohort,
        encoder_settings(parameters.preset, **changes),
        seed=parameters.seed_of(seed),
        device=parameters.device,
        cache=parameters.cache,
        memory_gb=parameters.memory_gb,
    )


def _perturbation(cohort: Cohort, seed: int, parameters: EncoderParameters) -> Scores:
    trained = training_of(cohort, seed, parameters)
    info = {
        "encoder": trained.settings.to_dict(),
        "train_seed": trained.seed,
        "training": dict(trained.info),
    }
    return Scores(trained.scores, "low", info)


register_scored(
    "sclcs",
    _perturbation,
    EncoderParameters,
    network="encoder",
    summary="Lowest structural perturbation score of the contrastive attention encoder.",
    reference=PAPER,
)
register_scored(
    "sclcs-dense",
    _perturbation,
    DenseParameters,
    network="encoder",
    summary="Drawn from the stable samples, rare perturbation scores more often.",
    reference=PAPER,
)
register_scored(
    "sps-mha",
    _perturbation,
    AblationParameters,
    network="encoder",
    summary="As sclcs, with averaged heads instead of learned fusion (the ablation).",
    reference=PAPER,
)
