import json

import numpy as np
import pandas as pd
import pytest

from sclcs import Blend
from sclcs.store import compute_store


@pytest.fixture
def saved(cohort, tmp_path):
    return cohort.save(tmp_path / "c.zarr")


def test_show_says_what_is_in_a_cohort(sclcs, saved):
    assert sclcs("show", saved).out == sclcs("cohort", "describe", saved).out


def test_show_says_what_is_in_a_store_and_verify_finds_damage(sclcs, saved, tmp_path):
    store = compute_store(saved, tmp_path / "fc", "pec")
    assert "1 operators on 7 samples" in sclcs("show", store.path).out
    assert sclcs("show", store.path, "--verify").code == 0
    store.layout.piece_file("envelope", 0).write_bytes(b"nothing")
    shown = sclcs("show", store.path, "--verify")
    assert shown.code == 2
    assert "damaged or gone: pec" in shown.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cite", "--state"], "Expected one of --report, --cite, --verify and --state"),
        (["c.zarr", "--verify"], "Expected one path, got 2"),
        (["--report"], "Expected the folder of a run"),
    ],
)
def test_mistakes_are_one_line(sclcs, saved, options, message):
    shown = sclcs("show", saved, *options)
    assert shown.code == 2
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_blend_predicts_new_scans(sclcs, tmp_path, rng):
    scans = rng.normal(size=(16, 40, 4))
    group = np.repeat(["control", "patient"], 8)
    blend = Blend(["pearson", "kendalltau"]).fit(list(scans), group)
    (tmp_path / "RUN").mkdir()
    blend.save(tmp_path / "RUN" / "blend-diagnosis.npz")
    np.save(tmp_path / "new.npy", scans[:3])
    out = tmp_path / "predictions.csv"
    arguments = ["predict", tmp_path / "RUN", tmp_path / "new.npy"]
    shown = sclcs(*arguments, "--out", out, "--json")
    assert shown.code == 0, shown.err
    assert json.loads(shown.out)["scans"] == 3
    table = pd.read_csv(out)
    assert list(table["prediction"]) == list(blend.predict(list(scans[:3])))
    np.testing.assert_allclose(
        table[["p_control", "p_patient"]], blend.predict_proba(list(scans[:3])), rtol=1e-6
    )
    assert "already" in sclcs(*arguments, "--out", out).err
    other = sclcs(*arguments, "--task", "age", "--out", tmp_path / "other.csv")
    assert "Expected --task to be one of diagnosis, got age" in other.err
