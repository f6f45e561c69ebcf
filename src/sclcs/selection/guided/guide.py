"""Guiding a choice: design, objective, search and certificate of one size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.selection.guided.certificate import (
    Certificate,
    certify,
    kin,
    leave_groups_out,
)
from sclcs.selection.guided.designs import Designs
from sclcs.selection.guided.objective import (
    core_scores,
    make_objective,
    operator_weights,
)
from sclcs.selection.guided.panel import Panel, unseen_families
from sclcs.selection.guided.search import Constraints, Found, Units, make_units, search
from sclcs.selection.guided.weights import fit_weights

__all__ = ["CAREFUL", "DISTRUST", "Guide", "Guided", "Settings"]

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
class Settings:
    """How to search.

    Parameters
    ----------
    constraints : Constraints
    windows : int
        Samples per subject in the starting design.
    restarts : int
        Searches from different designs; the best is kept.
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
    certificates : list of Certificate
        One per task; empty if none can be given.
    distrust : list of float, optional
        Of each task; None if no score existed and the starting design was kept.
    """

    rows: Integers
    found: Found
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
            "distrust_used": self.distrust,
            "objective": self.found.value,
            "objective_at_start": self.found.start_value,
            "swaps": self.found.swaps,
            "certificate": [item.to_dict() for item in self.certificates],
        }


class Guide:
    """Chooses core-sets of any size with one panel.

    Parameters
    ----------
    cohort : Cohort
        Its samples in alphabetical order, so that the order of a cohort does not matter.
    panel : Panel
        Operators on that cohort.
    settings : Settings
    seed : int
    """

    def __init__(self, cohort: Cohort, panel: Panel, settings: Settings, seed: int) -> None:
        self.cohort, self.panel, self.settings, self.seed = cohort, panel, settings, seed
        constraints = settings.constraints
        self.units: Units = make_units(cohort, panel.rows, constraints)
        candidates = cohort.take(panel.rows) if len(panel.rows) < len(cohort) else cohort
        self.designs = Designs(candidates, self.units, constraints, settings.windows, seed)

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
        distrust = self._distrust()
        # Little may change on large effects, so it matters where to start: at the best designs.
        careful = bool(np.all(distrust >= CAREFUL))
        drawn, scored = self._scatter(size, MANY_DRAWS if careful else NOISE_DRAWS)
        starts = [self.designs.draw(size, number) for number in range(self.settings.restarts)]
        if not scored or not any(core_scores(self.panel, rows) is not None for rows in starts):
            return self._plain(starts[0], [])  # no score exists: nothing can be compared
        if careful:
            starts = drawn
        found = self._search(starts, scored, distrust, None)
        certificates: list[Certificate] = []
        if certified:
            certificates = self._certify(
                scored, lambda left_out: self._search(starts, scored, distrust, left_out)
            )
        used = [float(value) for value in distrust]
        return Guided(self.panel.rows[found.rows], found, certificates, used)

    def _distrust(self) -> Floats:
        """Return how little a changed slope is trusted, for each task.

        Small differences between operators grow in proportion when a core-set enlarges them;
        large ones do not. On ABIDE the scores of operators spread by 0.015 for the diagnosis
        and by 1.3 for fingerprinting.
        """
        if self.settings.distrust is not None:
            return np.full(len(self.panel.full), float(self.settings.distrust))
        weights = operator_weights(self.panel.families)
        spreads = np.sqrt([weights @ (full - weights @ full) ** 2 for full in self.panel.full])
        return np.where(spreads >= LARGE, CAREFUL, DISTRUST)

    def _plain(self, rows: Integers, certificates: list[Certificate]) -> Guided:
        found = Found(rows, float("inf"), float("inf"), 0)
        return Guided(self.panel.rows[rows], found, certificates, None)

    def certify_rows(self, rows: Integers) -> list[Certificate]:
        """Certify a core-set that no operator guided, given by rows of the cohort."""
        places = np.searchsorted(self.panel.rows, rows)
        known = self.panel.rows[np.minimum(places, len(self.panel.rows) - 1)] == rows
        if not known.all():
            raise InputError(
                "Expected samples among the candidates of the panel; raise memory_gb, so that "
                "all samples are."
            )
        return self._certify_candidates(places, self._scatter(len(rows))[1])

    def _certify_candidates(self, rows: Integers, scored: Sequence[Floats]) -> list[Certificate]:
        found = Found(rows, float("inf"), float("inf"), 0)
        return self._certify(scored, lambda _left_out: found)

    def _certify(
        self, scored: Sequence[Floats], choose: Callable[[NDArray[np.bool_]], Found]
    ) -> list[Certificate]:
        settings = self.settings
        left_out = leave_groups_out(self.panel, kin(self.panel, scored), choose)
        return certify(
            left_out,
            k=settings.k,
            sizes=unseen_families(self.panel),
            confidence=settings.confidence,
            seed=self.seed,
        )

    def _scatter(self, size: int, draws: int = NOISE_DRAWS) -> tuple[list[Integers], list[Floats]]:
        """Draw designs and score the panel on them; those without scores are left out."""
        designs = [self.designs.draw(size, 1000 + number) for number in range(draws)]
        pairs = [(rows, core_scores(self.panel, rows)) for rows in designs]
        found = [(rows, scores) for rows, scores in pairs if scores is not None]
        return [rows for rows, _ in found], [scores for _, scores in found]

    def _search(
        self,
        starts: Sequence[Integers],
        scored: Sequence[Floats],
        distrust: Floats,
        left_out: NDArray[np.bool_] | None,
    ) -> Found:
        settings = self.settings
        objective = make_objective(self.panel, scored, distrust, left_out)
        if len(starts) > settings.restarts:
            order = np.argsort([objective.value(scores) for scores in scored], kind="stable")
            starts = [starts[place] for place in order[: settings.restarts]]
        found = search(
            self.panel,
            objective,
            self.units,
            starts,
            min_subjects=settings.constraints.min_subjects,
            proposals=settings.proposals,
            seed=self.seed,
        )
        if not settings.weights or not np.isfinite(found.value):
            return found
        return replace(found, **fit_weights(self.panel, objective, found.rows, seed=self.seed))
