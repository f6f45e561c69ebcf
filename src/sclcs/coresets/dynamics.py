"""Scores of samples from how a classifier learned them; all arrays are (sample, epoch)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, setting
from sclcs.cohort import Cohort
from sclcs.coresets.classifier import (
    RepeatedParameters,
    TrainedClassifier,
    settings_of,
    train_several,
    training_info,
)
from sclcs.coresets.scored import DensityParameters, Scores, register_scored

Floats = NDArray[np.float64]
Window = tuple[int, int]

#: Epochs, counted from 0 and both ends included, of a training of 200 epochs.
PAPER_EVA_WINDOWS: tuple[Window, Window] = ((100, 109), (190, 199))
PAPER_EPOCHS = 200


def forgetting_events(
    correct: NDArray[np.bool_], never_learned: Literal["epochs", "zero"] = "epochs"
) -> Floats:
    """Count how often a sample was right at one epoch and wrong at the next.

    A sample that was never right has the number of epochs, more than any other can have
    (Toneva), or 0, so that it counts as never forgotten (CCS, DeepCore).

    Examples
    --------
    >>> seen = [[0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]]
    >>> forgetting_events(np.array(seen, dtype=bool)).tolist()
    [1.0, 0.0, 4.0]
    """
    events: Floats = (correct[:, :-1] & ~correct[:, 1:]).sum(axis=1).astype(np.float64)
    if never_learned == "epochs":
        events[~correct.any(axis=1)] = correct.shape[1]
    return events


def early_error(error_norm: NDArray[np.float32], epochs: int) -> Floats:
    """Sum the error norm over the first epochs (EL2N)."""
    return np.asarray(error_norm[:, :epochs].sum(axis=1, dtype=np.float64))


def area_under_margin(margins: NDArray[np.float32]) -> Floats:
    """Average the margin over all epochs (AUM)."""
    return np.asarray(margins.mean(axis=1, dtype=np.float64))


def error_variance(error_norm: NDArray[np.float32], window: Window, ddof: int = 1) -> Floats:
    """Return the variance of the error norm over a window of epochs, both ends included."""
    first, last = window
    return np.asarray(error_norm[:, first : last + 1].astype(np.float64).var(axis=1, ddof=ddof))


def two_window_variance(
    early: Floats, late: Floats, weight: float = 0.5, *, normalise: bool = True
) -> Floats:
    """Mix the variances of an early and a late window (EVA), each divided by its sum first."""
    if normalise:
        early, late = (part / part.sum() if part.sum() > 0 else part for part in (early, late))
    return weight * early + (1 - weight) * late


def fitting_epochs(asked: int | None, usual: int, epochs: int, name: str) -> int:
    """Return how many first epochs to use: as asked, else the usual number or all there are."""
    if asked is None:
        return min(usual, epochs)
    if not 1 <= asked <= epochs:
        raise InputError(
            f"Expected {name} to be a whole number from 1 to the {epochs} epochs of the training, "
            f"got {asked!r}; train longer or use fewer."
        )
    return asked


def fitting_windows(
    asked: Sequence[Sequence[int]] | None, epochs: int
) -> tuple[tuple[Window, Window], bool]:
    """Return the two windows of epochs (from 0, both ends included), and whether they were scaled.

    The paper's by default, in proportion if the training is shorter than the paper's; each
    keeps at least two epochs.

    Examples
    --------
    >>> fitting_windows(None, 200)
    (((100, 109), (190, 199)), False)
    >>> fitting_windows(None, 40)
    (((20, 21), (38, 39)), True)
    """
    if epochs < 2:
        raise InputError(
            f"A variance over epochs needs at least 2 of them, got epochs={epochs}; train longer."
        )
    if asked is not None:
        return _checked_windows(asked, epochs), False
    if epochs >= PAPER_EPOCHS:
        return PAPER_EVA_WINDOWS, False
    length = max(2, round(10 * epochs / PAPER_EPOCHS))
    first = min(round(100 * epochs / PAPER_EPOCHS), epochs - length)
    return ((first, first + length - 1), (epochs - length, epochs - 1)), True


def _checked_windows(asked: Sequence[Sequence[int]], epochs: int) -> tuple[Window, Window]:
    try:
        (a, b), (c, d) = (tuple(int(end) for end in window) for window in asked)
    except (TypeError, ValueError) as error:
        raise InputError(
            "Expected eva_windows as two pairs (first, last) of epochs, for example "
            f"[[100, 109], [190, 199]], got {asked!r}."
        ) from error
    for first, last in ((a, b), (c, d)):
        if not 0 <= first < last < epochs:
            raise InputError(
                f"A window needs at least two of the epochs 0 to {epochs - 1}, got {first} to "
                f"{last}; train longer or leave eva_windows out (they are then scaled)."
            )
    return (a, b), (c, d)


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


def _forgetting(cohort: Cohort, seed: int, parameters: ForgettingParameters) -> Scores:
    trained = train_several(cohort, seed, parameters)
    counts = [forgetting_events(one.correct, parameters.never_learned) for one in trained]
    never = [int((~one.correct.any(axis=1)).sum()) for one in trained]
    return Scores(
        _mean(counts), "high", {"never_learned_samples": never, **training_info(*trained)}
    )


def _entropy(cohort: Cohort, seed: int, parameters: ScoredParameters) -> Scores:
    trained = train_several(cohort, seed, parameters)
    return Scores(_mean([one.entropy for one in trained]), "high", training_info(*trained))


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
        info: dict[str, Any] = {"epochs_used": [0, used - 1]}
    else:
        parts = [one.error_norm[:, checkpoint].astype(np.float64) for one in trained]
        info = {"epochs_used": [checkpoint, checkpoint]}
    return Scores(_mean(parts), "high", info | training_info(*trained))


def _aum(cohort: Cohort, seed: int, parameters: AumParameters) -> Scores:
    trained = train_several(cohort, seed, parameters)
    parts = [area_under_margin(margins(one, parameters.aum_on)) for one in trained]
    return Scores(_mean(parts), parameters.aum_keep, training_info(*trained))


def _eva(cohort: Cohort, seed: int, parameters: EvaParameters) -> Scores:
    windows, scaled = fitting_windows(parameters.eva_windows, settings_of(parameters).epochs)
    trained = train_several(cohort, seed, parameters)
    parts = []
    for one in trained:
        early, late = (
            error_variance(one.error_norm, window, parameters.eva_ddof) for window in windows
        )
        mixed = two_window_variance(
            early, late, parameters.eva_weight, normalise=parameters.eva_normalise
        )
        parts.append(mixed)
    info = {"windows_used": [list(w) for w in windows], "windows_scaled": scaled}
    return Scores(_mean(parts), "high", info | training_info(*trained))


register_scored(
    "forgetting",
    _forgetting,
    ForgettingParameters,
    network="classifier",
    direction="high",
    summary="Samples the classifier forgot most often after having learned them.",
    reference="Toneva et al., An empirical study of example forgetting (ICLR 2019)",
)
register_scored(
    "entropy",
    _entropy,
    ScoredParameters,
    network="classifier",
    direction="high",
    summary="Samples whose class the trained classifier is least sure of.",
    reference="Coleman et al., Selection via proxy (ICLR 2020)",
)
register_scored(
    "el2n",
    _el2n,
    El2nParameters,
    network="classifier",
    direction="high",
    summary="Samples with the largest prediction errors early in training.",
    reference="Paul et al., Deep learning on a data diet (NeurIPS 2021), summed as in CCS",
)
register_scored(
    "aum",
    _aum,
    AumParameters,
    network="classifier",
    direction="low",
    summary="Samples whose class won by the smallest margin over training (the hardest).",
    reference="Pleiss et al., Identifying mislabeled data using the AUM ranking (NeurIPS 2020)",
)
register_scored(
    "eva",
    _eva,
    EvaParameters,
    network="classifier",
    direction="high",
    summary="Samples whose prediction error varied most in two windows of epochs.",
    reference="Hong et al., Evolution-aware variance coreset selection (ACM MM 2024)",
)
