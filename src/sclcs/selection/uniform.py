"""The simplest core-set: samples drawn at random."""

from __future__ import annotations

import numpy as np

from sclcs.cohort.cohort import Cohort
from sclcs.core.settings import Settings
from sclcs.selection.registry import Choice, Selector, register
from sclcs.selection.sample_order import chances

__all__ = ["RANDOM"]


def _choose(cohort: Cohort, size: int, seed: int, _parameters: Settings) -> Choice:
    lots = chances(seed, "random", cohort.sample_ids)
    return Choice(np.argsort(lots, kind="stable")[:size].astype(np.int64))


RANDOM = register(
    Selector(
        name="random",
        summary="Samples drawn uniformly at random.",
        reference="the baseline of every comparison",
        choose=_choose,
        nested=True,
    )
)
