"""The design: which pairs of samples a task compares on a core-set, and with what weight.

A design knows nothing of operators, so one serves all of them. Its samples are sorted by
subject; a *unit* is the samples of one subject with one class, and pair sums are kept per
pair of units, because subjects are what the bootstrap draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.tasks import Task
from sclcs.cohort.coreset import CoreSet

__all__ = ["PairDesign", "make_design"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairDesign:
    """The samples of a task, sorted by subject and class.

    Parameters
    ----------
    rows : array of int
        Their row numbers in the FC source.
    classes, blocks, subjects : arrays of int
        Codes of each sample; subjects are numbered from 0 without gaps.
    weights : array of float
        How often each sample counts.
    n_unlabelled : int
        Samples that were left out because they have no label.
    task : Task
        What is asked.
    """

    rows: Integers
    classes: Integers
    blocks: Integers
    subjects: Integers
    weights: Floats
    n_unlabelled: int
    task: Task

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_subjects(self) -> int:
        """Number of different subjects."""
        return int(self.subjects[-1]) + 1 if len(self) else 0

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
    def pair_kinds(self) -> NDArray[np.int8]:
        """For every ordered pair: 1 within, 0 between, -1 not compared."""
        kinds = (self.classes[:, None] == self.classes[None, :]).astype(np.int8)
        kinds[self.blocks[:, None] == self.blocks[None, :]] = -1
        return np.asarray(kinds)

    @cached_property
    def degenerate(self) -> str:
        """Why no score can be computed, and what to do; empty if one can."""
        classes = np.unique(self.classes)
        what = f"task {self.task.name!r}"
        if not len(self):
            return f"{what}: no sample has a label; choose another column."
        if len(classes) < 2:
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
        # Two different blocks with one class; blocks never span subjects.
        cells = pd.DataFrame({"class": self.classes, "block": self.blocks}).drop_duplicates()
        return bool((cells.groupby("class").size() > 1).any())

    def _within_advice(self) -> str:
        if self.task.name == "subject":
            return (
                "take at least two samples of some subjects (from two sessions, if sessions are "
                "compared)."
            )
        return "take samples of at least two subjects of one class."


def make_design(samples: pd.DataFrame, task: Task, coreset: CoreSet | None = None) -> PairDesign:
    """Work out the pairs of a task.

    Parameters
    ----------
    samples : DataFrame
        One row of facts per sample of the FC source.
    task : Task
        What is asked.
    coreset : CoreSet, optional
        Only these samples, with their weights. Weights whose mean is below one are scaled
        to mean one: a core-set never counts for fewer samples than it has.

    Returns
    -------
    PairDesign
    """
    rows = np.arange(len(samples)) if coreset is None else coreset.rows(samples.index)
    codes = task.codes(samples)
    weights = np.ones(len(rows))
    if coreset is not None and coreset.weight is not None:
        weights = np.array(coreset.weight, dtype=np.float64)
        weights *= max(1.0, 1.0 / weights.mean())
    labelled = codes.classes[rows] >= 0
    n_unlabelled = int((~labelled).sum())
    rows, weights = rows[labelled], weights[labelled]
    order = np.lexsort((rows, codes.blocks[rows], codes.classes[rows], codes.subjects[rows]))
    rows, weights = rows[order], weights[order]
    _, subjects = np.unique(codes.subjects[rows], return_inverse=True)
    return PairDesign(
        rows, codes.classes[rows], codes.blocks[rows], subjects, weights, n_unlabelled, task
    )
