"""Sums of similarities over within and between pairs, and the scores' raw material.

All sums run over *ordered* pairs (each pair twice). The weight of a pair is the product of
the weights of its samples. When subjects are drawn with multiplicity m, a pair inside one
subject counts m times (once per drawn copy; two copies of one subject are never compared),
and a pair of two subjects counts the product of their multiplicities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.design import PairDesign
from sclcs.benchmark.similarity import OperatorVectors

__all__ = ["PairMoments", "closed_form_moments", "table_moments"]

Floats = NDArray[np.float64]
POWERS = (0, 1, 2)  # counts, sums, sums of squares
NOISE = 1e-6  # a variance below is rounding error of single precision


@dataclass(frozen=True)
class PairMoments:
    """Count, sum and sum of squares of the similarities; one value per draw of subjects.

    Parameters
    ----------
    within, between : array, shape (3, draw)
        Count, sum and sum of squares over ordered pairs.
    """

    within: Floats
    between: Floats

    @property
    def mean_within(self) -> Floats:
        """Mean similarity of within pairs; NaN where there is none."""
        return _ratio(self.within[1], self.within[0])

    @property
    def mean_between(self) -> Floats:
        """Mean similarity of between pairs; NaN where there is none."""
        return _ratio(self.between[1], self.between[0])

    @property
    def pooled_deviation(self) -> Floats:
        """Pooled standard deviation, as in Liu 2025: ddof 0, n counted over ordered pairs."""
        scatter, freedom = 0.0, 0.0
        for count, total, squares in (self.within, self.between):
            variance = _ratio(squares, count) - _ratio(total, count) ** 2
            variance = np.where(variance < NOISE, 0.0, variance)  # keeps NaN
            scatter = scatter + (count - 1) * variance
            freedom = freedom + (count - 1)
        return np.sqrt(_ratio(np.asarray(scatter), np.asarray(freedom)))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    usable = denominator > 0
    return np.where(usable, numerator / np.where(usable, denominator, 1.0), np.nan)


def table_moments(
    vectors: OperatorVectors, design: PairDesign, multiplicity: Floats
) -> PairMoments:
    """Return the sums of every draw of subjects.

    The similarities are summed once per pair of units; every draw is then a quadratic form
    of its multiplicities, and all draws together are matrix products.

    Parameters
    ----------
    vectors : OperatorVectors
        In the order of the design.
    design : PairDesign
    multiplicity : array, shape (draw, subject)
        How often each subject was drawn.

    Returns
    -------
    PairMoments
    """
    weights = design.weights * vectors.usable
    inside = inside_sums(vectors, design, weights)
    by_unit = multiplicity[:, design.unit_subjects]
    same_class = design.unit_classes[:, None] == design.unit_classes[None, :]
    within, between = np.empty((3, len(multiplicity))), np.empty((3, len(multiplicity)))
    for power in POWERS:
        table = _unit_table(vectors, design, weights, power)
        alike = _quadratic(by_unit, np.where(same_class, table, 0.0))
        unlike = _quadratic(by_unit, np.where(same_class, 0.0, table))
        within[power] = multiplicity @ inside.within[power] + alike
        between[power] = multiplicity @ inside.between[power] + unlike
    return PairMoments(within, between)


def _unit_table(
    vectors: OperatorVectors, design: PairDesign, weights: Floats, power: int
) -> Floats:
    """Return the sums per pair of units; zero for units of one subject."""
    starts = design.unit_starts
    if power == 0:
        counts = np.add.reduceat(weights, starts)
        table = np.outer(counts, counts)
    else:
        values = vectors.similarity.astype(np.float64)
        if power == 2:
            values *= values
        if not np.all(weights == 1.0):
            values *= weights[:, None]
            values *= weights[None, :]
        table = np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1)
    subjects = design.unit_subjects
    table[subjects[:, None] == subjects[None, :]] = 0.0
    return table


def _quadratic(by_unit: Floats, table: Floats) -> Floats:
    """Return m' T m for every row m."""
    if not table.any():  # fingerprinting has no within pair across subjects
        return np.zeros(len(by_unit))
    return np.asarray(np.einsum("ru,ru->r", by_unit @ table, by_unit))


def _without_rounding(sums: Floats) -> Floats:
    """Return sums that are exactly zero where there is no pair left."""
    empty = sums[0] < 0.5 * np.finfo(np.float32).eps
    return np.where(empty, 0.0, sums)


@dataclass(frozen=True)
class InsideSums:
    """Sums over pairs inside each subject, shape (3, subject), ordered pairs.

    ``within`` and ``between`` hold the pairs that are compared; ``same_class`` and
    ``other_class`` all of them, even a sample with itself.
    """

    within: Floats
    between: Floats
    same_class: Floats
    other_class: Floats


