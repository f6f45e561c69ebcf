"""What joint draws say: who could be the best, what stopping now may cost, what to compute next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs.core.arguments import checked, checked_methods
from sclcs.core.errors import InputError
from sclcs.estimation.kriging import Estimate

__all__ = ["Outlook", "look_ahead", "next_operator", "next_purchase"]

Floats = NDArray[np.float64]
DRAWS = 4000


@checked_methods
@dataclass(frozen=True, eq=False)
class Outlook:
    """Probabilities and regret, from joint draws of all scores.

    Parameters
    ----------
    best : array, shape (operator,)
        Probability to have the highest score on the whole cohort.
    top : array, shape (operator,)
        Probability to be among the `k` highest.
    chosen : int
        The operator to take now: the best of those whose score is exact.
    regret : float
        Expected loss of taking it: the highest score of all, less its own.
    gain : array, shape (operator,)
        Expected improvement over the chosen one if this operator were computed on everybody.
    members : array of bool, shape (operator,)
        The smallest set that holds the best operator with the asked probability.
    drawn : array, shape (operator, draw)
        The draws themselves.
    ahead : array, shape (operator, draw)
        By how much an operator is ahead of the chosen one in each draw; 0 where it is behind.
    """

    best: Floats
    top: Floats
    chosen: int
    regret: float
    gain: Floats
    members: NDArray[np.bool_]
    drawn: Floats
    ahead: Floats

    def gain_of(self, operators: Sequence[int]) -> float:
        """Return the expected improvement if all these operators were computed on everybody."""
        places = list(operators)
        if not places or not set(places) <= set(range(len(self.ahead))):
            raise InputError(
                f"Expected places of operators from 0 to {len(self.ahead) - 1}, got {places}."
            )
        return float(self.ahead[places].max(axis=0).mean())


@checked
def look_ahead(
    estimate: Estimate, *, k: int = 10, confidence: float = 0.9, seed: int = 0
) -> Outlook:
    """Look at joint draws of an estimate.

    Parameters
    ----------
    estimate : Estimate
        With at least one exact score.
    k : int
        Size of the top.
    confidence : float
        Of the set that holds the best operator.
    seed : int

    Returns
    -------
    Outlook
    """
    if k < 1:
        raise InputError(f"Expected k of at least 1, got {k}.")
    drawn = estimate.draws(DRAWS, seed)
    places = drawn.argmax(axis=0)
    best = np.bincount(places, minlength=len(drawn)) / DRAWS
    k = min(k, len(drawn))
    limits = np.partition(drawn, len(drawn) - k, axis=0)[len(drawn) - k]
    exact = np.where(estimate.exact, estimate.mean, -np.inf)
    chosen = int(exact.argmax())
    ahead = np.maximum(drawn - exact[chosen], 0.0)
    gain = np.where(estimate.exact, 0.0, ahead.mean(axis=1))
    order = np.argsort(-best, kind="stable")
    enough = int(np.searchsorted(np.cumsum(best[order]), confidence)) + 1
    members = np.zeros(len(drawn), dtype=bool)
    members[order[:enough]] = True
    members[chosen] = True
    return Outlook(
        best,
        (drawn >= limits).mean(axis=1),
        chosen,
        float(ahead.max(axis=0).mean()),
        gain,
        members,
        drawn,
        ahead,
    )


@checked
def next_operator(outlook: Outlook, seconds: Floats) -> int | None:
    """Return the operator whose computation is expected to gain most per second.

    Parameters
    ----------
    outlook : Outlook
    seconds : array, shape (operator,)
        What computing each operator on everybody costs; infinite if it does not fit any more.

    Returns
    -------
    int or None
        None if nothing promises a gain.
    """
    rate = np.where(np.isfinite(seconds), outlook.gain / np.maximum(seconds, 1e-9), 0.0)
    place = int(rate.argmax())
    return place if rate[place] > 0 else None


@checked
def next_purchase(
    outlooks: Sequence[Outlook],
    scales: Sequence[float],
    bundles: Sequence[Sequence[int]],
    seconds: Sequence[float],
    left: float,
) -> int | None:
    """Return the bundle of operators that promises most per second, all tasks considered.

    Parameters
    ----------
    outlooks : sequence of Outlook
        One per task, over the same operators.
    scales : sequence of float
        What a gain of 1 is worth in each task: best minus median of its scores.
    bundles : sequence of sequence of int
        Operators that could be computed together, by place.
    seconds : sequence of float
        What each bundle costs.
    left : float
        Seconds that may still be spent.

    Returns
    -------
    int or None
        None if nothing that fits promises a gain.
    """
    if len(scales) != len(outlooks) or len(seconds) != len(bundles):
        raise InputError(
            "Expected one scale per outlook and the seconds of every bundle, got "
            f"{len(scales)} of {len(outlooks)} and {len(seconds)} of {len(bundles)}."
        )
    best, place = 0.0, None
    for number, (bundle, cost) in enumerate(zip(bundles, seconds, strict=True)):
        if cost > left:
            continue
        gain = sum(
            look.gain_of(bundle) / scale for look, scale in zip(outlooks, scales, strict=True)
        )
        if gain / max(cost, 1e-9) > best:
            best, place = gain / max(cost, 1e-9), number
    return place
