"""Scores made of pairs of samples: which pairs, their means and spreads, their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import InputError
from sclcs.cohort import label_column, sample_lengths
from sclcs.stats.kernel import Kernel
from sclcs.stats.memory import row_blocks
from sclcs.stats.targets import Target

__all__ = [
    "PairDesign",
    "PairMoments",
    "PairRules",
    "SampleCodes",
    "pair_design",
    "pair_moments",
    "sample_codes",
]


Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
FAR_APART = 4.0  # window lengths between two scans of a subject on the line of places


@dataclass(frozen=True)
class PairRules:
    """Which pairs are compared at all.

    Parameters
    ----------
    exclude_same_subject : bool
        For labels: never compare two samples of one subject. They share the label *and* the
        person: counting them measures fingerprinting instead of the label.
    across_sessions : bool, optional
        For fingerprinting: compare a subject's samples only if they come from different
        sessions. By default this is so when some subject has several.
    overlapping : bool
        Compare windows that share time points, as the paper does. They are alike because
        they are partly the same data.
    pooled : bool
        Let every pair count alike, as the paper does, so that the largest class counts with
        the square of its size. By default classes count alike (for fingerprinting, subjects).
    """

    exclude_same_subject: bool = True
    across_sessions: bool | None = None
    overlapping: bool = False
    pooled: bool = False

    @classmethod
    def paper(cls) -> PairRules:
        """Return the rules of the paper's reproduction."""
        return cls(overlapping=True, pooled=True)


@dataclass(frozen=True, eq=False)
class SampleCodes:
    """What decides which samples are compared, as numbers; see :class:`PairDesign`.

    The class of a sample without a label is -1.
    """

    classes: Integers
    subjects: Integers
    blocks: Integers
    places: Floats


