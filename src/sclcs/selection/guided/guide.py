"""Guiding a choice: where to start, objective, search and certificate of one size."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.progress import track
from sclcs.selection.guided.certificate import (
    Certificate,
    certify,
    group_flags,
    kin,
    leave_groups_out,
)
from sclcs.selection.guided.objective import (
    Objective,
    core_scores,
    make_objective,
    operator_weights,
)
from sclcs.selection.guided.panel import Panel, unseen_families
from sclcs.selection.guided.search import Constraints, Found, Units, make_units, search
from sclcs.selection.guided.starts import StartingSets
from sclcs.selection.guided.weights import fit_weights

__all__ = ["CAREFUL", "DISTRUST", "Guide", "Guided", "SearchSettings"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Distrust of a changed slope for small effects, ...
DISTRUST = 0.1
#: ... and for large ones, whose growth on a core-set is not the same for all operators.
CAREFUL = 3.0
LARGE = 0.3  # from this spread of Cohen's d over operators on
NOISE_DRAWS = 20  # stratified core-sets from which the scatter is measured
MANY_DRAWS = 100  # as many where the search begins at the best of them


@dataclass(frozen=True)
class SearchSettings:
    """How to search.

    Parameters
    ----------
    constraints : Constraints
    windows : int
        Samples per subject in the core-set to start from.
    restarts : int
        Searches from different starts; the best is kept.
    proposals : int
        Swaps proposed per restart.
    distrust : float, optional
        See :class:`~sclcs.selection.guided.objective.Objective`. By default
        :data:`DISTRUST` for small effects, :data:`CAREFUL` for large ones.
    weights : bool
        Whether the chosen samples are weighted too.
    k : int
        Cut-off of nDCG in the certificate.
    confidence : float
        Coverage of the certificate's intervals.
    """

    constraints: Constraints = field(default_factory=Constraints)
    windows: int = 2
    restarts: int = 2
    proposals: int = 20_000
    distrust: float | None = None
    weights: bool = False
    k: int = 10
    confidence: float = 0.9


@dataclass(frozen=True, eq=False)
class Guided:
    """A guided core-set.

    Parameters
    ----------
    rows : array of int
        Rows of the cohort.
    found : Found
        What the search says of it.
    searched : str
        The score that the search followed.
    certificates : list of Certificate
        One per task; empty if none can be given.
    distrust : list of float, optional
        Of each task; None if no score existed and the first start was kept.
    """

    rows: Integers
    found: Found
    searched: str
    certificates: list[Certificate]
    distrust: list[float] | None

    @property
    def weights(self) -> Floats | None:
        """Weight of each row; None if all count the same."""
        return self.found.weights

    @property
    def expected(self) -> float:
        """Expected nDCG, averaged over the tasks; below any other if there is none."""
        return float(np.mean([item.ndcg[0] for item in self.certificates] or [-1.0]))

    def facts(self) -> dict[str, Any]:
        """Return what should be recorded with the core-set."""
        return {
            "guided": self.distrust is not None,
            "score_searched": self.searched,
            "distrust_used": self.distrust,
            "objective": self.found.value,
            "objective_at_start": self.found.start_value,
            "swaps": self.found.swaps,
            "certificate": [item.to_dict() for item in self.certificates],
        }


@dataclass(frozen=True, eq=False)
class _SearchInput:
    """What a search is given.

    Parameters
    ----------
    objective : Objective
        What it minimises.
    starts : list of arrays of int
        Candidates to start from, one array per restart.
    """

    objective: Objective
    starts: list[Integers]


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Core-sets to start from, the panel's scores on unguided ones, distrust of each task."""

    starts: list[Integers]
    scored: list[Floats]
    distrust: Floats


