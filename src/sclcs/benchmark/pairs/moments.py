"""Mean and spread of the similarities of within and between pairs, for every draw of subjects.

All sums run over *ordered* pairs (each pair twice). The weight of a pair is the product of
the weights of its samples. A draw is a set of subjects, as ones and zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.kernel import Kernel
from sclcs.benchmark.pairs.pair_design import PairDesign

__all__ = ["PairMoments", "pair_moments"]

Floats = NDArray[np.float64]
POWERS = (0, 1, 2)  # counts, sums, sums of squares
NOISE = 1e-6  # a variance below is rounding error of single precision


@dataclass(frozen=True)
class PairMoments:
    """First and second moment of the similarities; one value per draw of subjects.

    Parameters
    ----------
    within, between : array, shape (2, draw)
        Mean similarity and mean squared similarity; NaN where there is no pair.
    within_weight, between_weight : array, shape (draw,)
        How much the two kinds of pairs count in a pooled variance.
    """

    within: Floats
    between: Floats
    within_weight: Floats
    between_weight: Floats

    @property
    def mean_within(self) -> Floats:
        """Mean similarity of within pairs; NaN where there is none."""
        return np.asarray(self.within[0])

    @property
    def mean_between(self) -> Floats:
        """Mean similarity of between pairs; NaN where there is none."""
        return np.asarray(self.between[0])

    @property
    def pooled_deviation(self) -> Floats:
        """Standard deviation inside within and between pairs."""
        scatter = np.zeros_like(self.within_weight)
        weights = np.zeros_like(self.within_weight)
        for (mean, square), weight in (
            (self.within, self.within_weight),
            (self.between, self.between_weight),
        ):
            variance = square - mean**2
            scatter = scatter + weight * np.where(variance < NOISE, 0.0, variance)  # keeps NaN
            weights = weights + weight
        return np.sqrt(_ratio(scatter, weights))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    usable = denominator > 0
    return np.where(usable, numerator / np.where(usable, denominator, 1.0), np.nan)


def pair_moments(kernel: Kernel, design: PairDesign, draws: Floats) -> PairMoments:
    """Return the moments of every draw of subjects.

    The similarities are summed once per pair of units; every draw is then a quadratic form,
    and all draws together are matrix products.

    Parameters
    ----------
    kernel : Kernel
        Of the samples of the design, in its order.
    design : PairDesign
    draws : array, shape (draw, subject)
        1 for the subjects of a draw, 0 for the others.

    Returns
    -------
    PairMoments
    """
    weights = design.weights * kernel.usable
    tables = _unit_tables(kernel, design, weights)
    inside = _inside_sums(kernel, design, weights)
    if design.pooled:
        return _pooled(tables, inside, design, draws)
    if design.fingerprinting:
        return _subjects_alike(tables, inside, draws)
    return _classes_alike(tables, inside, design, draws)


def _unit_tables(kernel: Kernel, design: PairDesign, weights: Floats) -> Floats:
    """Return count, sum and sum of squares per pair of units; zero for units of one subject."""
    starts = design.unit_starts
    counts = np.add.reduceat(weights, starts)
    tables = np.empty((3, len(starts), len(starts)))
    tables[0] = np.outer(counts, counts)
    equal = bool(np.all(weights == 1.0))
    ends = np.append(starts[1:], len(weights))
    for units in design.unit_blocks:
        rows = slice(starts[units.start], ends[units.stop - 1])
        inside = starts[units] - rows.start
        values = kernel.similarity[rows].astype(np.float64)
        pair_weights = None if equal else weights[rows, None] * weights[None, :]
        for power in (1, 2):
            terms = values if power == 1 else values * values
            terms = terms if pair_weights is None else terms * pair_weights
            sums = np.add.reduceat(terms, inside, axis=0)
            tables[power, units] = np.add.reduceat(sums, starts, axis=1)
    subjects, groups = design.unit_subjects, design.groups[starts]
    for units in design.unit_blocks:
        apart = (subjects[units, None] != subjects) & (groups[units, None] == groups)
        np.copyto(tables[:, units], 0.0, where=~apart)
    return tables


def _inside_sums(kernel: Kernel, design: PairDesign, weights: Floats) -> Floats:
    """Sum over the compared pairs inside each subject: (between or within, power, subject)."""
    sums = np.zeros((2, 3, design.n_subjects))
    for members, subjects, masks in design.inside_pairs:
        similarity = kernel.similarity[members[:, :, None], members[:, None, :]].astype(np.float64)
        pair_weights = weights[members][:, :, None] * weights[members][:, None, :]
        for power in POWERS:
            terms = pair_weights * similarity**power
            for kind, mask in enumerate(masks):
                sums[kind, power, subjects] = np.where(mask, terms, 0.0).sum(axis=(1, 2))
    return sums


def _quadratic(one: Floats, table: Floats, other: Floats) -> Floats:
    """Return m' T k for every row m of one array and k of the other."""
    if not table.any():  # fingerprinting has no within pair across subjects
        return np.zeros(len(one))
    return np.asarray(np.einsum("ru,ru->r", one @ table, other))


