"""Methods that give every sample a score: keep the best, or draw in balance with density."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.sample_order import id_order
from sclcs.core.errors import InputError
from sclcs.core.seeds import generator
from sclcs.core.settings import Settings, setting
from sclcs.selection.density import draw_balanced, stable_pool
from sclcs.selection.registry import Choice, Choose
from sclcs.selection.sample_order import best, chances

__all__ = ["DensityParameters", "Scores", "balanced_choice", "chooser"]


class DensityParameters(Settings):
    """Parameters of every scored method."""

    density: bool = setting(
        "draw from the better samples, rare scores more often, instead of the best only", False
    )
    beta: float = setting(
        "share of the samples filtered out at the worse end before a density draw",
        0.05,
        ge=0,
        le=1,
    )
    bw_method: Literal["scott", "silverman"] | float = setting(
        "bandwidth of the density estimate: scott, silverman or a number", "scott"
    )
    bw_adjust: float = setting("multiplies the bandwidth", 1.0, gt=0)
    epsilon: float = setting("added to the density before it is inverted", 1e-8, ge=0)


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
    ties : {"chance", "id"}
        What decides between equal scores: a random number per sample, or the sample id.
    """

    values: NDArray[np.float64]
    keep: Literal["low", "high"]
    facts: Mapping[str, Any] = field(default_factory=dict)
    ties: Literal["chance", "id"] = "chance"


Score = Callable[[Cohort, int, Any], Scores]


def chooser(score: Score) -> Choose:
    """Make the ``choose`` of a method from its score.

    Parameters
    ----------
    score : callable
        ``score(cohort, seed, parameters) -> Scores``.

    Returns
    -------
    callable
        ``choose(cohort, size, seed, parameters) -> Choice``.
    """

    def choose(cohort: Cohort, size: int, seed: int, parameters: DensityParameters) -> Choice:
        if parameters.density:
            require_room(len(cohort), size, parameters.beta)
        scores = score(cohort, seed, parameters)
        if parameters.density:
            return balanced_choice(cohort, size, seed, scores, parameters)
        if scores.ties == "chance":
            ties = chances(seed, "ties", cohort.sample_ids)
        else:
            ties = np.argsort(id_order(cohort.sample_ids)).astype(np.float64)
        rows = best(scores.values, size, scores.keep, ties)
        return Choice(rows, scores.values, facts=scores.facts)

    return choose


def balanced_choice(
    cohort: Cohort, size: int, seed: int, scores: Scores, parameters: DensityParameters
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
    parameters : DensityParameters

    Returns
    -------
    Choice
    """
    order = id_order(cohort.sample_ids)  # the draw must not depend on the order of the rows
    ascending = scores.values[order] * (1 if scores.keep == "low" else -1)
    pool = stable_pool(
        ascending,
        beta=parameters.beta,
        bw_method=parameters.bw_method,
        bw_adjust=parameters.bw_adjust,
        epsilon=parameters.epsilon,
    )
    drawn = draw_balanced(pool, size, generator(seed, "select", "density"))
    sign = 1 if scores.keep == "low" else -1
    facts = {"pool_size": len(pool.rows), "pool_threshold": sign * pool.threshold}
    return Choice(order[drawn], scores.values, facts=facts | dict(scores.facts))


def require_room(n_samples: int, size: int, beta: float) -> None:
    """Say before training what the draw would say after it."""
    largest = int(np.ceil((1 - beta) * n_samples))
    if size > largest:
        raise InputError(
            f"The core-set needs {size} samples, but with beta={beta:g} the stable pool "
            f"holds about {largest} of {n_samples}; lower the ratio or beta."
        )