@dataclass(frozen=True, eq=False)
class PairDesign:
    """The samples of a question, sorted by subject and class.

    Parameters
    ----------
    rows : array of int
        Their row numbers in the FC source.
    classes, subjects : arrays of int
        Codes of each sample; subjects are numbered from 0 without gaps.
    blocks : array of int
        Samples of one block are never compared: of one session, or of one subject.
    places : array of float
        Where a window begins, in window lengths, on a line on which scans lie far apart:
        windows less than 1 apart share time points and are never compared.
    groups : array of int
        Only samples of one group are compared (those of one site); all 0 without.
    weights : array of float
        How often each sample counts.
    target : Target
        What is asked.
    pooled : bool
        Whether all pairs count alike, instead of all classes.
    """

    rows: Integers
    classes: Integers
    subjects: Integers
    blocks: Integers
    places: Floats
    groups: Integers
    weights: Floats
    target: Target
    pooled: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def n_subjects(self) -> int:
        """Number of different subjects."""
        return int(self.subjects[-1]) + 1 if len(self) else 0

    @cached_property
    def n_classes(self) -> int:
        """Number of different classes."""
        return int(self.classes.max()) + 1 if len(self) else 0

    @cached_property
    def fingerprinting(self) -> bool:
        """Whether subjects themselves are the classes."""
        return self.target.kind == "subject"

    def compared(self, one: Integers, other: Integers) -> NDArray[np.bool_]:
        """Say which samples are compared with which; the arrays are broadcast."""
        return np.asarray(
            (self.blocks[one] != self.blocks[other])
            & (np.abs(self.places[one] - self.places[other]) >= 1.0)
            & (self.groups[one] == self.groups[other])
        )

    @cached_property
    def unit_starts(self) -> Integers:
        """The first sample of each unit (one subject, one class)."""
        new = np.ones(len(self), dtype=bool)
        new[1:] = (np.diff(self.subjects) != 0) | (np.diff(self.classes) != 0)
        return np.flatnonzero(new)

    @cached_property
    def unit_subjects(self) -> Integers:
        """The subject of each unit."""
        return self.subjects[self.unit_starts]

    @cached_property
    def unit_classes(self) -> Integers:
        """The class of each unit."""
        return self.classes[self.unit_starts]

    @cached_property
    def members_by_subject_size(self) -> list[Integers]:
        """Positions of the samples of each subject, gathered by number of samples.

        Each array has the shape (subject, sample of the subject), so that the pairs inside
        all subjects of one size are one batched product.
        """
        starts = np.flatnonzero(np.r_[True, np.diff(self.subjects) != 0])
        sizes = np.diff(np.r_[starts, len(self)])
        return [starts[sizes == size][:, None] + np.arange(size) for size in np.unique(sizes)]

    @cached_property
    def inside_pairs(self) -> list[tuple[Integers, Integers, NDArray[np.bool_]]]:
        """The compared pairs inside subjects: samples, subjects, and masks of between and within.

        One entry per size of subjects, as in :attr:`members_by_subject_size`; the masks have the
        shape (between or within, subject, sample, sample).
        """
        found = []
        for members in self.members_by_subject_size:
            one, other = members[:, :, None], members[:, None, :]
            alike, compared = self.classes[one] == self.classes[other], self.compared(one, other)
            masks = np.stack([~alike & compared, alike & compared])
            found.append((members, self.subjects[members[:, 0]], masks))
        return found

    @cached_property
    def unit_blocks(self) -> list[slice]:
        """The units, some at a time: doubles of all pairs of samples are many."""
        return list(row_blocks(len(self.unit_starts)))

    @cached_property
    def pair_kinds(self) -> NDArray[np.int8]:
        """For every ordered pair: 1 within, 0 between, -1 not compared."""
        all_samples = np.arange(len(self))
        kinds = (self.classes[:, None] == self.classes[None, :]).astype(np.int8)
        kinds[~self.compared(all_samples[:, None], all_samples[None, :])] = -1
        return np.asarray(kinds)

    @cached_property
    def degenerate(self) -> str:
        """Why no score can be computed, and what to do; empty if one can."""
        what = f"task {self.target.name!r}"
        if not len(self):
            return f"{what}: no sample has a label; choose another column."
        if self.n_classes < 2:
            return (
                f"{what}: there is no between pair, because all {len(self)} samples are of one "
                "class; take samples of at least two."
            )
        if not self._has_within_pair():
            return (
                f"{what}: there is no within pair, because no two samples that may be compared "
                f"share a class ({len(self)} samples of {self.n_subjects} subjects); "
                + self._within_advice()
            )
        return ""

    def _has_within_pair(self) -> bool:
        if not self.fingerprinting:  # two subjects of one class and group
            cells = pd.DataFrame({"c": self.classes, "g": self.groups, "b": self.blocks})
            return bool((cells.drop_duplicates().groupby(["c", "g"]).size() > 1).any())
        return any(
            bool(self.compared(members[:, :, None], members[:, None, :]).any())
            for members in self.members_by_subject_size
        )

    def _within_advice(self) -> str:
        if self.fingerprinting:
            return (
                "take at least two samples of some subjects that share no time points (from two "
                "sessions, if sessions are compared), for example cohort.halves()."
            )
        return "take samples of at least two subjects of one class."


