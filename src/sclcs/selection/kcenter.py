"""k-center: no sample is far from a chosen one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.sample_order import id_order
from sclcs.selection.features import FeatureParameters, sample_features
from sclcs.selection.registry import Choice, Selector, register
from sclcs.selection.sample_order import chances

__all__ = ["KCENTER", "farthest_first"]


def farthest_first(
    features: NDArray[np.float32], size: int, start: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Choose again and again the sample that is farthest from all chosen ones.

    Parameters
    ----------
    features : array, shape (sample, feature)
        Compared by Euclidean distance.
    size : int
        How many to choose.
    start : int
        The first one.

    Returns
    -------
    chosen : array of int
        In the order of choice; ties go to the lowest number.
    distances : array of float
        Distance of each sample to the nearest one chosen before it; infinite for the first.
        Samples not chosen: to the nearest chosen one.
    """
    values = features.astype(np.float64)
    squares = (values**2).sum(axis=1)
    nearest = np.full(len(values), np.inf)
    distances = np.full(len(values), np.inf)
    chosen = np.empty(size, dtype=np.int64)
    available = np.ones(len(values), dtype=bool)
    row = start
    for place in range(size):
        chosen[place] = row
        distances[row] = nearest[row]
        available[row] = False
        squared = np.maximum(squares + squares[row] - 2 * (values @ values[row]), 0)
        np.minimum(nearest, squared, out=nearest)
        row = int(np.argmax(np.where(available, nearest, -1.0)))
    distances[available] = nearest[available]
    return chosen, np.sqrt(distances)


def _choose(cohort: Cohort, size: int, seed: int, parameters: FeatureParameters) -> Choice:
    order = id_order(cohort.sample_ids)
    features, facts = sample_features(cohort, seed, parameters)
    start = int(np.argmin(chances(seed, "kcenter", cohort.sample_ids)[order]))
    chosen, distances = farthest_first(features[order], size, start)
    scores = np.empty(len(cohort))
    scores[order] = distances
    return Choice(order[chosen], scores, facts=facts)


KCENTER = register(
    Selector(
        name="kcenter",
        summary="From a random start, always the sample farthest from those already kept.",
        reference="Gonzalez (1985); Sener & Savarese, Active learning: a core-set approach (2018)",
        choose=_choose,
        parameters=FeatureParameters,
        direction="high",
        network="classifier",
        nested=True,
    )
)
