"""Methods that give every sample a score: keep the best, or draw in balance with density."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.core.seeds import generator
from sclcs.selection.density import draw_balanced, stable_pool
from sclcs.selection.registry import Choice
from sclcs.selection.sample_order import best, chances, id_order

__all__ = ["DENSITY", "DENSITY_HELP", "Scores", "balanced_choice", "chooser"]

#: Parameters of every scored method.
DENSITY: dict[str, Any] = {
    "density": False,
    "beta": 0.05,
    "bw_method": "scott",
    "bw_adjust": 1.0,
    "epsilon": 1e-8,
}
DENSITY_HELP = {
    "density": "draw from the better samples, rare scores more often, instead of the best only",
    "beta": "share of the samples filtered out at the worse end before a density draw",
    "bw_method": "bandwidth of the density estimate: scott, silverman or a number",
    "bw_adjust": "multiplies the bandwidth",
    "epsilon": "added to the density before it is inverted",
}


@dataclass(frozen=True, eq=False)
class Scores:
    """A score for every sample of a cohort.

    Parameters
    ----------
    values : array of float
        In the cohort's order.
    keep : {"low", "high"}
        Which end a core-set takes.
    facts : mapping
        What should be recorded with the core-set.
    """

    values: NDArray[np.float64]
    keep: Literal["low", "high"]
    facts: Mapping[str, Any] = field(default_factory=dict)


Score = Callable[..., Scores]


def chooser(score: Score) -> Callable[..., Choice]:
    """Make the ``choose`` of a method from its score.

    Parameters
    ----------
    score : callable
        ``score(cohort, seed, **parameters) -> Scores``; it does not see the parameters of
        density balancing.

    Returns
    -------
    callable
        ``choose(cohort, size, seed, **parameters) -> Choice``.
    """

    def choose(cohort: Cohort, size: int, seed: int, **parameters: Any) -> Choice:  # noqa: ANN401
        options = {name: parameters.pop(name) for name in DENSITY}
        balanced = options.pop("density")
        if balanced:
            require_room(len(cohort), size, options["beta"])
        scores = score(cohort, seed, **parameters)
        if balanced:
            return balanced_choice(cohort, size, seed, scores, options)
        ties = chances(seed, "ties", cohort.sample_ids)
        rows = best(scores.values, size, scores.keep, ties)
        return Choice(rows, scores.values, facts=scores.facts)

    return choose


def balanced_choice(
    cohort: Cohort, size: int, seed: int, scores: Scores, options: Mapping[str, Any]
) -> Choice:
    """Draw samples in balance with the density of their scores.

    The filter discards the end that the method would not keep: where high scores are kept,
    they are negated first.

    Parameters
    ----------
    cohort : Cohort
        What to draw from.
    size : int
        How many samples.
    seed : int
        Of the draw.
    scores : Scores
        Of all samples.
    options : mapping
        ``beta``, ``bw_method``, ``bw_adjust``, ``epsilon``.

    Returns
    -------
    Choice
    """
    order = id_order(cohort)  # the draw must not depend on the order of the rows
    ascending = scores.values[order] * (1 if scores.keep == "low" else -1)
    pool = stable_pool(ascending, **options)
    drawn = draw_balanced(pool, size, generator(seed, "select", "density"))
    sign = 1 if scores.keep == "low" else -1
    facts = {"pool_size": len(pool.rows), "pool_threshold": sign * pool.threshold}
    return Choice(order[drawn], scores.values, facts=facts | dict(scores.facts))


def require_room(n_samples: int, size: int, beta: float) -> None:
    """Say before training what the draw would say after it."""
    largest = int(np.ceil((1 - beta) * n_samples))
    if size > largest:
        raise InputError(
            f"The core-set needs {size} samples, but with beta={beta:g} the pool to draw from "
            f"holds about {largest} of {n_samples}; lower the ratio or beta."
        )
