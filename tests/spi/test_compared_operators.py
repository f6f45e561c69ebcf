"""The operators that papers compare with: equal to numpy's and nilearn's."""

from __future__ import annotations

import numpy as np
import pytest

import sclcs
from sclcs._core import InputError
from sclcs.spi import compute_batch as compute
from sclcs.spi.versions import resolve

connectome = pytest.importorskip("nilearn.connectome")


@pytest.fixture(scope="module")
def scans():
    rng = np.random.default_rng(3)
    mix = rng.normal(size=(7, 7))
    scale = np.array([1.0, 3.0, 0.2, 1.0, 10.0, 1.0, 0.5])
    return [rng.normal(size=(length, 7)) @ mix * scale for length in (60, 80, 60, 90, 70)]


def nilearn(scans, kind):
    measure = connectome.ConnectivityMeasure(kind=kind, standardize="zscore_sample")
    return measure.fit_transform(scans), measure


OFF = ~np.eye(7, dtype=bool)


def test_pearson_is_numpys(scans):
    found = sclcs.FCTransformer("pearson").fit_transform(scans)
    expected = np.stack([np.corrcoef(scan.T) for scan in scans])
    np.testing.assert_allclose(found[:, OFF], expected[:, OFF], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found, sclcs.FCTransformer("correlation").fit_transform(scans))


def test_partial_is_nilearns(scans):
    found = sclcs.FCTransformer("partial correlation").fit_transform(scans)
    expected, _ = nilearn(scans, "partial correlation")
    np.testing.assert_allclose(found[:, OFF], expected[:, OFF], rtol=0, atol=1e-10)


def test_partial_leaves_out_constant_regions(scans):
    signals = scans[0].T.copy()
    signals[2] = 5.0
    found = np.asarray(compute(signals[None], "partial"))[0, 0]
    others = np.delete(np.arange(7), 2)
    expected, _ = nilearn([signals[others].T, scans[1][:, others]], "partial correlation")
    mask = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(found[np.ix_(others, others)][mask], expected[0][mask], atol=1e-10)
    assert np.isnan(found[2]).all()


def test_tangent_is_nilearns_and_learned_in_fit(scans):
    expected, measure = nilearn(scans[:4], "tangent")
    model = sclcs.FCTransformer("tangent").fit(scans[:4])
    np.testing.assert_allclose(model.transform(scans[:4]), expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(model.transform(scans[3:]), measure.transform(scans[3:]), atol=1e-7)


def test_tangent_beside_others_and_as_vectors(scans):
    both = sclcs.FCTransformer(["tangent", "pearson"]).fit_transform(scans)
    assert both.shape == (5, 2, 7, 7)
    vectors = sclcs.FCTransformer("tangent", vectorize=True).fit(scans)
    assert vectors.transform(scans).shape == (5, 21)
    assert len(vectors.get_feature_names_out()) == 21
    whole = sclcs.FCTransformer("tangent", vectorize=True, discard_diagonal=False)
    assert whole.fit_transform(scans).shape == (5, 28)


def test_nilearns_kinds_have_a_name_here():
    assert resolve("covariance, precision") == ["cov_LedoitWolf", "prec_LedoitWolf"]
    assert resolve("correlation, partial correlation") == ["pearson", "partial"]
    with pytest.raises(InputError, match="learned from a group"):
        resolve("tangent")


def test_they_are_no_part_of_the_papers_set():
    assert not {"pearson", "partial"} & set(resolve("paper-fast"))
    assert len(resolve("paper-fast")) == 131
