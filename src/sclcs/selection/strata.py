"""CCS: discard the hardest samples, then cover the whole range of difficulty."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.core.settings import setting
from sclcs.selection.classifier_training import ClassifierParameters, train, training_facts
from sclcs.selection.dynamics import Margin, margins
from sclcs.selection.dynamics_scores import area_under_margin
from sclcs.selection.registry import Choice, Selector, register
from sclcs.selection.sample_order import chances

__all__ = ["CCS", "allocate", "hardest_share", "stratum_numbers", "without_hardest"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def hardest_share(asked: float | None, size: int, n_samples: int) -> float:
    """Return the share of the hardest samples to discard.

    Parameters
    ----------
    asked : float, optional
        The user's choice. By default what CCS published for CIFAR-10: 0.3 for core-sets below
        20 % of the samples, 0.1 below 50 %, else 0.
    size, n_samples : int
        Of the core-set and the cohort.

    Returns
    -------
    float

    Examples
    --------
    >>> [hardest_share(None, size, 4520) for size in (452, 1356, 2260)]
    [0.3, 0.1, 0.0]
    """
    if asked is None:
        # The size was rounded down, so the ratio may be anything below the next size's.
        below = (size + 1) / n_samples
        return 0.3 if below <= 0.2 else 0.1 if below <= 0.5 else 0.0
    left = n_samples - int(asked * n_samples)
    if left < size:
        raise InputError(
            f"The core-set needs {size} samples, but cutoff={asked:g} leaves {left} of "
            f"{n_samples}; lower the ratio or the cutoff."
        )
    return asked


def without_hardest(easiness: Floats, share: float, ties: Floats) -> Integers:
    """Return the rows that are left, in order, when the hardest are discarded."""
    order = np.lexsort((ties, easiness))
    return np.sort(order[int(share * len(easiness)) :]).astype(np.int64)


def stratum_numbers(scores: Floats, n_strata: int) -> Integers:
    """Put scores into bins of equal width; the highest score is in the last bin.

    (The published code ends the last bin at 1.0001 times the maximum, which leaves the top
    sample out where scores are negative.)
    """
    low, high = scores.min(), scores.max()
    if high == low:
        return np.zeros(len(scores), dtype=np.int64)
    places = np.floor((scores - low) / (high - low) * n_strata).astype(np.int64)
    return np.asarray(np.minimum(places, n_strata - 1))


def allocate(counts: Integers, size: int) -> Integers:
    """Share a budget among strata: evenly, but never more than a stratum holds.

    Parameters
    ----------
    counts : array of int
        Samples per stratum.
    size : int
        The budget, at most the sum of the counts.

    Returns
    -------
    array of int
        Samples to take from each stratum; they add up to the budget.

    Examples
    --------
    >>> allocate(np.array([10, 0, 2, 30]), 20).tolist()
    [9, 0, 2, 9]
    """
    given = np.zeros(len(counts), dtype=np.int64)
    left = size
    for done, place in enumerate(np.argsort(counts, kind="stable")):
        given[place] = min(int(counts[place]), left // (len(counts) - done))
        left -= int(given[place])
    return given


class StrataParameters(ClassifierParameters):
    """Parameters of ``ccs``."""

    cutoff: float | None = setting(
        "share of the hardest samples to discard; 0.3, 0.1 or 0 by ratio", None, ge=0, lt=1
    )
    n_strata: int = setting("levels of difficulty", 50, ge=1)
    aum_on: Margin = setting(
        "difficulty from margins of probabilities (prob) or of logits (logit)", "prob"
    )


def _choose(cohort: Cohort, size: int, seed: int, parameters: StrataParameters) -> Choice:
    n_strata = parameters.n_strata
    share = hardest_share(parameters.cutoff, size, len(cohort))
    trained = train(cohort, seed, parameters)
    scores = area_under_margin(margins(trained, parameters.aum_on))
    rows = without_hardest(scores, share, chances(seed, "ties", cohort.sample_ids))
    strata = stratum_numbers(scores[rows], n_strata)
    quota = allocate(np.bincount(strata, minlength=n_strata), size)
    lots = chances(seed, "strata", cohort.sample_ids)[rows]
    drawn = np.lexsort((lots, strata))  # strata one after the other, at random inside
    starts = np.searchsorted(strata[drawn], np.arange(n_strata))
    chosen = [drawn[start : start + n] for start, n in zip(starts, quota, strict=True)]
    facts = {
        "cutoff_used": share,
        "strata_filled": int((quota > 0).sum()),
        **training_facts(trained),
    }
    return Choice(rows[np.concatenate(chosen)], scores, facts=facts)


CCS = register(
    Selector(
        name="ccs",
        summary="Equal shares of every level of difficulty, after discarding the hardest samples.",
        reference="Zheng et al., Coverage-centric coreset selection (ICLR 2023)",
        choose=_choose,
        parameters=StrataParameters,
        direction="none",
        needs_labels=True,
        network="classifier",
        needs_training=True,
        nested=False,
    )
)