def inside_sums(vectors: OperatorVectors, design: PairDesign, weights: Floats) -> InsideSums:
    """Sum over the pairs inside each subject.

    Parameters
    ----------
    vectors : OperatorVectors
        In the order of the design.
    design : PairDesign
    weights : array, shape (sample,)
        Zero for samples that are not usable.

    Returns
    -------
    InsideSums
    """
    sums = np.zeros((4, 3, design.n_subjects))
    for members in design.members_by_subject_size:
        units = vectors.units[members]
        similarity = np.asarray(units @ units.transpose(0, 2, 1), dtype=np.float64)
        pair_weights = weights[members][:, :, None] * weights[members][:, None, :]
        alike = design.classes[members][:, :, None] == design.classes[members][:, None, :]
        blocks = design.blocks[members]
        compared = blocks[:, :, None] != blocks[:, None, :]
        subjects = design.subjects[members[:, 0]]
        for power in POWERS:
            terms = pair_weights * similarity**power
            for kind, mask in enumerate((alike & compared, ~alike & compared, alike, ~alike)):
                sums[kind, power, subjects] = np.where(mask, terms, 0.0).sum(axis=(1, 2))
    return InsideSums(*sums)


def closed_form_moments(vectors: OperatorVectors, design: PairDesign) -> PairMoments:
    """Return the sums over all samples without ever forming their similarity matrix.

    With G the sum of the (weighted) unit vectors of a class, the similarities of all its
    pairs sum to ‖G‖²; their squares sum to the squared norm of the Gram matrix ZᵀZ. Pairs
    inside subjects are subtracted and, where they are compared, added back.

    Parameters
    ----------
    vectors : OperatorVectors
        In the order of the design.
    design : PairDesign

    Returns
    -------
    PairMoments
        Of one draw, in which every subject counts once.
    """
    weights = design.weights * vectors.usable
    inside = inside_sums(vectors, design, weights)
    same_class, other_class = inside.same_class.sum(axis=1), inside.other_class.sum(axis=1)
    labels = np.unique(design.unit_classes)
    if len(labels) == len(design.unit_classes):
        # Fingerprinting: all pairs of a class lie inside a subject and are summed already.
        alike, everything = same_class, _class_sums(vectors, weights, [np.arange(len(design))])[1]
    else:
        members = [np.flatnonzero(design.classes == label) for label in labels]
        alike, everything = _class_sums(vectors, weights, members)
    within = alike - same_class + inside.within.sum(axis=1)
    between = everything - alike - other_class + inside.between.sum(axis=1)
    return PairMoments(within[:, None], _without_rounding(between[:, None]))


def _class_sums(
    vectors: OperatorVectors, weights: Floats, classes: list[NDArray[np.int64]]
) -> tuple[Floats, Floats]:
    """Return count, sum, sum of squares over all ordered pairs of one class, and over all."""
    counts = np.array([weights[members].sum() for members in classes])
    weighted = _times(vectors.units, weights)
    sums = [weighted[members].sum(axis=0, dtype=np.float64) for members in classes]
    total = np.sum(sums, axis=0)
    squares, all_squares = _squared_sums(vectors, weights, classes)
    alike = [np.square(counts).sum(), np.square(sums).sum(), squares]
    everything = [counts.sum() ** 2, total @ total, all_squares]
    return np.array(alike), np.array(everything)


def _squared_sums(
    vectors: OperatorVectors, weights: Floats, classes: list[NDArray[np.int64]]
) -> tuple[float, float]:
    """Return the sum of squares over all ordered pairs of one class, and over all."""
    known = vectors.known_similarity
    if known is not None and np.all(weights == 1.0):
        whole = _sum_of_squares(known)
        if len(classes) == 1:
            return whole, whole
        return sum(_sum_of_squares(known[np.ix_(rows, rows)]) for rows in classes), whole
    rooted = _times(vectors.units, np.sqrt(weights))
    grams = [_smaller_gram(rooted[members]) for members in classes]
    if all(len(members) > rooted.shape[1] for members in classes):
        gram = np.sum(grams, axis=0)  # of all samples: the sum of those of the classes
    else:
        gram = _smaller_gram(rooted)
    return sum(map(_sum_of_squares, grams)), _sum_of_squares(gram)


def _times(units: NDArray[np.float32], weights: Floats) -> NDArray[np.float32]:
    if np.all(weights == 1.0):
        return units
    return units * weights[:, None].astype(np.float32)


def _smaller_gram(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ZᵀZ or ZZᵀ, whichever is smaller; their squared norms are equal."""
    return rows.T @ rows if rows.shape[0] > rows.shape[1] else rows @ rows.T


def _sum_of_squares(matrix: NDArray[np.float32]) -> float:
    exact = matrix.astype(np.float64).ravel()
    return float(exact @ exact)
