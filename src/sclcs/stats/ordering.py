"""Scores that only ask which pairs are more alike: sorted once, summed for every draw.

Similarities are compared after rounding to 1e-6, the noise of single precision, so that
equal ones are ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.spi import kernel, raising_kernel
from sclcs.stats.kernel import Kernel
from sclcs.stats.pairs import PairDesign, PairMoments

__all__ = [
    "NeighbourScores",
    "Superiority",
    "i2c2",
    "neighbour_scores",
    "subject_statistics",
    "superiority",
    "window_cells",
]


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
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


def superiority(kernel: Kernel, design: PairDesign, draws: Floats) -> Superiority:
    """Compare every within pair with every between pair.

    Parameters
    ----------
    kernel : Kernel
        Of the samples of the design, in its order.
    design : PairDesign
    draws : array, shape (draw, subject)
        1 for the subjects of a draw, 0 for the others.

    Returns
    -------
    Superiority
    """
    first, second = np.triu_indices(len(design), k=1)
    kinds = design.pair_kinds[first, second]
    kept = (kinds >= 0) & kernel.usable[first] & kernel.usable[second]
    first, second, within = first[kept], second[kept], kinds[kept] == 1
    codes = _rounded(kernel.similarity[first, second])
    order = np.argsort(codes)
    first, second, within = first[order], second[order], within[order]
    weights = design.weights[first] * design.weights[second]
    parts, weights = _parts(design, first, second, within, weights)
    auc, rsa = _superiority_kernel(
        codes[order],
        within,
        parts,
        int(parts.max()) + 1 if len(parts) else 0,
        weights,
        design.subjects[first],
        design.subjects[second],
        np.ascontiguousarray(draws, dtype=np.float64),
        _class_counts(design, draws),
    )
    return Superiority(auc, rsa)


def _class_counts(design: PairDesign, draws: Floats) -> Floats:
    """Return how many classes count alike in each draw; 0 where pairs do."""
    if design.pooled:
        return np.zeros(len(draws))
    if design.fingerprinting:
        return np.asarray(draws.sum(axis=1))
    return np.full(len(draws), float(design.n_classes))


def _parts(
    design: PairDesign,
    first: Integers,
    second: Integers,
    within: NDArray[np.bool_],
    weights: Floats,
) -> tuple[Integers, Floats]:
    """Return the part of each pair and its weight inside it: parts of one kind count alike.

    Parts are the classes and the pairs of classes. For fingerprinting, subjects and pairs of
    subjects count alike, which fixed weights do without a part for each of them.
    """
    if design.pooled:
        return within.astype(np.int64), weights
    one, other = design.classes[first], design.classes[second]
    low, high = np.minimum(one, other), np.maximum(one, other)
    parts = low * design.n_classes + high
    if design.fingerprinting:
        totals = np.bincount(parts, weights, minlength=design.n_classes**2)
        return within.astype(np.int64), weights / totals[parts]
    return np.unique(parts, return_inverse=True)[1].astype(np.int64), weights


def neighbour_scores(kernel: Kernel, design: PairDesign, draws: Floats) -> NeighbourScores:
    """Compare, for each sample, the others of its class with those of other classes.

    Parameters
    ----------
    kernel : Kernel
        Of the samples of the design, in its order.
    design : PairDesign
    draws : array, shape (draw, subject)
        1 for the subjects of a draw, 0 for the others.

    Returns
    -------
    NeighbourScores
        Samples without any other sample of their class are left out, as in hyppo.
    """
    codes = _rounded(kernel.similarity)
    order = np.argsort(codes, axis=1)  # the order inside a tie does not matter
    weights = design.weights * kernel.usable
    discr, ident = _neighbour_kernel(
        np.take_along_axis(codes, order, axis=1),
        order,
        np.take_along_axis(design.pair_kinds, order, axis=1),
        weights,
        design.classes,
        design.n_classes,
        _has_partner(design, weights, draws),
        not design.pooled,
    )
    return NeighbourScores(discr, ident)


def _rounded(similarity: NDArray[np.float32]) -> NDArray[np.int32]:
    return np.asarray(np.rint(similarity / np.float32(RESOLUTION)), dtype=np.int32)


def _has_partner(design: PairDesign, weights: Floats, draws: Floats) -> NDArray[np.bool_]:
    """Return (draw, sample): whether another sample of the same class is there to compare."""
    within = (design.pair_kinds == 1) * weights[None, :]
    drawn = draws[:, design.subjects] * (weights > 0)
    return np.asarray((drawn > 0) & (drawn @ within.T > 0))


@kernel
def _pair_weights(  # noqa: PLR0917
    within: NDArray[np.bool_],
    parts: Integers,
    n_parts: int,
    weights: Floats,
    first_subject: Integers,
    second_subject: Integers,
    draw: Floats,
) -> tuple[Floats, float, float]:
    """Return the weight of each pair in a draw; each kind sums to 1. Also both sums before."""
    drawn = np.empty(len(parts))
    totals = np.zeros(n_parts)
    of_within = np.zeros(n_parts, dtype=np.bool_)
    sum_within = sum_between = 0.0
    for place in range(len(parts)):
        weight = weights[place] * draw[first_subject[place]] * draw[second_subject[place]]
        drawn[place] = weight
        totals[parts[place]] += weight
        of_within[parts[place]] = within[place]
        if within[place]:
            sum_within += weight
        else:
            sum_between += weight
    n_within = n_between = 0
    for part in range(n_parts):
        if totals[part] > 0:
            if of_within[part]:
                n_within += 1
            else:
                n_between += 1
    for place in range(len(parts)):
        if drawn[place] > 0:
            drawn[place] /= totals[parts[place]] * (n_within if within[place] else n_between)
    return drawn, sum_within, sum_between


@kernel
def _superiority_kernel(  # noqa: PLR0917
    codes: NDArray[np.int32],
    within: NDArray[np.bool_],
    parts: Integers,
    n_parts: int,
    weights: Floats,
    first_subject: Integers,
    second_subject: Integers,
    draws: Floats,
    n_classes: Floats,
) -> tuple[Floats, Floats]:
    n_draws, n_pairs = draws.shape[0], codes.shape[0]
    auc, rsa = np.full(n_draws, np.nan), np.full(n_draws, np.nan)
    for draw in range(n_draws):
        drawn, sum_within, sum_between = _pair_weights(
            within, parts, n_parts, weights, first_subject, second_subject, draws[draw]
        )
        if sum_within <= 0 or sum_between <= 0:
            continue
        total = sum_within + sum_between
        # The share of within pairs: as they are, or as among classes of equal size.
        share = sum_within / total if n_classes[draw] == 0 else 1 / n_classes[draw]
        wins = below = tied_cubes = 0.0
        place = 0
        while place < n_pairs:
            code, alike, unlike = codes[place], 0.0, 0.0
            while place < n_pairs and codes[place] == code:
                if within[place]:
                    alike += drawn[place]
                else:
                    unlike += drawn[place]
                place += 1
            wins += alike * (below + 0.5 * unlike)
            below += unlike
            tied = share * alike + (1 - share) * unlike
            tied_cubes += tied**3
        auc[draw] = wins
        spread = (1 - tied_cubes) / 12
        if spread > 0:
            rsa[draw] = np.sqrt(share * (1 - share)) * (wins - 0.5) / np.sqrt(spread)
    return auc, rsa


@kernel
def _row_scores(  # noqa: PLR0917
    codes: NDArray[np.int32],
    order: Integers,
    kinds: NDArray[np.int8],
    classes: Integers,
    candidates: Floats,
    class_totals: Floats,
    alike_classes: bool,
) -> tuple[float, float, float]:
    """Return wins per within and between weight, the within weight, the nearest's class.

    Codes and kinds are those of the other samples, the least similar first; `order` says
    which samples these are.
    """
    n_samples = order.shape[0]
    if alike_classes:
        class_totals[:] = 0.0
        for place in range(n_samples):
            if kinds[place] == 0:
                class_totals[classes[order[place]]] += candidates[order[place]]
    wins = total_within = total_between = nearest = 0.0
    place = 0
    while place < n_samples:
        code, alike, unlike, unlike_count = codes[place], 0.0, 0.0, 0.0
        while place < n_samples and codes[place] == code:
            weight = candidates[order[place]]
            if kinds[place] == 1:
                alike += weight
            elif kinds[place] == 0 and weight > 0:
                unlike_count += weight
                scale = class_totals[classes[order[place]]] if alike_classes else 1.0
                unlike += weight / scale
            place += 1
        wins += alike * (total_between + 0.5 * unlike)
        total_within += alike
        total_between += unlike
        if alike + unlike_count > 0:
            nearest = alike / (alike + unlike_count)
    return wins / (total_between * total_within), total_within, nearest


@kernel
def _neighbour_kernel(  # noqa: PLR0917
    codes: NDArray[np.int32],
    order: Integers,
    kinds: NDArray[np.int8],
    weights: Floats,
    classes: Integers,
    n_classes: int,
    has_partner: NDArray[np.bool_],
    alike_classes: bool,
) -> tuple[Floats, Floats]:
    n_draws, n_samples = has_partner.shape
    discr, ident = np.empty(n_draws), np.empty(n_draws)
    class_totals = np.zeros(n_classes)
    sums = np.zeros((n_classes, 4))  # wins, pairs, hits, samples
    for draw in range(n_draws):
        candidates = weights * has_partner[draw]
        sums[:] = 0.0
        for sample in range(n_samples):
            own = candidates[sample]
            if own == 0:
                continue
            rate, alike, nearest = _row_scores(
                codes[sample], order[sample], kinds[sample], classes, candidates,
                class_totals, alike_classes,
            )  # fmt: skip
            if np.isfinite(rate):  # otherwise nothing of another class is there
                pairs = own if alike_classes else own * alike
                place = classes[sample] if alike_classes else 0
                sums[place, 0] += pairs * rate
                sums[place, 1] += pairs
                sums[place, 2] += own * nearest
                sums[place, 3] += own
        discr[draw] = _mean_of_ratios(sums[:, 0], sums[:, 1])
        ident[draw] = _mean_of_ratios(sums[:, 2], sums[:, 3])
    return discr, ident


@raising_kernel
def _mean_of_ratios(parts: Floats, totals: Floats) -> float:
    """Average parts / totals where there is a total; NaN if nowhere."""
    total, count = 0.0, 0
    for part in range(len(totals)):
        if totals[part] > 0:
            total += parts[part] / totals[part]
            count += 1
    return total / count if count else np.nan


def i2c2(moments: PairMoments) -> Floats:
    """Return the intraclass correlation of images (Shou et al. 2013) of every draw.

    The vectors of samples have length one, so the mean similarity of a sample with itself is 1.
    """
    between = moments.mean_between
    return np.asarray((moments.mean_within - between) / (1.0 - between))


def window_cells(design: PairDesign, samples: pd.DataFrame, sites: Integers) -> Integers:
    """Return the cells inside which windows may be dealt out anew.

    The first windows of all subjects of a site are one cell, their second windows another, and
    so on. Under the null hypothesis that persons do not differ, whose first window stands
    beside whose second one says nothing.

    Parameters
    ----------
    design : PairDesign
        Of fingerprinting.
    samples : DataFrame
        The facts of the FC source's samples.
    sites : array of int, shape (sample of the design,)

    Returns
    -------
    array of int, shape (sample of the design,)
    """
    windows = samples["window"].to_numpy()[design.rows]
    keys = pd.DataFrame({"subject": design.subjects, "block": design.blocks, "window": windows})
    # The number of a sample among those of its subject, sessions before windows.
    slots = keys.sort_values(["subject", "block", "window"]).groupby("subject").cumcount()
    return np.asarray(slots.sort_index().to_numpy() * (sites.max() + 1) + sites)


def subject_statistics(kernel: Kernel, design: PairDesign, permutations: Integers) -> Floats:
    """Return the mean similarity inside subjects, as it is and with windows dealt out anew.

    Parameters
    ----------
    kernel : Kernel
        Of the samples of the design, in its order.
    design : PairDesign
    permutations : array of int, shape (permutation, sample)
        Inside the cells of :func:`window_cells`.

    Returns
    -------
    array, shape (1 + permutation,)
        The observed one first; subjects count alike.
    """
    first, second, weights = _own_pairs(design)
    similarity = kernel.similarity
    found = np.empty(1 + len(permutations))
    found[0] = weights @ similarity[first, second]
    for number, order in enumerate(permutations, start=1):
        found[number] = weights @ similarity[order[first], order[second]]
    return found


def _own_pairs(design: PairDesign) -> tuple[Integers, Integers, Floats]:
    """Return the compared pairs inside subjects, and weights with which subjects count alike."""
    firsts, seconds = [], []
    for members in design.members_by_subject_size:
        compared = design.compared(members[:, :, None], members[:, None, :])
        subject, one, other = np.nonzero(np.triu(compared, k=1))
        firsts.append(members[subject, one])
        seconds.append(members[subject, other])
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    counts = np.bincount(design.subjects[first], minlength=design.n_subjects)
    weights = 1.0 / counts[design.subjects[first]]
    return first, second, weights / weights.sum()
