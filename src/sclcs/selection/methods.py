"""Choosing a core-set, and the list of methods: importing one registers it, in this order."""

# ruff: noqa: I001 (the order is the order of the list)
from __future__ import annotations

from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.core.arguments import checked
from sclcs.core.provenance import plain
from sclcs.selection.registry import core_size, find_selector

from sclcs.selection import uniform
from sclcs.selection import clusters
from sclcs.selection import dynamics
from sclcs.selection import strata
from sclcs.selection import boss
from sclcs.selection import by_subject
from sclcs.selection import kcenter
from sclcs.selection import perturbation
from sclcs.selection.guided import method as guided
from sclcs.selection.guided import auto

__all__ = [
    "auto",
    "boss",
    "by_subject",
    "clusters",
    "dynamics",
    "guided",
    "kcenter",
    "perturbation",
    "select",
    "strata",
    "uniform",
]


@checked
def select(
    cohort: Cohort,
    method: str = "sclcs",
    ratio: float = 0.1,
    seed: int = 0,
    **parameters: Any,  # noqa: ANN401
) -> CoreSet:
    """Choose the samples on which operators are compared.

    Parameters
    ----------
    cohort : Cohort
        What to choose from.
    method : str
        A name of :data:`~sclcs.selection.registry.SELECTORS`; ``sclcs select --list`` shows
        them.
    ratio : float
        Share of the samples to keep, above 0 and at most 1; ``int(ratio * n)`` are chosen.
    seed : int
        Of everything random in the method.
    **parameters : object
        The method's own parameters, for example ``epochs=50``.

    Returns
    -------
    CoreSet

    Examples
    --------
    >>> from sclcs import simulate_cohort
    >>> core = select(simulate_cohort(10, 2, 4, length=20), "random", ratio=0.25)
    >>> len(core)
    5
    """
    selector = find_selector(method)
    chosen = selector.complete(parameters)
    choice = selector.choose(cohort, core_size(cohort, ratio), seed, chosen)
    # Where results are kept, or how fast they come, is no part of how they were made.
    deciding = {name: value for name, value in chosen.deciding().items() if value is not None}
    recorded = {"ratio": ratio, **deciding}
    if selector.follows_target:
        recorded["follows_target"] = True
    names = cohort.sample_ids
    return CoreSet(
        [names[row] for row in choice.rows],
        method=method,
        parameters=plain({**recorded, **choice.facts}),
        seed=seed,
        score=None if choice.scores is None else choice.scores[choice.rows],
        weight=choice.weights,
    ).bound_to(cohort)
