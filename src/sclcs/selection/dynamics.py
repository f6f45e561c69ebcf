"""Core-sets by how a classifier learned the samples: forgetting, entropy, EL2N, AUM, EVA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.encoder.classifier.run import ClassifierRun
from sclcs.selection.classifier_training import (
    TRAINING,
    TRAINING_HELP,
    run_facts,
    settings_of,
    train_runs,
)
from sclcs.selection.dynamics_scores import (
    area_under_margin,
    early_error,
    error_variance,
    fitting_epochs,
    fitting_windows,
    forgetting_events,
    two_window_variance,
)
from sclcs.selection.registry import Selector, register
from sclcs.selection.scored import DENSITY, DENSITY_HELP, Score, Scores, chooser

__all__ = ["AUM", "EL2N", "ENTROPY", "EVA", "FORGETTING", "margins"]

USUAL_EL2N_EPOCHS = 10


def margins(run: ClassifierRun, aum_on: str) -> NDArray[np.float32]:
    """Return the margins (sample, epoch) of probabilities or of logits."""
    if aum_on == "prob":
        return run.true_probability - run.other_probability
    if aum_on == "logit":
        return run.margin
    raise InputError(f"Expected aum_on to be prob or logit, got {aum_on!r}.")


def _mean(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.asarray(np.mean(parts, axis=0))


def _forgetting(cohort: Cohort, seed: int, **parameters: Any) -> Scores:  # noqa: ANN401
    runs = train_runs(cohort, seed, parameters)
    counts = [forgetting_events(run.correct, parameters["never_learned"]) for run in runs]
    never = [int((~run.correct.any(axis=1)).sum()) for run in runs]
    return Scores(_mean(counts), "high", {"never_learned_samples": never, **run_facts(*runs)})


def _entropy(cohort: Cohort, seed: int, **parameters: Any) -> Scores:  # noqa: ANN401
    runs = train_runs(cohort, seed, parameters)
    return Scores(_mean([run.entropy for run in runs]), "high", run_facts(*runs))


def _el2n(cohort: Cohort, seed: int, **parameters: Any) -> Scores:  # noqa: ANN401
    asked, checkpoint = parameters["el2n_epochs"], parameters["checkpoint_epoch"]
    epochs = settings_of(parameters).epochs
    used = fitting_epochs(asked, USUAL_EL2N_EPOCHS, epochs, "el2n_epochs")
    if checkpoint is not None and checkpoint not in range(epochs):
        raise InputError(
            f"Expected checkpoint_epoch from 0 to {epochs - 1} (of {epochs} epochs), "
            f"got {checkpoint!r}."
        )
    runs = train_runs(cohort, seed, parameters)
    if checkpoint is None:
        parts = [early_error(run.error_norm, used) for run in runs]
        facts: dict[str, Any] = {"epochs_used": [0, used - 1]}
    else:
        parts = [run.error_norm[:, checkpoint].astype(np.float64) for run in runs]
        facts = {"epochs_used": [checkpoint, checkpoint]}
    return Scores(_mean(parts), "high", facts | run_facts(*runs))


def _aum(cohort: Cohort, seed: int, **parameters: Any) -> Scores:  # noqa: ANN401
    keep: Literal["low", "high"] = parameters["aum_keep"]
    if keep not in ("low", "high"):
        raise InputError(f"Expected aum_keep to be low (hardest) or high (easiest), got {keep!r}.")
    runs = train_runs(cohort, seed, parameters)
    parts = [area_under_margin(margins(run, parameters["aum_on"])) for run in runs]
    return Scores(_mean(parts), keep, run_facts(*runs))


def _eva(cohort: Cohort, seed: int, **parameters: Any) -> Scores:  # noqa: ANN401
    windows, scaled = fitting_windows(parameters["eva_windows"], settings_of(parameters).epochs)
    vector = parameters["eva_vector"]
    runs = train_runs(cohort, seed, parameters, variance_windows=windows if vector else ())
    parts = [_eva_of(run, windows, parameters) for run in runs]
    facts = {"windows_used": [list(w) for w in windows], "windows_scaled": scaled}
    return Scores(_mean(parts), "high", facts | run_facts(*runs))


def _eva_of(
    run: ClassifierRun, windows: tuple[tuple[int, int], ...], parameters: Mapping[str, Any]
) -> NDArray[np.float64]:
    ddof = parameters["eva_ddof"]
    if ddof not in (0, 1):
        raise InputError(f"Expected eva_ddof to be 0 or 1, got {ddof!r}.")
    if parameters["eva_vector"]:
        lengths = [last - first + 1 for first, last in windows]
        early, late = (
            run.vector_variance[:, place] * ((length - 1) / (length - ddof))
            for place, length in enumerate(lengths)
        )
    else:
        early, late = (error_variance(run.error_norm, window, ddof) for window in windows)
    return two_window_variance(
        early, late, parameters["eva_weight"], normalise=parameters["eva_normalise"]
    )


_COMMON_HELP = {
    "runs": "trainings with different seeds whose scores are averaged",
    **TRAINING_HELP,
    **DENSITY_HELP,
}


def _register(
    name: str,
    score: Score,
    direction: Literal["low", "high"],
    *,
    summary: str,
    reference: str,
    own: Mapping[str, tuple[Any, str]],
) -> Selector:
    """Register a method; its own parameters are given with their default and meaning."""
    return register(
        Selector(
            name=name,
            summary=summary,
            reference=reference,
            choose=chooser(score),
            parameters={n: default for n, (default, _) in own.items()}
            | {"runs": 1}
            | TRAINING
            | DENSITY,
            parameter_help={n: text for n, (_, text) in own.items()} | _COMMON_HELP,
            direction=direction,
            needs_labels=True,
            needs_training=True,
            nested=True,
        )
    )


FORGETTING = _register(
    "forgetting",
    _forgetting,
    "high",
    summary="Samples the classifier forgot most often after having learned them.",
    reference="Toneva et al., An empirical study of example forgetting (ICLR 2019)",
    own={
        "never_learned": (
            "epochs",
            "score of a sample that was never right: epochs (the maximum) or zero",
        )
    },
)
ENTROPY = _register(
    "entropy",
    _entropy,
    "high",
    summary="Samples whose class the trained classifier is least sure of.",
    reference="Coleman et al., Selection via proxy (ICLR 2020)",
    own={},
)
EL2N = _register(
    "el2n",
    _el2n,
    "high",
    summary="Samples with the largest prediction errors early in training.",
    reference="Paul et al., Deep learning on a data diet (NeurIPS 2021), summed as in CCS",
    own={
        "el2n_epochs": (None, "first epochs that are summed; 10, or all if there are fewer"),
        "checkpoint_epoch": (None, "use this epoch alone (as published, with record=eval)"),
    },
)
AUM = _register(
    "aum",
    _aum,
    "low",
    summary="Samples whose class won by the smallest margin over training (the hardest).",
    reference="Pleiss et al., Identifying mislabeled data using the AUM ranking (NeurIPS 2020)",
    own={
        "aum_on": ("prob", "margin of probabilities (prob) or, as published, of logits (logit)"),
        "aum_keep": ("low", "which end to keep: low (hardest) or high (easiest)"),
    },
)
EVA = _register(
    "eva",
    _eva,
    "high",
    summary="Samples whose prediction error varied most in two windows of epochs.",
    reference="Hong et al., Evolution-aware variance coreset selection (ACM MM 2024)",
    own={
        "eva_windows": (
            None,
            "two windows (first, last) of epochs; 100-109 and 190-199 of 200, else in proportion",
        ),
        "eva_weight": (0.5, "weight of the early window"),
        "eva_normalise": (True, "divide each window's variances by their sum"),
        "eva_ddof": (1, "1: sample variance, 0: population variance"),
        "eva_vector": (False, "variance of the whole prediction instead of its error norm"),
    },
)
