import json

import pytest

from sclcs.benchmark import consistency
from sclcs.cohort.cohort import Cohort
from sclcs.experiments.demo import SETTINGS
from sclcs.run_folder import RunFolder


@pytest.fixture
def small(monkeypatch, quick_plan):
    monkeypatch.setattr("sclcs.experiments.demo.SUBJECTS", 20)
    monkeypatch.setattr("sclcs.experiments.demo.REGIONS", 6)
    smaller = {"spis": ["panel"], "ratio": 0.4, "bootstrap": 20, "method": "stratified"}
    monkeypatch.setattr("sclcs.experiments.demo.SETTINGS", SETTINGS | smaller)
    monkeypatch.setattr("os.cpu_count", lambda: 1)


def test_the_demo_goes_from_a_cohort_to_a_report_and_checks_itself(sclcs, small, tmp_path):
    shown = sclcs("demo", "--out", tmp_path / "demo")
    assert shown.code == 0, shown.err
    folder = RunFolder.open(tmp_path / "demo")
    assert f"Report: {folder.report_file}" in shown.out
    assert folder.report_file.stat().st_size > 10_000
    assert len(folder.core_set()) == int(0.4 * len(Cohort.open(folder.path / "cohort.zarr")))
    for task in ("subject", "diagnosis"):
        truth, ranking = folder.truth(task), folder.ranking(task)
        assert truth is not None
        agreement = consistency(truth, ranking)
        assert f"{task}: nDCG@5 {agreement['ndcg@5']:.3f}" in shown.out
        assert (
            f"nDCG@20 {agreement['ndcg@20']:.3f}, Kendall {agreement['kendall']:.2f}" in shown.out
        )
        for name in folder.confirmed(task).table["spi"].head(3):
            assert name in shown.out
    again = sclcs("demo", "--out", tmp_path / "demo", "--json")
    facts = json.loads(again.out)
    assert facts["stages"] == []
    assert "[1/9] Check the cohort: done before" in again.err
    best = facts["best"]["subject"]
    assert len(best) == 3
    assert best[0]["low"] <= best[0]["score"] <= best[0]["high"]
