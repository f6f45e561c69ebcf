"""Stratified core-sets: where the search starts, and what unguided core-sets scatter like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.core.seeds import child_seed
from sclcs.selection.guided.search import Constraints, Units
from sclcs.selection.registry import find_selector

__all__ = ["StartingSets"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StartingSets:
    """Draws stratified core-sets that keep the constraints.

    Parameters
    ----------
    candidates : Cohort
        The samples that may be chosen.
    units : Units
        What enters together.
    constraints : Constraints
    windows : int
        Samples per subject.
    seed : int
    """

    candidates: Cohort
    units: Units
    constraints: Constraints
    windows: int
    seed: int

    def draw(self, size: int, number: int) -> Integers:
        """Return the candidates of one core-set; another number gives another one."""
        if size > len(self.candidates):
            raise InputError(
                f"{size} samples are wanted, but the memory for the panel allows "
                f"{len(self.candidates)} candidates; raise memory_gb or lower the ratio."
            )
        seed = child_seed(self.seed, "guided", "design", number)
        if self.constraints.whole_subjects:
            return self._enough(self._whole_subjects(size, seed), size)
        rows = np.sort(self._stratified(size, seed, self.windows))
        if self.windows > 1 and self._n_subjects(rows) < self.constraints.min_subjects:
            rows = np.sort(self._stratified(size, seed, 1))
        return self._enough(rows, size)

    def _n_subjects(self, rows: Integers) -> int:
        return len(np.unique(self.units.subjects[rows]))

    def _enough(self, rows: Integers, size: int) -> Integers:
        if self._n_subjects(rows) >= self.constraints.min_subjects:
            return rows
        raise InputError(
            f"At least {self.constraints.min_subjects} subjects are wanted, but a core-set of "
            f"{size} samples has {self._n_subjects(rows)}; lower min_subjects or raise the ratio."
        )

    def _stratified(self, size: int, seed: int, windows: int) -> Integers:
        strata = list(self.constraints.strata)
        options: dict[str, Any] = {"strata": strata} if strata else {}
        method = find_selector("stratified" if strata else "pairs")
        parameters = method.complete({"windows": windows, **options})
        return method.choose(self.candidates, size, seed, parameters).rows

    def _whole_subjects(self, size: int, seed: int) -> Integers:
        """Take whole subjects, stratified, as long as they fit."""
        most = int((self.units.members >= 0).sum(axis=1).max())
        order = self._stratified(len(self.candidates), seed, most)
        taken: list[Integers] = []
        room = size
        for unit in dict.fromkeys(self._unit_of(order).tolist()):
            rows = self.units.rows(np.array([unit]))
            if len(rows) <= room:
                taken.append(rows)
                room -= len(rows)
        if not taken:
            raise InputError(
                f"A core-set of {size} samples has no room for a whole subject; raise the ratio."
            )
        return np.sort(np.concatenate(taken))

    def _unit_of(self, rows: Integers) -> Integers:
        return np.array([self.units.of_rows(np.array([row]))[0] for row in rows])
