"""Density-balanced sampling: spread a core-set over the range of any score.

Samples with the worst scores are filtered out; from the rest, samples whose score is
common are drawn less often than samples whose score is rare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sclcs._core import InputError, Settings, checked, generator, setting
from sclcs.cohort import Cohort, id_order
from sclcs.coresets.designs import best, chances
from sclcs.coresets.registry import Choice, Selector, register

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SMALLEST_SPREAD = 1e-290  # below, the squares in a variance are zero


@dataclass(frozen=True, eq=False)
class StablePool:
    """The samples that may be drawn, and how likely each is.

    Parameters
    ----------
    rows : array of int
        Row numbers of the samples in the pool.
    threshold : float
        Largest score in the pool's range.
    density : array of float
        Estimated density of the scores at each sample of the pool; all one if the scores do
        not vary.
    weights : array of float
        Probability of each sample at the first draw.
    """

    rows: Integers
    threshold: float
    density: Floats
    weights: Floats


@checked
def stable_pool(
    scores: ArrayLike,
    *,
    beta: float = 0.05,
    bw_method: str | float = "scott",
    bw_adjust: float = 1.0,
    epsilon: float = 1e-8,
) -> StablePool:
    """Filter out the highest scores and weigh the rest by the inverse density of scores.

    Parameters
    ----------
    scores : array-like of float
        One per sample; low ones are kept. Non-finite ones are never in the pool.
    beta : float
        Share of samples to filter out, in [0, 1).
    bw_method : {"scott", "silverman"} or float
        Bandwidth of the kernel density estimate, as in :class:`scipy.stats.gaussian_kde`.
    bw_adjust : float
        Multiplies the bandwidth.
    epsilon : float
        Added to the density before it is inverted.

    Returns
    -------
    StablePool

    Examples
    --------
    >>> pool = stable_pool([0.0, 0.1, 0.1, 0.1, 5.0], beta=0.2)
    >>> pool.rows.tolist()
    [0, 1, 2, 3]
    >>> bool(pool.weights[0] > pool.weights[1])
    True
    """
    if not 0 <= beta < 1:
        raise InputError(f"Expected beta (the share filtered out) in [0, 1), got {beta}.")
    if not (bw_adjust > 0 and epsilon >= 0):
        raise InputError(
            f"Expected bw_adjust above 0 and epsilon of at least 0, got {bw_adjust}, {epsilon}."
        )
    values = _one_per_sample(scores)
    finite = np.flatnonzero(np.isfinite(values))
    if not len(finite):
        raise InputError(f"No sample has a finite score (of {len(values)}); train longer.")
    threshold = float(np.quantile(values[finite], 1 - beta))
    rows = finite[values[finite] <= threshold]
    density = _density(values[rows], bw_method, bw_adjust)
    weights = 1 / (density + epsilon)
    return StablePool(rows, threshold, density, weights / weights.sum())


def _one_per_sample(scores: ArrayLike) -> Floats:
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(())
    if values.ndim != 1:
        raise InputError(f"Expected one score per sample, a list of numbers, got {scores!r}.")
    return values


def _density(values: Floats, bw_method: str | float, bw_adjust: float) -> Floats:
    spread = float(np.ptp(values)) if len(values) > 1 else 0.0
    if spread < SMALLEST_SPREAD:
        return np.ones(len(values))  # the estimate is not defined; all are equally common
    from scipy.stats import gaussian_kde

    scaled = (values - values.min()) / spread  # scores may be of order 1e-9
    try:
        estimate = gaussian_kde(scaled, bw_method=bw_method)  # type: ignore[arg-type]
        estimate.set_bandwidth(estimate.factor * bw_adjust)
        density: Floats = np.asarray(estimate(scaled), dtype=np.float64) / spread
    except (ValueError, TypeError) as error:
        raise InputError(
            f"Expected bw_method to be scott, silverman or a number, got {bw_method!r} ({error})."
        ) from error
    return density


@checked
def draw_balanced(pool: StablePool, size: int, rng: np.random.Generator) -> Integers:
    """Draw samples one after the other, each in proportion to its weight among those left.

    Every sample gets an exponential clock that runs at the speed of its weight; the first
    `size` clocks to ring are exactly such a draw.

    Parameters
    ----------
    pool : StablePool
        What to draw from.
    size : int
        How many samples, at most the size of the pool.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int
        Row numbers in the order of the draw; unique.
    """
    if size > len(pool.rows):
        raise InputError(
            f"The core-set needs {size} samples, but only {len(pool.rows)} are in the stable pool; "
            "lower the ratio or beta."
        )
    rings = rng.exponential(size=len(pool.rows)) / pool.weights
    return pool.rows[np.argsort(rings, kind="stable")[:size]]


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
    """A score for every sample of a cohort, in its order, and which end a core-set takes."""

    values: Floats
    keep: Literal["low", "high"]
    info: Mapping[str, Any] = field(default_factory=dict)


Score = Callable[[Cohort, int, Any], Scores]


def register_scored(
    name: str,
    score: Score,
    parameters: type[DensityParameters],
    *,
    network: Literal["encoder", "classifier"],
    direction: Literal["low", "high"] = "low",
    summary: str,
    reference: str,
) -> None:
    """Add a method that trains a network and keeps the samples with the best score."""

    def choose(cohort: Cohort, size: int, seed: int, parameters: DensityParameters) -> Choice:
        if parameters.density:
            require_room(len(cohort), size, parameters.beta)
        scores = score(cohort, seed, parameters)
        if parameters.density:
            return balanced_choice(cohort, size, seed, scores, parameters)
        ties = (
            np.argsort(id_order(cohort.sample_ids)).astype(np.float64)
            if network == "encoder"  # as in the published scripts
            else chances(seed, "ties", cohort.sample_ids)
        )
        rows = best(scores.values, size, scores.keep, ties)
        return Choice(rows, scores.values, info=scores.info)

    register(
        Selector(
            name=name,
            summary=summary,
            reference=reference,
            choose=choose,
            parameters=parameters,
            direction=direction,
            needs_labels=network == "classifier",
            network=network,
            needs_training=True,
            can_balance=True,
            nested=True,
        )
    )


def balanced_choice(
    cohort: Cohort, size: int, seed: int, scores: Scores, parameters: DensityParameters
) -> Choice:
    """Draw samples in balance with the density of their scores.

    The filter discards the end that the method would not keep: where high scores are kept,
    they are negated first.
    """
    order = id_order(cohort.sample_ids)  # the draw must not depend on the order of the rows
    sign = 1 if scores.keep == "low" else -1
    pool = stable_pool(
        sign * scores.values[order],
        beta=parameters.beta,
        bw_method=parameters.bw_method,
        bw_adjust=parameters.bw_adjust,
        epsilon=parameters.epsilon,
    )
    drawn = draw_balanced(pool, size, generator(seed, "select", "density"))
    info = {"pool_size": len(pool.rows), "pool_threshold": sign * pool.threshold}
    return Choice(order[drawn], scores.values, info=info | dict(scores.info))


def require_room(n_samples: int, size: int, beta: float) -> None:
    """Say before training what the draw would say after it."""
    largest = int(np.ceil((1 - beta) * n_samples))
    if size > largest:
        raise InputError(
            f"The core-set needs {size} samples, but with beta={beta:g} the stable pool "
            f"holds about {largest} of {n_samples}; lower the ratio or beta."
        )
