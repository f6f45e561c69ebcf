"""Geometry of operators: measured, shipped, blended."""

import numpy as np
import pytest

from sclcs._core.errors import InputError
from sclcs.decision import Geometry, blend_geometries, complete_geometry, measure_geometry


@pytest.fixture
def kernels(rng):
    """Three operators on seven samples of five subjects; the second is a multiple of the first."""
    one, three = (m + m.T for m in rng.normal(size=(2, 7, 7)))
    return [one, 2 * one, three]


SUBJECTS = np.array([0, 0, 1, 2, 3, 3, 4])


def test_measured_geometry_is_the_cosine_over_pairs_of_different_subjects(kernels):
    found = measure_geometry(["a", "b", "c"], kernels, SUBJECTS)
    pairs = [(i, j) for i in range(7) for j in range(i) if SUBJECTS[i] != SUBJECTS[j]]
    columns = np.array([[kernel[i, j] for i, j in pairs] for kernel in kernels])
    cosine = columns[0] @ columns[2] / np.linalg.norm(columns[0]) / np.linalg.norm(columns[2])
    assert found.similarity[0, 2] == pytest.approx(cosine)
    assert found.similarity[0, 1] == pytest.approx(1.0)
    np.testing.assert_allclose(found.level, columns.mean(axis=1))
    np.testing.assert_allclose(found.spread, columns.std(axis=1))
    assert found.n_subjects == 5
    np.testing.assert_allclose(found.share_scale, (1 - found.level) / found.spread)
    assert found.take(["c", "a"]).similarity[0, 1] == found.similarity[2, 0]
    with pytest.raises(InputError, match="geometry of d was never measured"):
        found.take(["a", "d"])
    with pytest.raises(InputError, match="three subjects"):
        measure_geometry(["a"], [kernels[0][:2, :2]], np.array([0, 1]))


def test_blending_trusts_the_cohort_more_the_more_subjects_there_are(kernels):
    measured = measure_geometry(["a", "b", "c"], kernels, SUBJECTS)
    table = Geometry(("c", "a"), np.array([[1.0, 0.5], [0.5, 1.0]]), np.zeros(2), np.ones(2), 0.0)

    def blended(n_subjects):
        one = Geometry(
            measured.operators, measured.similarity, measured.level, measured.spread, n_subjects
        )
        return blend_geometries(one, table).similarity

    few, many = blended(4.0), blended(4000.0)
    own = measured.similarity[0, 2]
    assert abs(few[0, 2] - 0.5) < abs(own - 0.5)
    assert many[0, 2] == pytest.approx(own, abs=0.02)
    np.testing.assert_allclose(np.diagonal(few), 1.0)
    assert np.linalg.eigvalsh(few)[0] > -1e-9
    assert blend_geometries(measured, None) is measured
    stranger = Geometry(("x",), np.ones((1, 1)), np.zeros(1), np.ones(1), 0.0)
    assert blend_geometries(measured, stranger) is measured


def test_operators_that_were_not_measured_take_their_level_from_those_that_were(rng):
    """The table was made on other cohorts: more regions or time points move level and spread."""
    table = Geometry(("a", "b", "c", "d"), np.eye(4), np.full(4, 0.6), np.full(4, 0.2), 0.0)
    here = Geometry(("a", "b", "c"), np.eye(3), np.array([0.8, 0.7, 0.9]), np.full(3, 0.05), 20.0)
    found = complete_geometry(["d", "a", "b", "c"], here, table)
    assert found.level[0] == pytest.approx(0.8)  # 1 - 0.4 times the median of 0.5, 0.75, 0.25
    assert found.spread[0] == pytest.approx(0.05)
    np.testing.assert_allclose(found.level[1:], here.level)
    np.testing.assert_allclose(found.share_scale[1:], here.share_scale)
