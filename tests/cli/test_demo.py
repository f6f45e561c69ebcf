import json

import pytest

from sclcs.benchmark import Ranking
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr("sclcs.experiments.demo.SUBJECTS", 20)
    monkeypatch.setattr("sclcs.experiments.demo.RATIO", 0.4)
    monkeypatch.setattr("sclcs.experiments.demo.OPERATORS", "panel")
    monkeypatch.setattr("sclcs.experiments.demo.DRAWS", 20)


def test_the_demo_goes_from_a_cohort_to_a_checked_ranking(sclcs, small, tmp_path):
    folder = tmp_path / "demo"
    shown = sclcs("demo", "--out", folder)
    assert shown.code == 0, shown.err
    assert f"{folder / 'ranking.png'}" in shown.out
    cohort = Cohort.open(folder / "cohort.zarr")
    core = CoreSet.open(folder / "core.csv")
    assert len(core) == int(0.4 * len(cohort))
    ranking = Ranking.open(folder / "ranking.csv")
    assert ranking.table["spi"].iloc[0] in shown.out
    agreement = json.loads((folder / "agreement.json").read_text())
    assert f"nDCG@10 {agreement['ndcg@10']:.3f}" in shown.out
    for picture in ("cohort.png", "ranking.png"):
        assert (folder / picture).stat().st_size > 10_000
    again = sclcs("demo", "--out", folder)
    assert again.code == 2
    assert "already exists" in again.err


def test_the_demo_as_json(sclcs, small, tmp_path):
    facts = json.loads(sclcs("demo", "--out", tmp_path / "demo", "--json").out)
    assert facts["cohort"]["subjects"] == 20
    assert len(facts["best"]) == 3
    assert facts["best"][0]["low"] <= facts["best"][0]["score"] <= facts["best"][0]["high"]
