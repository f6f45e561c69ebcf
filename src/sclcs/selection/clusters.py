"""k-Means: the samples nearest to the centres of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.sample_order import id_order
from sclcs.core.errors import InputError
from sclcs.core.seeds import child_seed
from sclcs.core.settings import setting
from sclcs.selection.features import FeatureParameters, sample_features
from sclcs.selection.registry import Choice, Selector, register
from sclcs.selection.sample_order import place_in_group

__all__ = ["KMEANS", "nearest_members"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_EXACT = 500  # clusters; above, batches of samples move the centres


def nearest_members(clusters: Integers, distances: Floats, size: int, first: Integers) -> Integers:
    """Take members of clusters by their distance to the centre.

    Parameters
    ----------
    clusters : array of int
        Cluster of each sample.
    distances : array of float
        Distance of each sample to the centre of its cluster.
    size : int
        How many samples to take.
    first : array of int
        How many members each cluster gives at first. If these are too few in all, clusters
        then give one more member each, the largest cluster first, until there are enough.

    Returns
    -------
    array of int
    """
    counts = np.bincount(clusters, minlength=len(first))
    place = place_in_group(clusters, distances)  # 0 is the nearest of its cluster
    extra_round = np.maximum(place - first[clusters] + 1, 0)
    wanted = np.lexsort((distances, clusters, -counts[clusters], place, extra_round))
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
    features, facts = sample_features(cohort, seed, parameters)
    labels, distances = _cluster(
        features[order], k, parameters.max_iter, child_seed(seed, "select", "kmeans")
    )
    counts = np.bincount(labels, minlength=k)
    first = np.minimum(counts, 1) if k == size else -(-size * counts // len(cohort))
    rows = nearest_members(labels, distances, size, first)
    scores = np.empty(len(cohort))
    scores[order] = distances
    return Choice(order[rows], scores, facts=facts | {"clusters_filled": int((counts > 0).sum())})


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


KMEANS = register(
    Selector(
        name="kmeans",
        summary="The sample nearest to each centre of as many clusters as samples are kept.",
        reference="MacQueen (1967), with the k-means++ start of Arthur & Vassilvitskii (2007)",
        choose=_choose,
        parameters=ClusterParameters,
        direction="low",
        network="classifier",
        nested=False,
    )
)