class Guide:
    """Chooses core-sets of any size with one panel.

    Parameters
    ----------
    cohort : Cohort
        Its samples in alphabetical order, so that the order of a cohort does not matter.
    panel : Panel
        Operators on that cohort.
    settings : SearchSettings
    seed : int
    """

    def __init__(self, cohort: Cohort, panel: Panel, settings: SearchSettings, seed: int) -> None:
        self.cohort, self.panel, self.settings, self.seed = cohort, panel, settings, seed
        constraints = settings.constraints
        self.units: Units = make_units(cohort, panel.rows, constraints)
        candidates = cohort.take(panel.rows) if len(panel.rows) < len(cohort) else cohort
        self.starting = StartingSets(candidates, self.units, constraints, settings.windows, seed)
        self._scattered: dict[tuple[int, int], tuple[list[Integers], list[Floats]]] = {}

    def choose(self, size: int, *, certified: bool = True) -> Guided:
        """Choose a core-set.

        Parameters
        ----------
        size : int
            Number of samples.
        certified : bool
            Whether to certify it too, which costs a search per family.

        Returns
        -------
        Guided
        """
        drawn = self._draw(size)
        if drawn is None:
            return self._plain(self.starting.draw(size, 0), [])
        found = self._search(self._input(drawn, None))
        certificates: list[Certificate] = []
        if certified:
            certificates = self._certify(drawn)
        used = [float(value) for value in drawn.distrust]
        return Guided(self.panel.rows[found.rows], found, self.panel.searched, certificates, used)

    def _draw(self, size: int) -> _Drawn | None:
        """Draw core-sets to start from; None if no score exists: nothing can be compared."""
        distrust = self._distrust()
        # Little may change on large effects, so it matters where to start: at the best of many.
        careful = bool(np.all(distrust >= CAREFUL))
        drawn, scored = self._scatter(size, MANY_DRAWS if careful else NOISE_DRAWS)
        starts = [self.starting.draw(size, number) for number in range(self.settings.restarts)]
        if not scored or not any(core_scores(self.panel, rows) is not None for rows in starts):
            return None
        if careful:
            starts = drawn
        return _Drawn(starts, scored, distrust)

    def _input(self, drawn: _Drawn, left_out: NDArray[np.bool_] | None) -> _SearchInput:
        objective = make_objective(self.panel, drawn.scored, drawn.distrust, left_out)
        starts, restarts = drawn.starts, self.settings.restarts
        if len(starts) > restarts:
            values = [objective.value(scores) for scores in drawn.scored]
            starts = [starts[place] for place in np.argsort(values, kind="stable")[:restarts]]
        return _SearchInput(objective, starts)

    def _distrust(self) -> Floats:
        """Return how little a changed slope is trusted, for each task.

        Small differences between operators grow in proportion when a core-set enlarges them;
        large ones do not. On ABIDE the scores of operators spread by 0.015 for the diagnosis
        and by 1.3 for fingerprinting.
        """
        if self.settings.distrust is not None:
            return np.full(len(self.panel.full), float(self.settings.distrust))
        weights = operator_weights(self.panel.families)
        sizes = self.panel.sizes  # what is large is known for Cohen's d only
        spreads = np.sqrt([weights @ (full - weights @ full) ** 2 for full in sizes])
        return np.where(spreads >= LARGE, CAREFUL, DISTRUST)

    def _plain(self, rows: Integers, certificates: list[Certificate]) -> Guided:
        found = Found(rows, float("inf"), float("inf"), 0)
        return Guided(self.panel.rows[rows], found, self.panel.searched, certificates, None)

    def _certify(self, drawn: _Drawn) -> list[Certificate]:
        """Search again without each group of families, and see what that says of it."""
        settings, groups = self.settings, kin(self.panel, drawn.scored)
        chosen = [
            self._search(self._input(drawn, out))
            for out in track(group_flags(groups), "leaving families out")
        ]
        return certify(
            leave_groups_out(self.panel, groups, chosen),
            k=settings.k,
            sizes=unseen_families(self.panel),
            confidence=settings.confidence,
            seed=self.seed,
        )

    def _scatter(self, size: int, draws: int = NOISE_DRAWS) -> tuple[list[Integers], list[Floats]]:
        """Draw core-sets and score the panel on them, once; those without scores are left out."""
        key = size, draws
        if key in self._scattered:
            return self._scattered[key]
        drawn = [self.starting.draw(size, 1000 + number) for number in range(draws)]
        pairs = [(rows, core_scores(self.panel, rows)) for rows in drawn]
        found = [(rows, scores) for rows, scores in pairs if scores is not None]
        self._scattered[key] = [rows for rows, _ in found], [scores for _, scores in found]
        return self._scattered[key]

    def _search(self, given: _SearchInput) -> Found:
        """Swap from every start; weigh the best core-set if the settings say so."""
        settings = self.settings
        found = search(
            self.panel,
            given.objective,
            self.units,
            given.starts,
            min_subjects=settings.constraints.min_subjects,
            proposals=settings.proposals,
            seed=self.seed,
        )
        if not settings.weights or not np.isfinite(found.value):
            return found
        weighed = fit_weights(self.panel, given.objective, found.rows, seed=self.seed)
        return replace(found, **weighed)
