"""Every experiment, end to end, at toy size."""

import json

import pandas as pd
import pytest

from paper import EXPERIMENTS

FILES = {
    "cells.csv", "cells.jsonl", "summary.csv", "table.md", "table.tex", "figure.png", "figure.svg",
    "config.json",
}  # fmt: skip


PAPER = [
    "table2", "table7", "figure5", "table4", "figure8", "figure3", "table10", "table9", "table11",
    "table6", "ablation",
]  # fmt: skip


def test_the_papers_eleven_come_first():
    assert list(EXPERIMENTS)[: len(PAPER)] == PAPER
    assert all(row.version >= 1 and row.title and row.paper for row in EXPERIMENTS.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_writes_everything(run, name):
    out = run(name)
    assert {path.name for path in out.iterdir()} == FILES
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert config["name"] == name
    assert config["cohort"]["samples"] == 30
    assert config["options"]["toy"] is True
    assert config["cells"] > 0
    assert config["cpu_seconds"] >= 0
    summary = pd.read_csv(out / "summary.csv")
    assert len(summary) > 0
    tables = EXPERIMENTS[name].tables(summary)  # the documentation makes them again from the file
    assert "\n".join(table.markdown() for table in tables) == (out / "table.md").read_text(
        encoding="utf-8"
    )
    assert (out / "table.tex").read_text(encoding="utf-8").count(r"\begin{table}") == len(tables)
    assert (out / "figure.png").stat().st_size > 5000


@pytest.mark.slow
def test_table_2_has_the_papers_cell_beside_ours(run):
    summary = pd.read_csv(run("table2", ratios=(0.3, 0.5)) / "summary.csv")
    chosen = summary[
        (summary["task"] == "subject")
        & (summary["method"] == "sclcs")
        & (summary["ratio"] == 0.3)
        & (summary["measure"] == "ndcg@5")
    ]
    assert set(chosen["score"] + chosen["gain"]) == {
        score + gain for score in ("cohen_d", "ratio", "sound") for gain in ("minmax", "raw")
    }
    assert chosen["paper_mean"].tolist() == pytest.approx([0.5024] * 6)
    assert chosen["paper_std"].tolist() == pytest.approx([0.1316] * 6)
    assert (chosen["n"] + chosen["undefined"] == 2).all()
    assert (chosen.loc[chosen["score"] != "sound", "n"] == 2).all()
    halves = summary[summary["method"] == "halves"]
    assert set(halves["task"]) == {"subject", "diagnosis"}


@pytest.mark.slow
def test_all_runs_every_experiment(toy_cohort, tmp_path, toy_store, monkeypatch):
    from paper import run_all

    for name in list(EXPERIMENTS):
        if name not in ("table10", "figure8"):
            monkeypatch.delitem(EXPERIMENTS, name)
    options = {"methods": ("random",), "repeats": 2, "draws": 2, "ratios": (0.5,)}
    found = run_all(toy_cohort, tmp_path, fc=toy_store, toy=True, **options)
    assert set(found) == {"table10", "figure8"}
    assert (tmp_path / "table10" / "figure.png").exists()
    assert (tmp_path / "figure8" / "summary.csv").exists()
