"""Choosing a core-set."""

from __future__ import annotations

from typing import Any

import sclcs.selection.methods  # noqa: F401 (registers all methods)
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.core.provenance import plain
from sclcs.selection.registry import core_size, find_selector

__all__ = ["select"]


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
    complete = selector.complete(parameters)
    size = core_size(cohort, ratio)
    choice = selector.choose(cohort, size, seed, **complete)
    for name in ("cache", "fc", "n_jobs"):  # where results are kept, or how fast, is no part
        complete.pop(name, None)  # of how they were made
    recorded = {"ratio": ratio, **{k: v for k, v in complete.items() if v is not None}}
    names = cohort.sample_ids
    return CoreSet(
        [names[row] for row in choice.rows],
        method=method,
        parameters=plain({**recorded, **choice.facts}),
        seed=seed,
        score=None if choice.scores is None else choice.scores[choice.rows],
        weight=choice.weights,
    ).bound_to(cohort)
