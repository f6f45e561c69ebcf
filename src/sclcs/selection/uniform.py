"""The simplest core-set: samples drawn at random."""

from __future__ import annotations

from sclcs.cohort.cohort import Cohort
from sclcs.core.seeds import generator
from sclcs.selection.registry import Choice, Selector, register

__all__ = ["RANDOM"]


def _choose(cohort: Cohort, size: int, seed: int) -> Choice:
    return Choice(generator(seed, "select", "random").permutation(len(cohort))[:size])


RANDOM = register(
    Selector(
        name="random",
        summary="Samples drawn uniformly at random.",
        reference="the baseline of every comparison",
        choose=_choose,
        nested=True,
    )
)
