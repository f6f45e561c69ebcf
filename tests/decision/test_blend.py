"""The blend: an estimator that learns only in fit, is saved without pickle, and predicts."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score

import sclcs
from sclcs._core.errors import InputError
from sclcs.decision.blend import Blend, blend_similarity
from sclcs.decision.ridge import fit_ridge
from sclcs.spi import compute_batch as compute

SPIS = ["pearson", "kendalltau", "pdist_euclidean"]


def make(count=60, regions=5, seed=0):
    """Scans whose first two regions are coupled the more, the higher y is."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=count)
    scans = []
    for value in y:
        scan = rng.normal(size=(70, regions))
        scan[:, 1] += (1.0 + 0.8 * value) * scan[:, 0]
        scans.append(scan)
    return scans, y


@pytest.fixture(scope="module")
def data():
    return make()


def test_predicts_numbers_of_new_scans(data):
    scans, y = data
    model = Blend(SPIS).fit(scans[:40], y[:40])
    assert np.corrcoef(model.predict(scans[40:]), y[40:])[0, 1] > 0.7
    assert is_regressor(model)
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    assert model.weights_["tangent"] == 0.5
    with pytest.raises(InputError, match="regressor"):
        model.predict_proba(scans)


def test_predicts_classes_with_calibrated_probabilities(data):
    scans, y = data
    labels = np.where(y > 0, "high", "low")
    model = sclcs.Blend(SPIS).fit(scans[:40], labels[:40])
    chances = model.predict_proba(scans[40:])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (model.predict(scans[40:]) == labels[40:]).mean() > 0.7
    assert is_classifier(model)
    several = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    assert Blend(SPIS).fit(scans, several).predict_proba(scans[:3]).shape == (3, 3)


def test_one_scan_is_predicted_as_among_many(data):
    scans, y = data
    model = Blend(SPIS).fit(scans[:40], y[:40])
    together = model.predict(scans[40:])
    alone = [model.predict([scan])[0] for scan in scans[40:]]
    np.testing.assert_allclose(alone, together, rtol=1e-5, atol=1e-6)


def test_is_saved_without_pickle_and_predicts_the_same(data, tmp_path):
    scans, y = data
    labels, site = np.where(y > 0, "high", "low"), np.repeat(["x", "y"], 30)
    for target in (y, labels):
        model = Blend(SPIS).fit(scans, target, pd.DataFrame({"site": site}))
        again = Blend.load(model.save(tmp_path / "blend.npz"))
        np.testing.assert_array_equal(model.predict(scans), again.predict(scans))
        assert again.get_params()["spis"] == SPIS
        with np.load(tmp_path / "blend.npz", allow_pickle=False) as stored:
            assert all(stored[name].dtype.kind != "O" for name in stored)
            json.loads(str(stored["about"]))


def test_works_in_scikit_learn(data):
    scans, y = data
    labels = np.where(y > 0, "high", "low")
    assert clone(Blend(SPIS, tangent=0.2)).tangent == 0.2
    array, site = np.stack(scans), np.repeat(["x", "y"], 30)
    found = cross_val_score(
        Blend(SPIS, kind="classes"), array, labels, scoring="roc_auc", cv=3,
        params={"covariates": site},
    )  # fmt: skip
    assert found.mean() > 0.75
    search = GridSearchCV(Blend(["pearson"]), {"tangent": [0.0, 0.5]}, cv=2).fit(scans, y)
    assert search.best_score_ > 0.2


def test_a_site_is_not_credited_to_connectivity():
    """Sites that differ in target and connectivity, and nothing else: no prediction beyond them."""
    rng = np.random.default_rng(1)
    site = np.repeat(["a", "b"], 30)
    y = rng.normal(size=60) + 5.0 * (site == "b")
    scans = [rng.normal(size=(70, 5)) for _ in range(60)]
    for scan, where in zip(scans, site, strict=True):
        scan[:, 1] += 2.0 * (where == "b") * scan[:, 0]
    without = Blend(SPIS).fit(scans[::2], y[::2])
    assert np.corrcoef(without.predict(scans[1::2]), y[1::2])[0, 1] > 0.8
    model = Blend(SPIS).fit(scans[::2], y[::2], site[::2])
    inside = model.predict(scans[1::2], site[1::2]) - np.where(site[1::2] == "b", 5.0, 0.0)
    assert abs(np.corrcoef(inside, y[1::2] - 5.0 * (site[1::2] == "b"))[0, 1]) < 0.5
    assert np.isfinite(model.predict(scans[:2], np.array(["never seen", "a"]))).all()


def test_leave_one_out_is_exact():
    rng = np.random.default_rng(0)
    features, target = rng.normal(size=(20, 6)), rng.normal(size=(20, 1))
    columns = np.column_stack([np.ones(20), rng.normal(size=20)])
    basis = np.linalg.qr(columns)[0]
    beyond = features - basis @ (basis.T @ features)
    model = fit_ridge(beyond @ beyond.T, target, basis)
    for place in (0, 7):
        kept = np.delete(np.arange(20), place)
        inner = np.linalg.qr(columns[kept])[0]
        left = features[kept] - inner @ (inner.T @ features[kept])
        rest = target[kept] - inner @ (inner.T @ target[kept])
        slopes = np.linalg.solve(left.T @ left + model.penalty * np.eye(6), left.T @ rest)
        line = np.linalg.lstsq(columns[kept], target[kept] - features[kept] @ slopes, rcond=None)[0]
        expected = columns[place] @ line + features[place] @ slopes
        assert model.left_out[place, 0] == pytest.approx(expected[0])


def test_matrices_may_be_given(data):
    scans, y = data
    found = compute(np.stack([scan.T for scan in scans]), SPIS)
    alone = Blend(SPIS).fit(found, y)
    assert "tangent" not in alone.weights_
    assert np.corrcoef(alone.predict(found), y)[0, 1] > 0.7
    one = Blend(SPIS).fit(scans, y, matrices=found).predict(scans)
    np.testing.assert_allclose(one, Blend(SPIS).fit(scans, y).predict(scans), rtol=1e-5, atol=1e-6)


def test_a_new_scan_on_which_an_operator_fails_is_still_predicted(data):
    scans, y = data
    model = Blend(SPIS).fit(scans, y)
    found = compute(np.stack([scan.T for scan in scans[:3]]), SPIS)
    found[1, 0] = np.nan
    assert np.isfinite(model.predict(scans[:3], matrices=found)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"views": ["edges"]}, "views are among"),
        ({"weights": "random"}, "weights is"),
        ({"tangent": 2.0}, "weight from 0 to 1"),
    ],
)
def test_wrong_parameters_are_named(data, change, message):
    with pytest.raises(InputError, match=message):
        Blend(SPIS, **change).fit(*data)


def test_wrong_scans_are_named(data):
    scans, y = data
    with pytest.raises(InputError, match="y of 60 scans"):
        Blend(SPIS).fit(scans, y[:5])
    with pytest.raises(InputError, match="same for all"):
        Blend(SPIS).fit(scans, np.ones(60))
    model = Blend(["pearson"]).fit(scans, y)
    with pytest.raises(InputError, match="4 regions"):
        model.predict([scan[:, :4] for scan in scans])


def test_similarities_are_blended_at_one_scale():
    one, two = np.eye(4) + 0.1, 100 * np.eye(4) + np.arange(16).reshape(4, 4)
    assert (blend_similarity([one + np.tri(4), two]).argmax(axis=1) == np.arange(4)).all()
