"""``sclcs select --method guided`` prints and stores its certificate."""

import json

import pytest

from sclcs.cohort.simulation import simulate_cohort

OPTIONS = ["--method", "guided", "--param", "proposals=200", "--param", "restarts=1"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("guided") / "cohort.zarr"
    simulate_cohort(15, 3, 6, length=30, stride=15, seed=3).save(path)
    return path


def test_the_certificate_is_printed_and_stored(sclcs, saved, tmp_path):
    out = tmp_path / "core.csv"
    arguments = ["select", str(saved), *OPTIONS, "--ratio", "0.4", "--task", "diagnosis,subject"]
    done = sclcs(*arguments, "--out", out)
    assert done.code == 0, done.err
    assert "diagnosis: expected on unseen operators: nDCG@10 = " in done.out
    assert "subject: expected on unseen operators: nDCG@10 = " in done.out
    stored = json.loads(out.with_suffix(".json").read_text())["parameters"]["certificate"]
    assert [item["task"] for item in stored] == ["diagnosis", "subject"]


def test_a_target_instead_of_a_ratio(sclcs, saved, tmp_path):
    out = tmp_path / "core.csv"
    arguments = ["select", str(saved), *OPTIONS, "--target-ndcg", "0.3", "--json"]
    done = sclcs(*arguments, "--out", out)
    assert done.code == 0, done.err
    assert json.loads(done.out)["certificate"][0]["ndcg@10"]["expected"] >= 0.3
