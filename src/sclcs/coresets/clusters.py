"""Methods that compare samples with each other: k-means and farthest-first."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, child_seed, setting
from sclcs.cohort import Cohort, id_order, iterate_samples, require_equal_lengths
from sclcs.coresets.classifier import ClassifierParameters, train, training_info
from sclcs.coresets.designs import chances, number_in_group
from sclcs.coresets.registry import Choice, Selector, register


class FeatureParameters(ClassifierParameters):
    """Parameters of every method that compares samples."""

    features: Literal["fc", "raw", "penultimate"] = setting(
        "compare correlation matrices (fc), standardised signals (raw) or features of the "
        "trained classifier (penultimate; the parameters of training matter only then)",
        "fc",
    )


LARGEST_CORRELATION = 1 - 1e-6  # two equal regions would be infinitely far from all others


def sample_features(
    cohort: Cohort, seed: int, parameters: FeatureParameters
) -> tuple[NDArray[np.float32], dict[str, Any]]:
    """Return the features of all samples (sample, feature), and what to record about them."""
    kind = parameters.features
    if kind == "penultimate":
        trained = train(cohort, seed, parameters)
        return trained.features, training_info(trained)
    describe = _correlations if kind == "fc" else _flat
    if kind == "fc" and cohort.n_regions < 2:
        raise InputError("Correlation matrices need at least 2 regions; use features=raw.")
    if kind == "raw":
        require_equal_lengths(cohort, "Comparing signals (features=raw)")
    described = [
        (rows, describe(_standardised(block)))
        for rows, block in iterate_samples(cohort.signals, cohort.lengths)
    ]
    features = np.concatenate([block for _, block in described]).astype(np.float32)
    return features[np.argsort(np.concatenate([rows for rows, _ in described]))], {}


def _standardised(signals: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give each region mean 0 and norm 1 over time; a constant region stays 0."""
    values = signals.astype(np.float64)
    values -= values.mean(axis=2, keepdims=True)
    norms = np.linalg.norm(values, axis=2, keepdims=True)
    return np.asarray(np.divide(values, norms, out=np.zeros_like(values), where=norms > 0))


def _correlations(units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Fisher-z of the upper triangle of the correlation matrix."""
    rows, columns = np.triu_indices(units.shape[1], k=1)
    matrices = units @ units.transpose(0, 2, 1)
    pairs = matrices[:, rows, columns]
    return np.asarray(np.arctanh(np.clip(pairs, -LARGEST_CORRELATION, LARGEST_CORRELATION)))


def _flat(units: NDArray[np.float64]) -> NDArray[np.float64]:
    return units.reshape(len(units), -1)


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_EXACT = 500  # clusters; above, batches of samples move the centres


def nearest_members(clusters: Integers, distances: Floats, size: int, first: Integers) -> Integers:
    """Take members of clusters by their distance to the centre.

    Each cluster gives `first` members at first. If these are too few in all, clusters then give
    one more member each, the largest cluster first, until there are enough.
    """
    counts = np.bincount(clusters, minlength=len(first))
    nearness = number_in_group(clusters, distances)  # 0 is the nearest of its cluster
    extra_round = np.maximum(nearness - first[clusters] + 1, 0)
    wanted = np.lexsort((distances, clusters, -counts[clusters], nearness, extra_round))
    return wanted[:size].astype(np.int64)


class ClusterParameters(FeatureParameters):
    """Parameters of ``kmeans``."""

    clusters: int | None = setting(
        "number of clusters, if fewer than samples are kept; large clusters then give more samples",
        None,
    )
    max_iter: int = setting("rounds of moving the centres, at most", 100, ge=1)


def _choose(cohort: Cohort, size: int, seed: int, parameters: ClusterParameters) -> Choice:
    k = size if parameters.clusters is None else parameters.clusters
    if not 1 <= k <= size:
        raise InputError(
            f"Expected clusters to be a whole number from 1 to the {size} samples of the core-set, "
            f"got {k!r}."
        )
    order = id_order(cohort.sample_ids)
    features, info = sample_features(cohort, seed, parameters)
    labels, distances = _cluster(
        features[order], k, parameters.max_iter, child_seed(seed, "select", "kmeans")
    )
    counts = np.bincount(labels, minlength=k)
    first = np.minimum(counts, 1) if k == size else -(-size * counts // len(cohort))
    rows = nearest_members(labels, distances, size, first)
    scores = np.empty(len(cohort))
    scores[order] = distances
    return Choice(order[rows], scores, info=info | {"clusters_filled": int((counts > 0).sum())})


def _cluster(
    features: NDArray[np.float32], k: int, max_iter: int, seed: int
) -> tuple[Integers, Floats]:
    import warnings

    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    method = KMeans if k <= LARGEST_EXACT else MiniBatchKMeans
    model = method(k, init="k-means++", n_init=1, max_iter=max_iter, random_state=seed % 2**32)
    with warnings.catch_warnings():
        # Fewer distinct samples than clusters: some stay empty, which is dealt with.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = model.fit_predict(features).astype(np.int64)
    offsets = features.astype(np.float64) - model.cluster_centers_[labels]
    return labels, np.asarray(np.linalg.norm(offsets, axis=1))


register(
    Selector(
        name="kmeans",
        summary="The sample nearest to each centre of as many clusters as samples are kept.",
        reference="MacQueen (1967), with the k-means++ start of Arthur & Vassilvitskii (2007)",
        choose=_choose,
        parameters=ClusterParameters,
        direction="low",
        network="classifier",
    )
)


def farthest_first(
    features: NDArray[np.float32], size: int, start: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Choose again and again the sample that is farthest (Euclidean) from all chosen ones.

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
    for number in range(size):
        chosen[number] = row
        distances[row] = nearest[row]
        available[row] = False
        squared = np.maximum(squares + squares[row] - 2 * (values @ values[row]), 0)
        np.minimum(nearest, squared, out=nearest)
        row = int(np.argmax(np.where(available, nearest, -1.0)))
    distances[available] = nearest[available]
    return chosen, np.sqrt(distances)


def _kcenter_choose(cohort: Cohort, size: int, seed: int, parameters: FeatureParameters) -> Choice:
    order = id_order(cohort.sample_ids)
    features, info = sample_features(cohort, seed, parameters)
    start = int(np.argmin(chances(seed, "kcenter", cohort.sample_ids)[order]))
    chosen, distances = farthest_first(features[order], size, start)
    scores = np.empty(len(cohort))
    scores[order] = distances
    return Choice(order[chosen], scores, info=info)


register(
    Selector(
        name="kcenter",
        summary="From a random start, always the sample farthest from those already kept.",
        reference="Gonzalez (1985); Sener & Savarese, Active learning: a core-set approach (2018)",
        choose=_kcenter_choose,
        parameters=FeatureParameters,
        direction="high",
        network="classifier",
        nested=True,
    )
)
