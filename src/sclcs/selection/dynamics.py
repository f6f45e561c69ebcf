"""Core-sets by how a classifier learned the samples: forgetting, entropy, EL2N, AUM, EVA."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.core.settings import setting
from sclcs.encoder.classifier.trained import TrainedClassifier
from sclcs.selection.classifier_training import (
    RepeatedParameters,
    settings_of,
    train_several,
    training_facts,
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
from sclcs.selection.scored import DensityParameters, Score, Scores, chooser

__all__ = ["AUM", "EL2N", "ENTROPY", "EVA", "FORGETTING", "Margin", "margins"]

USUAL_EL2N_EPOCHS = 10
#: What margins can be made of.
Margin = Literal["prob", "logit"]


def margins(one: TrainedClassifier, aum_on: Margin) -> NDArray[np.float32]:
    """Return the margins (sample, epoch) of probabilities or of logits."""
    if aum_on == "logit":
        return one.margin
    return one.true_probability - one.other_probability


def _mean(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.asarray(np.mean(parts, axis=0))


class ScoredParameters(RepeatedParameters, DensityParameters):
    """Parameters of every method of this file."""


class ForgettingParameters(ScoredParameters):
    """Parameters of ``forgetting``."""

    never_learned: Literal["epochs", "zero"] = setting(
        "score of a sample that was never right: epochs (the maximum) or zero", "epochs"
    )


class El2nParameters(ScoredParameters):
    """Parameters of ``el2n``."""

    el2n_epochs: int | None = setting(
        "first epochs that are summed; 10, or all if there are fewer", None
    )
    checkpoint_epoch: int | None = setting(
        "use this epoch alone (as published, with record=eval)", None
    )


class AumParameters(ScoredParameters):
    """Parameters of ``aum``."""

    aum_on: Margin = setting(
        "margin of probabilities (prob) or, as published, of logits (logit)", "prob"
    )
    aum_keep: Literal["low", "high"] = setting(
        "which end to keep: low (hardest) or high (easiest)", "low"
    )


class EvaParameters(ScoredParameters):
    """Parameters of ``eva``."""

    eva_windows: Any = setting(
        "two windows (first, last) of epochs; 100-109 and 190-199 of 200, else in proportion", None
    )
    eva_weight: float = setting("weight of the early window", 0.5, ge=0, le=1)
    eva_normalise: bool = setting("divide each window's variances by their sum", True)
    eva_ddof: Literal[0, 1] = setting("1: sample variance, 0: population variance", 1)
    eva_vector: bool = setting("variance of the whole prediction instead of its error norm", False)


def _forgetting(cohort: Cohort, seed: int, parameters: ForgettingParameters) -> Scores:
    trained = train_several(cohort, seed, parameters)
    counts = [forgetting_events(one.correct, parameters.never_learned) for one in trained]
    never = [int((~one.correct.any(axis=1)).sum()) for one in trained]
    return Scores(
        _mean(counts), "high", {"never_learned_samples": never, **training_facts(*trained)}
    )


def _entropy(cohort: Cohort, seed: int, parameters: ScoredParameters) -> Scores:
    trained = train_several(cohort, seed, parameters)
    return Scores(_mean([one.entropy for one in trained]), "high", training_facts(*trained))


def _el2n(cohort: Cohort, seed: int, parameters: El2nParameters) -> Scores:
    checkpoint, epochs = parameters.checkpoint_epoch, settings_of(parameters).epochs
    used = fitting_epochs(parameters.el2n_epochs, USUAL_EL2N_EPOCHS, epochs, "el2n_epochs")
    if checkpoint is not None and checkpoint not in range(epochs):
        raise InputError(
            f"Expected checkpoint_epoch from 0 to {epochs - 1} (of {epochs} epochs), "
            f"got {checkpoint!r}."
        )
    trained = train_several(cohort, seed, parameters)
    if checkpoint is None:
        parts = [early_error(one.error_norm, used) for one in trained]
        facts: dict[str, Any] = {"epochs_used": [0, used - 1]}
    else:
        parts = [one.error_norm[:, checkpoint].astype(np.float64) for one in trained]
        facts = {"epochs_used": [checkpoint, checkpoint]}
    return Scores(_mean(parts), "high", facts | training_facts(*trained))


def _aum(cohort: Cohort, seed: int, parameters: AumParameters) -> Scores:
    trained = train_several(cohort, seed, parameters)
    parts = [area_under_margin(margins(one, parameters.aum_on)) for one in trained]
    return Scores(_mean(parts), parameters.aum_keep, training_facts(*trained))


def _eva(cohort: Cohort, seed: int, parameters: EvaParameters) -> Scores:
    windows, scaled = fitting_windows(parameters.eva_windows, settings_of(parameters).epochs)
    watched = windows if parameters.eva_vector else ()
    trained = train_several(cohort, seed, parameters, variance_windows=watched)
    parts = [_eva_of(one, windows, parameters) for one in trained]
    facts = {"windows_used": [list(w) for w in windows], "windows_scaled": scaled}
    return Scores(_mean(parts), "high", facts | training_facts(*trained))


def _eva_of(
    one: TrainedClassifier, windows: tuple[tuple[int, int], ...], parameters: EvaParameters
) -> NDArray[np.float64]:
    ddof = parameters.eva_ddof
    if parameters.eva_vector:
        lengths = [last - first + 1 for first, last in windows]
        early, late = (
            one.vector_variance[:, place] * ((length - 1) / (length - ddof))
            for place, length in enumerate(lengths)
        )
    else:
        early, late = (error_variance(one.error_norm, window, ddof) for window in windows)
    return two_window_variance(
        early, late, parameters.eva_weight, normalise=parameters.eva_normalise
    )


def _register(
    name: str,
    score: Score,
    direction: Literal["low", "high"],
    parameters: type[ScoredParameters],
    *,
    summary: str,
    reference: str,
) -> Selector:
    """Register a method of this file."""
    return register(
        Selector(
            name=name,
            summary=summary,
            reference=reference,
            choose=chooser(score),
            parameters=parameters,
            direction=direction,
            needs_labels=True,
            network="classifier",
            needs_training=True,
            can_balance=True,
            nested=True,
        )
    )


FORGETTING = _register(
    "forgetting",
    _forgetting,
    "high",
    ForgettingParameters,
    summary="Samples the classifier forgot most often after having learned them.",
    reference="Toneva et al., An empirical study of example forgetting (ICLR 2019)",
)
ENTROPY = _register(
    "entropy",
    _entropy,
    "high",
    ScoredParameters,
    summary="Samples whose class the trained classifier is least sure of.",
    reference="Coleman et al., Selection via proxy (ICLR 2020)",
)
EL2N = _register(
    "el2n",
    _el2n,
    "high",
    El2nParameters,
    summary="Samples with the largest prediction errors early in training.",
    reference="Paul et al., Deep learning on a data diet (NeurIPS 2021), summed as in CCS",
)
AUM = _register(
    "aum",
    _aum,
    "low",
    AumParameters,
    summary="Samples whose class won by the smallest margin over training (the hardest).",
    reference="Pleiss et al., Identifying mislabeled data using the AUM ranking (NeurIPS 2020)",
)
EVA = _register(
    "eva",
    _eva,
    "high",
    EvaParameters,
    summary="Samples whose prediction error varied most in two windows of epochs.",
    reference="Hong et al., Evolution-aware variance coreset selection (ACM MM 2024)",
)
