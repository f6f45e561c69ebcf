import json

import pytest

from sclcs.run_folder import RunFolder
from sclcs.runs.demo import SETTINGS


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr("sclcs.runs.demo.SUBJECTS", 20)
    monkeypatch.setattr("sclcs.runs.demo.REGIONS", 6)
    monkeypatch.setattr("sclcs.runs.demo.GROUP_EFFECT", 0.6)
    spis = ["panel", "family:distance", "family:kendall", "mi_kraskov_NN-4", "hsic", "dtw"]
    smaller = {"spis": spis, "budget": "40%", "bootstrap": 20, "permutations": 100}
    monkeypatch.setattr("sclcs.runs.demo.SETTINGS", SETTINGS | smaller)
    monkeypatch.setattr("os.cpu_count", lambda: 1)


def test_the_demo_goes_from_a_cohort_to_a_report_and_checks_itself(sclcs, small, tmp_path):
    shown = sclcs("demo", "--out", tmp_path / "demo")
    assert shown.code == 0, shown.err
    folder = RunFolder.open(tmp_path / "demo")
    assert f"Report: {folder.report_file}" in shown.out
    assert folder.report_file.stat().st_size > 10_000
    found = folder.confirmation()
    assert "Was it right?" in shown.out
    for task in ("diagnosis", "subject"):
        assert folder.answer()["tasks"][task]["effect"]  # nothing else makes the point
        facts = found["tasks"][task]
        scores = folder.truth(task).scores
        assert scores[facts["true_best"]] == scores.max()
        assert facts["chosen"] in shown.out
        assert f"{facts['truth']['ndcg@10']:.3f}" in shown.out
    assert f"took {found['costs']['everything_measured']:.1f} s" in shown.out
    assert set(folder.ranking().table["source"]) == {"exact", "estimated"}
    again = sclcs("demo", "--out", tmp_path / "demo", "--json")
    facts = json.loads(again.out)
    assert facts["stages"] == []
    assert "[1/10] Check the cohort: done before" in again.err
    best = facts["best"]["subject"]
    assert len(best) == 3
    assert best[0]["low"] <= best[0]["score"] <= best[0]["high"]
