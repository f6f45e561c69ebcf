"""Scores that only ask which pairs are more alike: sorted once, summed for every draw.

Similarities are compared after rounding to 1e-6, the noise of single precision, so that
equal ones are ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sclcs.benchmark.design import PairDesign
from sclcs.benchmark.similarity import OperatorVectors

__all__ = ["NeighbourScores", "Superiority", "neighbour_scores", "superiority"]

Floats = NDArray[np.float64]
RESOLUTION = 1e-6


@dataclass(frozen=True)
class Superiority:
    """How often a within pair is more alike than a between pair; one value per draw.

    Parameters
    ----------
    auc : array
        Probability that a within pair is more alike, ties counting half.
    rsa : array
        Spearman's correlation of similarity and being a within pair.
    """

    auc: Floats
    rsa: Floats


@dataclass(frozen=True)
class NeighbourScores:
    """What each sample sees around it, averaged; one value per draw.

    Parameters
    ----------
    discr : array
        Discriminability of Bridgeford 2021.
    ident_rate : array
        Share of samples whose most similar other sample has their class.
    """

    discr: Floats
    ident_rate: Floats


def superiority(vectors: OperatorVectors, design: PairDesign, multiplicity: Floats) -> Superiority:
    """Compare every within pair with every between pair.

    Parameters
    ----------
    vectors : OperatorVectors
        In the order of the design.
    design : PairDesign
    multiplicity : array, shape (draw, subject)
        How often each subject was drawn.

    Returns
    -------
    Superiority
    """
    first, second = np.triu_indices(len(design), k=1)
    usable = vectors.usable
    kinds = design.pair_kinds[first, second]
    kept = (kinds >= 0) & usable[first] & usable[second]
    first, second, kinds = first[kept], second[kept], kinds[kept]
    codes = _rounded(vectors.similarity[first, second])
    order = np.argsort(codes)
    first, second = first[order], second[order]
    auc, rsa = _superiority_kernel(
        codes[order],
        kinds[order] == 1,
        design.weights[first] * design.weights[second],
        design.subjects[first],
        design.subjects[second],
        np.ascontiguousarray(multiplicity, dtype=np.float64),
    )
    return Superiority(auc, rsa)


def neighbour_scores(
    vectors: OperatorVectors, design: PairDesign, multiplicity: Floats
) -> NeighbourScores:
    """Compare, for each sample, the others of its class with those of other classes.

    Parameters
    ----------
    vectors : OperatorVectors
        In the order of the design.
    design : PairDesign
    multiplicity : array, shape (draw, subject)
        How often each subject was drawn.

    Returns
    -------
    NeighbourScores
        Samples without any other sample of their class are left out, as in hyppo.
    """
    codes = _rounded(vectors.similarity)
    order = np.argsort(codes, axis=1)  # the order inside a tie does not matter
    weights = design.weights * vectors.usable
    discr, ident = _neighbour_kernel(
        np.take_along_axis(codes, order, axis=1),
        order,
        np.take_along_axis(design.pair_kinds, order, axis=1),
        weights,
        design.subjects,
        np.ascontiguousarray(multiplicity, dtype=np.float64),
        _has_partner(design, weights, multiplicity),
    )
    return NeighbourScores(discr, ident)


def _rounded(similarity: NDArray[np.float32]) -> NDArray[np.int32]:
    return np.asarray(np.rint(similarity / np.float32(RESOLUTION)), dtype=np.int32)


def _has_partner(design: PairDesign, weights: Floats, multiplicity: Floats) -> NDArray[np.bool_]:
    """Return (draw, sample): whether another sample of the same class is there to compare."""
    within = (design.pair_kinds == 1) * weights[None, :]
    same_subject = design.subjects[:, None] == design.subjects[None, :]
    inside = np.where(same_subject, within, 0.0).sum(axis=1)
    starts = np.flatnonzero(np.r_[True, np.diff(design.subjects) != 0])
    across = np.add.reduceat(np.where(same_subject, 0.0, within), starts, axis=1)
    drawn = multiplicity[:, design.subjects] > 0
    return np.asarray(drawn & (weights > 0) & ((inside > 0) | (multiplicity @ across.T > 0)))


@njit(nogil=True, cache=True, error_model="numpy")
def _superiority_kernel(  # noqa: PLR0917
    codes: NDArray[np.int32],
    within: NDArray[np.bool_],
    weights: Floats,
    first_subject: NDArray[np.int64],
    second_subject: NDArray[np.int64],
    multiplicity: Floats,
) -> tuple[Floats, Floats]:
    n_draws, n_pairs = multiplicity.shape[0], codes.shape[0]
    auc, rsa = np.empty(n_draws), np.empty(n_draws)
    for draw in range(n_draws):
        times = multiplicity[draw]
        wins = total_within = total_between = tied_cubes = 0.0
        place = 0
        while place < n_pairs:
            code, alike, unlike = codes[place], 0.0, 0.0
            while place < n_pairs and codes[place] == code:
                one, other = first_subject[place], second_subject[place]
                weight = weights[place] * times[one]
                if one != other:
                    weight *= times[other]
                if within[place]:
                    alike += weight
                else:
                    unlike += weight
                place += 1
            wins += alike * (total_between + 0.5 * unlike)
            total_within += alike
            total_between += unlike
            tied = alike + unlike
            tied_cubes += tied**3 - tied
        total = total_within + total_between
        if total_within > 0 and total_between > 0:
            auc[draw] = wins / (total_within * total_between)
            spread = (total**2 - 1) / 12 - tied_cubes / (12 * total)
            product = np.sqrt(total_within * total_between)
            rsa[draw] = product * (auc[draw] - 0.5) / np.sqrt(spread) if spread > 0 else np.nan
        else:
            auc[draw] = rsa[draw] = np.nan
    return auc, rsa


@njit(nogil=True, cache=True, error_model="numpy")
def _row_scores(
    codes: NDArray[np.int32],
    order: NDArray[np.int64],
    kinds: NDArray[np.int8],
    candidates: Floats,
) -> tuple[float, float, float]:
    """Return wins per between weight, the within weight, and whether the nearest is alike.

    Codes and kinds are those of the other samples, the least similar first; `order` says
    which samples these are.
    """
    wins = total_within = total_between = nearest = 0.0
    place, n_samples = 0, order.shape[0]
    while place < n_samples:
        code, alike, unlike = codes[place], 0.0, 0.0
        while place < n_samples and codes[place] == code:
            if kinds[place] == 1:
                alike += candidates[order[place]]
            elif kinds[place] == 0:
                unlike += candidates[order[place]]
            place += 1
        wins += alike * (total_between + 0.5 * unlike)
        total_within += alike
        total_between += unlike
        if alike + unlike > 0:
            nearest = alike / (alike + unlike)
    return wins / total_between, total_within, nearest


@njit(nogil=True, cache=True, error_model="numpy")
def _neighbour_kernel(  # noqa: PLR0917
    codes: NDArray[np.int32],
    order: NDArray[np.int64],
    kinds: NDArray[np.int8],
    weights: Floats,
    subjects: NDArray[np.int64],
    multiplicity: Floats,
    has_partner: NDArray[np.bool_],
) -> tuple[Floats, Floats]:
    n_draws = multiplicity.shape[0]
    discr, ident = np.empty(n_draws), np.empty(n_draws)
    for draw in range(n_draws):
        once = weights * has_partner[draw]  # every sample, its subject drawn once
        wins = pairs = hits = seen = 0.0
        candidates = once * multiplicity[draw][subjects]  # as often as the subject was drawn
        first = 0
        while first < len(subjects):  # samples are sorted by subject
            last = first
            while last < len(subjects) and subjects[last] == subjects[first]:
                last += 1
            # Seen from one copy of a subject, there is one copy of each of its samples.
            candidates[first:last] = once[first:last]
            times = multiplicity[draw, subjects[first]]
            for sample in range(first, last):
                if once[sample] * times == 0:
                    continue
                rate, alike, nearest = _row_scores(
                    codes[sample], order[sample], kinds[sample], candidates
                )
                if np.isfinite(rate):  # otherwise nothing of another class is there
                    own_weight = weights[sample] * times
                    wins += own_weight * rate
                    pairs += own_weight * alike
                    hits += own_weight * nearest
                    seen += own_weight
            candidates[first:last] = once[first:last] * times
            first = last
        discr[draw] = wins / pairs if pairs > 0 else np.nan
        ident[draw] = hits / seen if seen > 0 else np.nan
    return discr, ident
