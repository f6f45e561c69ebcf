"""k-Means and k-center."""

from itertools import combinations

import numpy as np
import pytest

from sclcs._core import InputError
from sclcs.coresets import select
from sclcs.coresets.clusters import (
    FeatureParameters,
    farthest_first,
    nearest_members,
    sample_features,
)


def features_of(cohort, kind):
    return sample_features(cohort, 0, FeatureParameters(features=kind, epochs=2))[0]


def test_features_are_fisher_z_of_correlations(small_cohort):
    features = features_of(small_cohort, "fc")
    assert features.shape == (72, 15)
    expected = np.arctanh(np.corrcoef(small_cohort.signals[7])[np.triu_indices(6, 1)])
    np.testing.assert_allclose(features[7], expected, rtol=1e-5, atol=1e-6)
    assert features_of(small_cohort, "raw").shape == (72, 6 * 26)
    assert features_of(small_cohort, "penultimate").shape == (72, 128)
    with pytest.raises(InputError, match="features"):
        features_of(small_cohort, "colours")


@pytest.mark.parametrize("method", ["kmeans", "kcenter"])
@pytest.mark.parametrize("features", ["raw", "penultimate"])
def test_other_features(method, features, small_cohort):
    core = select(small_cohort, method, 0.2, features=features, epochs=2)
    assert len(set(core.sample_ids)) == 14


def test_members_are_taken_by_distance():
    clusters = np.array([0, 0, 0, 1, 1, 3])
    distances = np.array([0.3, 0.1, 0.2, 0.5, 0.4, 0.0])
    first = np.array([1, 1, 0, 1])
    assert set(nearest_members(clusters, distances, 3, first)) == {1, 4, 5}
    # One more each, the largest cluster first.
    assert nearest_members(clusters, distances, 4, first)[-1] == 2
    assert nearest_members(clusters, distances, 5, first)[-1] == 3
    assert set(nearest_members(clusters, distances, 6, first)) == set(range(6))


def test_large_clusters_give_more_with_fewer_clusters(small_cohort):
    core = select(small_cohort, "kmeans", 0.5, clusters=3)
    assert len(core) == 36
    with pytest.raises(InputError, match="clusters"):
        select(small_cohort, "kmeans", 0.1, clusters=8)


def test_many_clusters_are_found_in_batches(small_cohort, monkeypatch):
    monkeypatch.setattr("sclcs.coresets.clusters.LARGEST_EXACT", 5)
    core = select(small_cohort, "kmeans", 0.3)
    assert len(set(core.sample_ids)) == 21
    assert select(small_cohort, "kmeans", 0.3).sample_ids == core.sample_ids


def test_kmeans_with_identical_samples(small_cohort):
    from sclcs import Cohort

    same = Cohort(np.repeat(small_cohort.signals[:1], 72, axis=0), small_cohort.samples)
    assert len(set(select(same, "kmeans", 0.2).sample_ids)) == 14
    assert len(set(select(same, "kcenter", 0.2).sample_ids)) == 14


def test_kmeans_takes_one_of_each_well_separated_group(rng, small_cohort):
    from sclcs import Cohort

    bases = rng.normal(size=(9, 6, 26))
    groups = rng.integers(0, 9, size=72)
    groups[:9] = np.arange(9)
    signals = bases[groups] + 0.01 * rng.normal(size=(72, 6, 26))
    cohort = Cohort(signals, small_cohort.samples)
    core = select(cohort, "kmeans", 0.125)
    chosen = groups[[cohort.sample_ids.index(name) for name in core.sample_ids]]
    assert len(set(chosen)) >= 8  # one start may fall twice into the same group
    core = select(cohort, "kcenter", 0.125)
    chosen = groups[[cohort.sample_ids.index(name) for name in core.sample_ids]]
    assert len(set(chosen)) == 9


def radius(points, chosen):
    return np.linalg.norm(points[:, None] - points[list(chosen)], axis=2).min(axis=1).max()


@pytest.mark.parametrize("start", range(4))
def test_kcenter_is_within_twice_the_optimum(start, rng):
    points = rng.normal(size=(12, 3)).astype(np.float32)
    chosen, distances = farthest_first(points, 4, start)
    best = min(radius(points, subset) for subset in combinations(range(12), 4))
    assert radius(points, chosen) <= 2 * best + 1e-5
    assert np.isinf(distances[start])
    assert np.all(np.diff(distances[chosen][1:]) <= 1e-6)
