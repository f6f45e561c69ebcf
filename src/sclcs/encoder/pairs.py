"""Which windows meet in a batch: every subject gives two, once per epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.core.errors import InputError, name_first
from sclcs.core.seeds import generator

__all__ = ["SubjectPairs", "find_pairs"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SubjectPairs:
    """The pairs of windows each subject can contribute.

    Parameters
    ----------
    first, second : array of int
        Row numbers of all pairs, sorted by subject. A subject without a pair has one entry
        per sample, with `second` equal to `first`: it contributes a single window.
    offsets : array of int
        Where each subject's entries begin, and the end.
    """

    first: Integers
    second: Integers
    offsets: Integers

    @property
    def n_subjects(self) -> int:
        """Number of subjects."""
        return len(self.offsets) - 1

    def batches(
        self, batch_subjects: int, seed: int, epoch: int
    ) -> Iterator[tuple[Integers, Integers]]:
        """Go through all subjects once, in an order drawn for this epoch.

        Parameters
        ----------
        batch_subjects : int
            Subjects per batch. A last batch of one subject joins the one before it,
            because it would have no negatives.
        seed, epoch : int
            What the draw depends on, and nothing else.

        Yields
        ------
        rows, subjects : array of int
            Row numbers of the samples of a batch and the number of their subject.
        """
        rng = generator(seed, "encoder", "batches", epoch)
        order = rng.permutation(self.n_subjects)
        choices = np.diff(self.offsets)
        chosen = self.offsets[:-1] + (rng.random(self.n_subjects) * choices).astype(np.int64)
        for start, stop in _batch_bounds(self.n_subjects, batch_subjects):
            subjects = order[start:stop]
            entries = chosen[subjects]
            rows = np.stack([self.first[entries], self.second[entries]], axis=1)
            keep = np.stack([np.full(len(rows), True), rows[:, 0] != rows[:, 1]], axis=1)
            yield rows[keep], np.repeat(subjects, keep.sum(axis=1))


def _batch_bounds(n_subjects: int, batch_subjects: int) -> list[tuple[int, int]]:
    starts = list(range(0, n_subjects, batch_subjects))
    if len(starts) > 1 and n_subjects - starts[-1] == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], n_subjects], strict=True))


def find_pairs(samples: pd.DataFrame, n_timepoints: int, *, allow_overlap: bool) -> SubjectPairs:
    """Find the pairs of windows of every subject.

    Parameters
    ----------
    samples : DataFrame
        The cohort's table of samples.
    n_timepoints : int
        Length of a window.
    allow_overlap : bool
        Whether two windows of a pair may share time points.

    Returns
    -------
    SubjectPairs

    Raises
    ------
    InputError
        If there are fewer than two subjects, or no subject has a pair.
    """
    subjects, codes = np.unique(samples["subject"].to_numpy(dtype=str), return_inverse=True)
    if len(subjects) < 2:
        raise InputError(
            f"Training compares subjects, so at least 2 are needed, but the cohort has "
            f"{len(subjects)} ({name_first(subjects)}); add scans of others."
        )
    starts = None if allow_overlap else _starts(samples)
    scans = samples["scan"].to_numpy(dtype=str) if "scan" in samples else samples["subject"]
    first: list[Integers] = []
    second: list[Integers] = []
    for members in np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1]):
        one, other = (members[place] for place in np.triu_indices(len(members), k=1))
        if starts is not None:
            shared = np.abs(starts[one] - starts[other]) < n_timepoints
            shared &= np.asarray(scans)[one] == np.asarray(scans)[other]
            one, other = one[~shared], other[~shared]
        first.append(one if len(one) else members)
        second.append(other if len(one) else members)
    _require_a_pair(first, second, allow_overlap)
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in first])])
    return SubjectPairs(np.concatenate(first), np.concatenate(second), offsets.astype(np.int64))


def _starts(samples: pd.DataFrame) -> Integers:
    if "start" not in samples:
        raise InputError(
            "allow_overlap=False needs the column start (where each window begins), but the "
            f"cohort has {name_first(samples.columns, 10)}; allow overlapping windows."
        )
    return samples["start"].to_numpy(dtype=np.int64)


def _require_a_pair(first: list[Integers], second: list[Integers], allow_overlap: bool) -> None:
    if any((a != b).any() for a, b in zip(first, second, strict=True)):
        return
    raise InputError(
        "Training needs two windows of at least one subject, but no subject has "
        + ("two; cut scans into more windows." if allow_overlap else "two that do not overlap; ")
        + ("" if allow_overlap else "use a larger stride or allow_overlap=True.")
    )
