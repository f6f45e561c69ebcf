"""The paper's core-sets: samples whose attention maps move least while the encoder learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.encoder.cache import trained_run
from sclcs.encoder.run import EncoderRun
from sclcs.encoder.settings import EncoderSettings, encoder_settings
from sclcs.selection.registry import Selector, register
from sclcs.selection.scored import DENSITY, DENSITY_HELP, Scores, chooser

__all__ = ["SCLCS", "SCLCS_DENSE", "SPS_MHA", "training_of"]

PAPER = (
    "Accelerating Benchmarking of Functional Connectivity Modeling via Structure-aware Core-set "
    "Selection (ICLR 2026)"
)


def training_of(cohort: Cohort, seed: int, parameters: Mapping[str, Any]) -> EncoderRun:
    """Train with the encoder settings among the parameters, or take it from the cache.

    Parameters
    ----------
    cohort : Cohort
        What to train on.
    seed : int
        Used if ``train_seed`` is None.
    parameters : mapping
        All parameters of a method of this file; None means as in the preset.

    Returns
    -------
    EncoderRun
    """
    special = ("preset", "device", "cache", "train_seed", "memory_gb", *DENSITY)
    rest = {name: value for name, value in parameters.items() if name not in special}
    changes = {name: value for name, value in rest.items() if value is not None}
    train_seed = parameters["train_seed"]
    return trained_run(
        cohort,
        encoder_settings(parameters["preset"], **changes),
        seed=seed if train_seed is None else train_seed,
        device=parameters["device"],
        cache=parameters["cache"],
        memory_gb=parameters["memory_gb"],
    )


def _facts(run: EncoderRun) -> dict[str, Any]:
    return {"encoder": run.settings.to_dict(), "train_seed": run.seed, "training": dict(run.facts)}


def _perturbation(cohort: Cohort, seed: int, **parameters: Any) -> Scores:  # noqa: ANN401
    run = training_of(cohort, seed, parameters)
    return Scores(run.scores, "low", _facts(run), ties="id")


def _training_parameters(preset: str) -> dict[str, Any]:
    settings = dict.fromkeys(EncoderSettings().to_dict())
    common = {"device": "auto", "cache": None, "train_seed": None, "memory_gb": None}
    return {"preset": preset, **settings, **common, **DENSITY}


_HELP = {
    "heads": "number of attention heads",
    "dim": "width of a head and of the embedding",
    "attention": "softmax, or logits as in the published scripts",
    "scale": "divide products by the root of the width (sqrt_dim) or of the length (sqrt_in)",
    "qk_bias": "whether queries and keys have a bias",
    "fusion": "learned weights of the heads, or uniform",
    "values": "one value projection (shared) or one per head (per-head)",
    "input_norm": "layernorm, zscore or none",
    "mlp": "whether a two-layer block follows the output projection",
    "mlp_ratio": "hidden width of that block, as a multiple of dim",
    "dropout": "share of units dropped inside that block",
    "pooling": "mean or max over regions",
    "denominator": "of the loss: negatives, negatives+self or infonce",
    "temperature": "divides the similarities in the loss",
    "attention_l1": "weight of the mean absolute entry of the map in the loss",
    "learning_rate": "of Adam",
    "weight_decay": "of Adam",
    "batch_subjects": "subjects per batch, two windows of each",
    "allow_overlap": "whether the two windows of a pair may share time points",
    "epochs": "length of training",
    "tracking": "compare maps after every epoch (every-epoch) or when drawn (logged)",
    "power": "squared (2) or plain (1) norm of the difference of two maps",
    "burn_in": "differences up to this epoch do not count",
    "last_scored_epoch": "differences after this epoch do not count",
    "preset": "paper, official, mha or mha-published; other parameters change single settings",
    "train_seed": "seed of the training, if it should differ from the seed of the draw",
    "device": "auto, cpu, cuda, cuda:1, ...",
    "cache": "folder of finished trainings; False keeps none",
    "memory_gb": "memory for signals and maps; what does not fit goes to a temporary file",
    **DENSITY_HELP,
}


def _register(name: str, summary: str, parameters: dict[str, Any]) -> Selector:
    return register(
        Selector(
            name=name,
            summary=summary,
            reference=PAPER,
            choose=chooser(_perturbation),
            parameter_help=_HELP,
            parameters=parameters,
            direction="low",
            needs_training=True,
            nested=True,
        )
    )


SCLCS = _register(
    "sclcs",
    "Lowest structural perturbation score of the contrastive attention encoder.",
    _training_parameters("paper"),
)
SCLCS_DENSE = _register(
    "sclcs-dense",
    "Drawn from the stable samples, rare perturbation scores more often.",
    _training_parameters("paper") | {"density": True},
)
SPS_MHA = _register(
    "sps-mha",
    "As sclcs, with averaged heads instead of learned fusion (the ablation).",
    _training_parameters("mha"),
)
