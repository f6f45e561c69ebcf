import json

import pytest

from sclcs.runs import costs
from sclcs.runs.costs import Start
from sclcs.spi import resolve


@pytest.fixture
def saved(cohort, tmp_path, monkeypatch):
    start = Start(2.0, 1.5, 10**8)
    monkeypatch.setattr(costs, "_measure_start", lambda *_: start)
    return cohort.save(tmp_path / "c.zarr")


def test_a_plan_compares_everything_with_two_stages(sclcs, saved):
    shown = sclcs("plan", saved, "--spis", "panel", "--method", "random", "--top-k", "2")
    assert shown.code == 0, shown.err
    assert f"{len(resolve('panel'))} operators, 7 samples of" in shown.out
    for words in ("everything on everybody", "two stages (10%, random)", "samples of the cohort"):
        assert words in shown.out


def test_json_and_another_size(sclcs, saved):
    shown = sclcs(
        "plan", saved, "--spis", "panel", "--method", "random", "--samples", 50_000,
        "--cores", 1000, "--ratio", "0.02", "--json",
    )  # fmt: skip
    plan = json.loads(shown.out)
    assert plan["shape"]["samples"] == 50_000
    assert plan["core_samples"] == 1000
    assert plan["jobs"] == 1000
    assert plan["full"]["disk_bytes"] > 40 * plan["parts"]["core-set"]["disk_bytes"]


def test_a_size_without_a_cohort_must_be_whole(sclcs, saved):
    shown = sclcs("plan", "--samples", 100, "--regions", 5)
    assert shown.code == 2
    assert "--timepoints" in shown.err
    assert "Traceback" not in shown.err
