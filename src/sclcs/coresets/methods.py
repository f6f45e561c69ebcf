"""Choosing a core-set, and the list of methods: importing a module of methods registers them."""

from __future__ import annotations

import os
from typing import Any

from sclcs._core import DEFAULT_METHOD, checked, plain, takes
from sclcs.cohort import Cohort, CoreSet
from sclcs.coresets import boss, clusters, designs, dynamics, perturbation  # noqa: F401
from sclcs.coresets.registry import SELECTORS, core_size, find_selector
from sclcs.settings import DEFAULT_RATIO, SelectSettings

__all__ = ["SELECTORS", "find_selector", "select"]

#: The order in which methods are listed: the paper's baselines, designs, the paper's methods.
_ORDER = (
    "random", "kmeans", "forgetting", "entropy", "el2n", "aum", "ccs", "eva", "boss",
    "subjects", "pairs", "stratified", "kcenter",
)  # fmt: skip
for _name in (*_ORDER, *[name for name in SELECTORS if name not in _ORDER]):
    SELECTORS[_name] = SELECTORS.pop(_name)


@checked
@takes(SelectSettings, leave_out=["parameters"])
def select(
    cohort: Cohort | str | os.PathLike[str],
    method: str = DEFAULT_METHOD,
    ratio: float = DEFAULT_RATIO,
    seed: int = 0,
    *,
    epochs: int | None = None,
    device: str | None = None,
    **parameters: Any,  # noqa: ANN401
) -> CoreSet:
    """Choose the samples on which operators are compared.

    Parameters
    ----------
    cohort : Cohort or path
        What to choose from.
    {options}
    **parameters : object
        The method's own parameters, for example ``preset="official"``.

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
    selector.require_packages()
    training = {"epochs": epochs, "device": device}
    given = {name: value for name, value in training.items() if value is not None}
    chosen = selector.complete(parameters | given)
    if not isinstance(cohort, Cohort):
        cohort = Cohort.open(cohort)
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
        parameters=plain({**recorded, **choice.info}),
        seed=seed,
        score=None if choice.scores is None else choice.scores[choice.rows],
        weight=choice.weights,
    ).bound_to(cohort)
