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


def test_a_ranking_on_it_shows_the_order_only(sclcs, saved, tmp_path):
    core, out = tmp_path / "core.csv", tmp_path / "ranking.csv"
    chosen = sclcs("select", str(saved), *OPTIONS, "--ratio", "0.4", "--task", "diagnosis",
                   "--out", core)  # fmt: skip
    assert chosen.code == 0, chosen.err
    arguments = ["rank", str(saved), "--task", "diagnosis", "--spis", "pearson,kendall,pec"]
    shown = sclcs(*arguments, "--coreset", core, "--out", out, "--plot", tmp_path / "r.png")
    assert shown.code == 0, shown.err
    assert "nothing about the size of effects" in shown.out
    assert "Pearson correlation (cov_EmpiricalCovariance)" in shown.out
    for word in ("share", "interval", "best set", "p =", "p below"):
        assert word not in shown.out
    found = sclcs(*arguments, "--coreset", core, "--out", tmp_path / "again.csv", "--json")
    assert not {"score", "low", "high"} & set(json.loads(found.out)["table"][0])
