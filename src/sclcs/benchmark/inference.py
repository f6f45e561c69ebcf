"""What may be said about operators: is there an effect, which could be the best, what it is worth.

Everything here works on tables of scores (operator, draw) or statistics (operator,
permutation); it knows nothing of matrices. Operators without a score are NaN throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["EffectTest", "Worth", "best_set_p", "effect_test", "new_subjects_worth"]

Floats = NDArray[np.float64]
TIE = 1e-9  # statistics that differ by less are equal
CLEARLY_WORSE = 1e-12


@dataclass(frozen=True, eq=False)
class EffectTest:
    """Does any operator see the target? From permutations only.

    Parameters
    ----------
    p : array, shape (operator,)
        Chance to see as much by luck in *any* of the operators (family-wise).
    p_single : array, shape (operator,)
        The same for the operator alone, as if no other had been tried.
    """

    p: Floats
    p_single: Floats


def effect_test(statistics: Floats) -> EffectTest:
    """Compare observed statistics with permuted ones.

    Every operator's statistic is standardised by its own permutations first: their spreads
    differ, and without that the widest one would decide (STATISTICS 4; Westfall & Young 1993).

    Parameters
    ----------
    statistics : array, shape (operator, 1 + permutation)
        The observed one first; higher is more.

    Returns
    -------
    EffectTest
    """
    count = statistics.shape[1]
    mean = statistics.mean(axis=1, keepdims=True)
    spread = statistics.std(axis=1, keepdims=True)
    flat = spread[:, 0] <= TIE * np.maximum(np.abs(mean[:, 0]), TIE)  # nothing to permute
    scores = (statistics - mean) / np.where(flat[:, None], 1.0, spread)
    usable = np.isfinite(scores).all(axis=1)
    p, p_single = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    if usable.any():
        kept = scores[usable]
        largest = kept.max(axis=0)
        p[usable] = (largest[None, :] >= kept[:, :1] - TIE).sum(axis=1) / count
        p_single[usable] = (kept >= kept[:, :1] - TIE).sum(axis=1) / count
    return EffectTest(p, p_single)


def best_set_p(point: Floats, drawn: Floats, n_subjects: int) -> Floats:
    """Return for every operator the p of "this is the best one".

    A comparison with the best (Hsu 1984) from draws of subjects: an operator is left out of
    the confidence set if some other one is ahead of it by more than chance allows, all others
    considered at once. Others that are clearly behind do not count against it (Hansen 2005).
    The set of all operators with p above 0.1 holds the best one with 90 % confidence.

    Parameters
    ----------
    point : array, shape (operator,)
        Scores on all subjects; higher is better.
    drawn : array, shape (operator, draw)
        Scores under draws of subjects, the same draws for every operator.
    n_subjects : int
        How many there are.

    Returns
    -------
    array, shape (operator,)
        NaN for operators without a score.
    """
    p = np.full(len(point), np.nan)
    known = np.flatnonzero(np.isfinite(point))
    draws = drawn[known][:, np.isfinite(drawn[known]).all(axis=0)]
    if len(known) and draws.shape[1] >= 2:
        deviations = draws - draws.mean(axis=1, keepdims=True)
        scores = point[known]
        for place, operator in enumerate(known):
            p[operator] = _not_behind(place, scores, deviations, n_subjects)
    return p


def _not_behind(place: int, scores: Floats, deviations: Floats, n_subjects: int) -> float:
    """Return the p of the hypothesis that no other operator is better than this one."""
    differences = deviations - deviations[place]
    spread = differences.std(axis=1, ddof=1)
    scale = max(float(np.abs(scores).max()), TIE)
    rivals = spread > CLEARLY_WORSE * scale
    rivals[place] = False
    ahead = scores - scores[place]
    if (ahead[~rivals] > TIE * scale).any():
        return 0.0  # always ahead by the same amount, whoever is drawn
    if not rivals.any():
        return 1.0
    ratio = ahead[rivals] / spread[rivals]
    observed = max(float(ratio.max()), 0.0)
    noise = differences[rivals] / spread[rivals][:, None]
    limit = -np.sqrt(2 * np.log(np.log(max(n_subjects, 3))))
    centre = np.where(ratio < limit, ratio, 0.0)
    highest = np.maximum((noise + centre[:, None]).max(axis=0), 0.0)
    return float((highest >= observed - TIE).mean())


@dataclass(frozen=True)
class Worth:
    """What the chosen operator is worth on subjects that did not choose it.

    Parameters
    ----------
    new_subjects : float
        Mean score on the halves that did not choose.
    same_subjects : float
        Mean score on the halves that did: what a look at the winner's own score promises.
    low, high : float
        Central 90 % of the splits of `new_subjects`.
    """

    new_subjects: float
    same_subjects: float
    low: float
    high: float


def new_subjects_worth(halves: Floats, on_others: Floats | None = None) -> Worth | None:
    """Choose the best operator on one half of the subjects, score it on the other; repeat.

    Parameters
    ----------
    halves : array, shape (operator, 2 * split)
        Scores on halves; columns 2i and 2i + 1 are the two halves of split i.
    on_others : array, shape (operator, 2 * split), optional
        What an operator that is chosen on a half scores on the other one, where that is not
        simply its score there: if it learns, the half that chooses it also trains it.

    Returns
    -------
    Worth or None
        None if no split has scores.
    """
    if on_others is None:
        on_others = halves[:, np.arange(halves.shape[1]) ^ 1]
    finite = np.isfinite(halves) & np.isfinite(on_others)
    known = finite.any(axis=1)
    whole = finite[known].all(axis=0).reshape(-1, 2).all(axis=1).repeat(2)
    scores, others = halves[known][:, whole], on_others[known][:, whole]
    if not scores.size:
        return None
    chosen = scores.argmax(axis=0)
    places = np.arange(scores.shape[1])
    own, other = scores[chosen, places], others[chosen, places]
    by_split = other.reshape(-1, 2).mean(axis=1)
    low, high = np.percentile(by_split, [5, 95])
    return Worth(float(other.mean()), float(own.mean()), float(low), float(high))
