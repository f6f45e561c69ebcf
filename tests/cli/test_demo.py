import json

import pytest

from sclcs.cli.demo import _print_core_sets
from sclcs.run_folder import RunFolder
from sclcs.runs.demo import SETTINGS, compare_core_sets


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr("sclcs.runs.demo.SUBJECTS", 20)
    monkeypatch.setattr("sclcs.runs.demo.REGIONS", 6)
    monkeypatch.setattr("sclcs.runs.demo.GROUP_EFFECT", 0.6)
    spis = ["panel", "family:distance", "family:kendall", "mi_kraskov_NN-4", "hsic", "dtw"]
    smaller = {"spis": spis, "budget": "40%", "bootstrap": 20, "permutations": 100}
    monkeypatch.setattr("sclcs.runs.demo.SETTINGS", SETTINGS | smaller)
    monkeypatch.setattr("sclcs.runs.demo.EPOCHS", 3)
    monkeypatch.setattr("sclcs.runs.demo.DRAWS", 2)
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
    core_sets = folder.core_sets()
    assert (core_sets["samples"], core_sets["of"], sum(core_sets["kept"])) == (10, 100, 10)
    ours = core_sets["tasks"]["diagnosis"]["ndcg@10"]
    assert f"{ours:.3f}" in shown.out
    assert "random draws" in shown.out
    assert 'id="paper"' in folder.report_file.read_text(encoding="utf-8")
    again = sclcs("demo", "--out", tmp_path / "demo", "--json")
    facts = json.loads(again.out)
    assert facts["stages"] == []
    assert "[1/10] Check the cohort: done before" in again.err
    best = facts["best"]["subject"]
    assert len(best) == 3
    assert best[0]["low"] <= best[0]["score"] <= best[0]["high"]


def test_without_torch_the_second_part_is_left_out(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sclcs.runs.demo.find_spec", lambda _name: None)
    assert compare_core_sets(RunFolder(tmp_path)) is None
    _print_core_sets(None)
    assert "it needs torch" in capsys.readouterr().out
