"""The paper's core-sets: samples whose attention maps move least while the encoder learns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.core.seeds import generator
from sclcs.encoder.cache import trained_run
from sclcs.encoder.run import EncoderRun
from sclcs.encoder.settings import EncoderSettings, encoder_settings
from sclcs.selection.density import draw_balanced, stable_pool
from sclcs.selection.registry import Choice, Selector, register

__all__ = ["SCLCS", "SCLCS_DENSE", "SPS_MHA", "lowest"]

PAPER = "Structure-aware Contrastive Learning for Core-set Selection (ICLR 2026)"
DENSITY = {"beta": 0.05, "bw_method": "scott", "bw_adjust": 1.0, "epsilon": 1e-8}


def lowest(scores: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return the rows of the lowest finite scores; ties go to the earlier sample."""
    n_finite = int(np.isfinite(scores).sum())
    if size > n_finite:
        raise InputError(
            f"The core-set needs {size} samples, but only {n_finite} have a finite score; "
            "lower the ratio or train longer."
        )
    ranked = np.where(np.isfinite(scores), scores, np.inf)
    return np.argsort(ranked, kind="stable")[:size].astype(np.int64)


def _train(cohort: Cohort, seed: int, parameters: dict[str, Any]) -> EncoderRun:
    """Train with the encoder settings among the parameters; None means as in the preset."""
    special = ("preset", "device", "cache", "train_seed", "memory_gb")
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


def _choose_lowest(cohort: Cohort, size: int, seed: int, **parameters: Any) -> Choice:  # noqa: ANN401
    run = _train(cohort, seed, parameters)
    return Choice(lowest(run.scores, size), run.scores, facts=_facts(run))


def _choose_dense(cohort: Cohort, size: int, seed: int, **parameters: Any) -> Choice:  # noqa: ANN401
    density = {name: parameters.pop(name) for name in DENSITY}
    _require_room(len(cohort), size, density["beta"])
    run = _train(cohort, seed, parameters)
    pool = stable_pool(run.scores, **density)
    rows = draw_balanced(pool, size, generator(seed, "select", "density"))
    facts = {"pool_size": len(pool.rows), "pool_threshold": pool.threshold}
    return Choice(rows, run.scores, facts=facts | _facts(run))


def _require_room(n_samples: int, size: int, beta: float) -> None:
    """Say before training what the draw would say after it."""
    largest = int(np.ceil((1 - beta) * n_samples))
    if size > largest:
        raise InputError(
            f"The core-set needs {size} samples, but with beta={beta:g} the stable pool holds "
            f"about {largest} of {n_samples}; lower the ratio or beta."
        )


def _training_parameters(preset: str) -> dict[str, Any]:
    settings = dict.fromkeys(EncoderSettings().to_dict())
    common = {"device": "auto", "cache": None, "train_seed": None, "memory_gb": None}
    return {"preset": preset, **settings, **common}


SCLCS = register(
    Selector(
        name="sclcs",
        summary="Lowest structural perturbation score of the contrastive attention encoder.",
        reference=PAPER,
        choose=_choose_lowest,
        parameters=_training_parameters("paper"),
        direction="low",
        needs_training=True,
        nested=True,
    )
)
SCLCS_DENSE = register(
    Selector(
        name="sclcs-dense",
        summary="Drawn from the stable samples, rare perturbation scores more often.",
        reference=PAPER,
        choose=_choose_dense,
        parameters=_training_parameters("paper") | DENSITY,
        direction="low",
        needs_training=True,
        nested=True,
    )
)
SPS_MHA = register(
    Selector(
        name="sps-mha",
        summary="As sclcs, with averaged heads instead of learned fusion (the ablation).",
        reference=PAPER,
        choose=_choose_lowest,
        parameters=_training_parameters("mha"),
        direction="low",
        needs_training=True,
        nested=True,
    )
)
