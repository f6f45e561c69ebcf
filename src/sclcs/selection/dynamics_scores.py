"""Scores of samples from how a classifier learned them; all arrays are (sample, epoch)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import InputError

__all__ = [
    "PAPER_EVA_WINDOWS",
    "area_under_margin",
    "early_error",
    "error_variance",
    "fitting_epochs",
    "fitting_windows",
    "forgetting_events",
    "two_window_variance",
]

Floats = NDArray[np.float64]
Window = tuple[int, int]

#: Epochs, counted from 0 and both ends included, of a training of 200 epochs.
PAPER_EVA_WINDOWS: tuple[Window, Window] = ((100, 109), (190, 199))
PAPER_EPOCHS = 200


def forgetting_events(
    correct: NDArray[np.bool_], never_learned: Literal["epochs", "zero"] = "epochs"
) -> Floats:
    """Count how often a sample was right at one epoch and wrong at the next.

    Parameters
    ----------
    correct : array of bool, shape (sample, epoch)
        Whether the prediction was right.
    never_learned : {"epochs", "zero"}
        Score of a sample that was never right: the number of epochs, more than any other can
        have (Toneva), or 0, so that it counts as never forgotten (CCS, DeepCore).

    Returns
    -------
    array of float

    Examples
    --------
    >>> seen = [[0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]]
    >>> forgetting_events(np.array(seen, dtype=bool)).tolist()
    [1.0, 0.0, 4.0]
    """
    if never_learned not in {"epochs", "zero"}:
        raise InputError(
            f"Expected never_learned to be one of epochs, zero, got {never_learned!r}."
        )
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
    """Mix the variances of an early and a late window (EVA).

    Parameters
    ----------
    early, late : array of float
        Variance of each sample in the two windows.
    weight : float
        Of the early window, in [0, 1]; the late one gets the rest.
    normalise : bool
        Divide each window by its sum over samples first.

    Returns
    -------
    array of float
    """
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
    """Return the two windows of epochs, and whether they were scaled.

    Parameters
    ----------
    asked : sequence of two (first, last), optional
        Epochs from 0, both ends included. The paper's by default, in proportion if the
        training is shorter than the paper's; each keeps at least two epochs.
    epochs : int
        Length of the training.

    Returns
    -------
    windows : pair of (first, last)
    scaled : bool

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
