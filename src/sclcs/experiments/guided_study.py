"""How well core-sets rank operators of families that never guided them.

Operators are split by family. One part guides (at most twelve operators, as many families as
there are), the other is only ever looked at to be scored. Two protocols: ``halves``, random
halves of the families; and ``default``, the package's default panel against all families it
has no operator of.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.consistency import agreement
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.cohort.sample_order import id_order
from sclcs.experiments.agreement import MEASURES
from sclcs.experiments.guided_splits import Split, family_splits
from sclcs.experiments.options import TOY_SEARCH, Options
from sclcs.experiments.setup import Setup
from sclcs.selection.guided.guide import Guide, Guided
from sclcs.selection.guided.method import GuidingParameters, search_settings
from sclcs.selection.guided.objective import core_scores
from sclcs.selection.guided.panel import Panel, make_panel

__all__ = ["UnseenFamilies", "certified"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

MEMORY_GB = 1e3  # all samples are candidates: nothing may be left to chance here


@dataclass(frozen=True, eq=False)
class UnseenFamilies:
    """All operators on a cohort, split by family into those that guide and those held out.

    Parameters
    ----------
    cohort : Cohort
        Its samples in alphabetical order, as guiding needs them.
    everything : Panel
        All operators that are finite on all samples, with all tasks.
    options : Options
    """

    cohort: Cohort
    everything: Panel
    options: Options

    @classmethod
    def of(cls, setup: Setup) -> UnseenFamilies:
        """Read the matrices of an experiment."""
        scorer, options = setup.scorer, setup.options
        ordered = setup.cohort.take(id_order(setup.cohort.sample_ids))
        everything = make_panel(
            ordered,
            options.tasks,
            scorer.operators,
            fc=scorer.source,
            memory_gb=MEMORY_GB,
            n_jobs=options.jobs,
        )
        return cls(ordered, everything, options)

    @cached_property
    def splits(self) -> dict[tuple[str, int], Split]:
        """The splits by protocol and number."""
        found = family_splits(self.everything, self.options)
        return {(split.protocol, split.number): split for split in found}

    def guide(self, split: Split, task: str, seed: int, **changes: Any) -> Guide:  # noqa: ANN401
        """Return what chooses core-sets by the guiding operators of a split.

        Parameters
        ----------
        split : Split
        task : str
        seed : int
        **changes : object
            Parameters of the method that differ from its defaults.

        Returns
        -------
        Guide
        """
        if self.options.toy:
            changes = TOY_SEARCH | changes
        panel = self.everything.of_task(task).only(split.guiding)
        parameters = GuidingParameters(task=[task], **changes)
        return Guide(self.cohort, panel, search_settings(self.cohort, parameters), seed)

    def rows(self, core: CoreSet) -> Integers:
        """Return the rows of a core-set."""
        return np.sort(core.rows(self.cohort.sample_ids))

    def scores(self, task: str, rows: Integers, weights: Floats | None = None) -> Floats | None:
        """Return the scores of all operators on a core-set; None if there are none."""
        scores = core_scores(self.everything.of_task(task), rows, weights)
        return None if scores is None else scores[0]

    def measure(self, task: str, scores: Floats | None, split: Split) -> dict[str, float]:
        """Return the consistency of scores on the held-out operators; NaN without scores."""
        full = self.everything.of_task(task).full[0]
        held_out = split.held_out
        return _agreement(full[held_out], None if scores is None else scores[held_out])


def certified(guide: Guide, size: int) -> tuple[Guided, dict[str, Any]]:
    """Choose a core-set, and return it with its certificate as columns of a row."""
    began = time.process_time()
    guided = guide.choose(size)
    row: dict[str, Any] = {"distrust": guided.distrust[0] if guided.distrust else None}
    row["cpu_seconds"] = round(time.process_time() - began, 2)
    for item in guided.certificates:
        row["groups"] = item.groups
        for what, values in (("ndcg", item.ndcg), ("kendall", item.kendall)):
            ends = zip(("expected", "low", "high"), values, strict=True)
            row |= {f"{what}_{end}": value for end, value in ends}
    return guided, row


def _agreement(full: Floats, core: Floats | None) -> dict[str, float]:
    if core is None:
        return dict.fromkeys(MEASURES, float("nan"))
    measured = agreement(full, core)
    return {name: measured[name] for name in MEASURES}