def _pooled(tables: Floats, inside: Floats, design: PairDesign, draws: Floats) -> PairMoments:
    """Count every pair alike, as Liu 2025 and the paper do."""
    by_unit = draws[:, design.unit_subjects]
    same_class = design.unit_classes[:, None] == design.unit_classes[None, :]
    sums = np.empty((2, 3, len(draws)))  # between or within
    for kind, mask in enumerate((~same_class, same_class)):
        for power in POWERS:
            across = _quadratic(by_unit, np.where(mask, tables[power], 0.0), by_unit)
            sums[kind, power] = draws @ inside[kind, power] + across
    (n_between, *between), (n_within, *within) = sums
    return PairMoments(
        np.array([_ratio(total, n_within) for total in within]),
        np.array([_ratio(total, n_between) for total in between]),
        n_within - 1,
        n_between - 1,
    )


def _subjects_alike(tables: Floats, inside: Floats, draws: Floats) -> PairMoments:
    """Average inside subjects and pairs of subjects first; then all of them count alike."""
    n_own = inside[1, 0]
    own = np.where(n_own > 0, inside[1, 1:] / np.where(n_own > 0, n_own, 1.0), 0.0)
    there = (n_own > 0).astype(np.float64)
    n_drawn = draws @ there
    within = np.array([_ratio(draws @ (own[power] * there), n_drawn) for power in (0, 1)])
    filled = tables[0] > 0
    means = np.where(filled, tables[1:] / np.where(filled, tables[0], 1.0), 0.0)
    n_pairs = _quadratic(draws, filled.astype(np.float64), draws)
    between = np.array([_ratio(_quadratic(draws, table, draws), n_pairs) for table in means])
    n_subjects = np.maximum(draws.sum(axis=1), 1.0)
    return PairMoments(within, between, 1.0 / n_subjects, 1.0 - 1.0 / n_subjects)


def _classes_alike(
    tables: Floats, inside: Floats, design: PairDesign, draws: Floats
) -> PairMoments:
    """Average inside classes and pairs of classes first; then all of them count alike."""
    by_unit = draws[:, design.unit_subjects]
    n_classes, n_draws = design.n_classes, len(draws)
    member = design.unit_classes[:, None] == np.arange(n_classes)
    within, between = np.zeros((2, n_draws)), np.zeros((2, n_draws))
    # Inside a subject whose class is constant, all pairs are within pairs of that class.
    own_class = np.zeros((n_classes, design.n_subjects))
    own_class[design.unit_classes, design.unit_subjects] = 1.0
    for one in range(n_classes):
        for other in range(one, n_classes):
            sums = np.array([
                _quadratic(by_unit * member[:, one], tables[power], by_unit * member[:, other])
                for power in POWERS
            ])  # fmt: skip
            if one == other:
                sums += (inside[1] * own_class[one]) @ draws.T
                within += _ratio(sums[1:], sums[0])
            else:
                between += _ratio(sums[1:], sums[0])
    n_pairs = n_classes * (n_classes - 1) / 2
    weight = np.full(n_draws, 1.0 / n_classes)
    return PairMoments(within / n_classes, between / n_pairs, weight, 1.0 - weight)