def pair_design(
    samples: pd.DataFrame,
    target: Target,
    rows: Integers | None = None,
    weights: Floats | None = None,
    *,
    rules: PairRules | None = None,
    n_timepoints: int | None = None,
    within: Sequence[str] = (),
) -> PairDesign:
    """Work out the pairs of a target.

    Parameters
    ----------
    samples : DataFrame
        One row of facts per sample of the FC source.
    target : Target
        The subject, or a label. (Numbers have no pairs; they are scored on subjects.)
    rows : array of int, optional
        Only these samples.
    weights : array of float, optional
        Of these samples. Weights whose mean is below one are scaled to mean one: a core-set
        never counts for fewer samples than it has.
    rules : PairRules, optional
        Which pairs are compared.
    n_timepoints : int, optional
        Length of a window; unknown if None, and then no two windows are taken to overlap.
    within : sequence of str
        Compare only samples that agree in these columns.

    Returns
    -------
    PairDesign
    """
    rules = rules or PairRules()
    rows = np.arange(len(samples)) if rows is None else np.asarray(rows)
    weights = np.ones(len(rows)) if weights is None else np.array(weights, dtype=np.float64)
    if len(weights) and weights.mean() < 1.0:
        weights = weights / weights.mean()
    labelled = target.values(samples).iloc[rows].notna().to_numpy()
    rows, weights = rows[labelled], weights[labelled]
    chosen = samples.iloc[rows]
    codes = sample_codes(chosen, target, rules, n_timepoints)
    groups = _groups(chosen, within)
    order = np.lexsort((rows, codes.blocks, codes.classes, codes.subjects))
    return PairDesign(
        rows[order],
        codes.classes[order],
        codes.subjects[order],
        codes.blocks[order],
        codes.places[order],
        groups[order],
        weights[order],
        target,
        rules.pooled,
    )


def sample_codes(
    samples: pd.DataFrame, target: Target, rules: PairRules, n_timepoints: int | None
) -> SampleCodes:
    """Return what decides which samples are compared.

    Parameters
    ----------
    samples : DataFrame
    target : Target
        The subject, or a label.
    rules : PairRules
    n_timepoints : int, optional
        Length of a window.

    Returns
    -------
    SampleCodes
    """
    subjects = _codes(samples["subject"])
    return SampleCodes(
        _codes(target.values(samples)),
        subjects,
        _blocks(samples, target, subjects, rules),
        _places(samples, None if rules.overlapping else n_timepoints),
    )


def _places(samples: pd.DataFrame, n_timepoints: int | None) -> Floats:
    """Return where every window begins, in window lengths, scans lying far apart."""
    if n_timepoints is None or not {"scan", "start"} <= set(samples.columns):
        return np.arange(len(samples), dtype=np.float64) * FAR_APART
    # The windows of one scan have one length, also where scans differ.
    lengths = sample_lengths(samples, n_timepoints)
    starts = samples["start"].to_numpy(dtype=np.float64) / lengths
    scans = _codes(samples["scan"].fillna("") + "\x1f" + samples["subject"])
    return np.asarray(scans * (float(np.ptp(starts)) + FAR_APART) + starts, dtype=np.float64)


def _blocks(
    samples: pd.DataFrame, target: Target, subjects: Integers, rules: PairRules
) -> Integers:
    if target.kind != "subject":
        return subjects if rules.exclude_same_subject else np.arange(len(samples))
    if not _sessions_matter(samples, rules.across_sessions):
        return np.arange(len(samples))
    sessions = _codes(label_column(samples, "session"))
    unknown = sessions < 0
    if unknown.any():
        raise InputError(
            f"Fingerprinting across sessions needs the session of every sample; it is missing "
            f"for {int(unknown.sum())} of {len(samples)}. Fill the column `session`."
        )
    return np.asarray(subjects * (sessions.max() + 1) + sessions)


def _sessions_matter(samples: pd.DataFrame, asked: bool | None) -> bool:
    if asked is not None:
        return asked
    if "session" not in samples.columns:
        return False
    scans = samples[["subject", "session"]].dropna().drop_duplicates()
    return bool(scans["subject"].duplicated().any())


def _groups(samples: pd.DataFrame, within: Sequence[str]) -> Integers:
    groups = np.zeros(len(samples), dtype=np.int64)
    for name in within:
        codes = _codes(label_column(samples, name))
        if (codes < 0).any():
            raise InputError(f"Comparing within {name} needs it of every sample; fill the column.")
        groups = groups * (int(codes.max(initial=0)) + 1) + codes
    return groups


def _codes(column: pd.Series) -> Integers:
    return np.asarray(pd.factorize(column, sort=True)[0], dtype=np.int64)


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
