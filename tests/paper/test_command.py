"""``python -m paper`` from the command line."""

import json
import sys

import pandas as pd
import pytest

from paper import EXPERIMENTS
from paper.__main__ import main
from paper.keep import keep
from sclcs import simulate_cohort


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("experiment") / "toy.zarr"
    simulate_cohort(8, 3, 5, length=28, stride=14, seed=4).save(path)
    return path


@pytest.fixture
def paper(monkeypatch, capsys):
    """Run the command in this process; return its exit code, output and errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["paper", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


def test_the_list_says_what_there_is(paper):
    code, shown, _ = paper()
    assert code == 0
    for row in EXPERIMENTS.values():
        assert f"{row.name} " in shown
        assert row.title in shown
    assert EXPERIMENTS["table11"].paper.startswith("Table 11")


def test_an_experiment_from_the_command_line(paper, saved, tmp_path):
    out = tmp_path / "table10"
    arguments = ["--methods", "random,stratified", "--ratios", "0.5", "--repeats", 2, "--draws", 2]
    code, shown, errors = paper("table10", "--cohort", saved, "--out", out, "--toy", *arguments)
    assert code == 0, errors
    assert str(out) in shown
    summary = pd.read_csv(out / "summary.csv")
    assert set(summary["method"]) == {"random", "stratified"}
    assert "random" in shown
    command = json.loads((out / "config.json").read_text(encoding="utf-8"))["command"]
    assert command.startswith("python -m paper table10 --cohort")
    assert "--ratios 0.5" in command


def test_the_main_table_is_printed_in_the_papers_shape(paper, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # no --out: reproduced/table2, the store beside it
    arguments = ["--methods", "random,stratified", "--ratios", "0.5", "--repeats", 2, "--draws", 2]
    code, shown, errors = paper("table2", "--cohort", saved, "--toy", *arguments)
    assert code == 0, errors
    lines = shown.splitlines()
    assert lines[0].startswith("Fingerprinting. ")
    header = next(line for line in lines if line.startswith("method"))
    assert header.split("  ")[0] == "method"
    assert [f"@{k}, 0.5" in header for k in (5, 10, 20)] == [True] * 3
    place = next(row for row, line in enumerate(lines) if line.startswith("random"))
    assert lines[place + 1].split()[:3] == ["paper", "66.6", "±20.2"]
    assert lines[place + 2].startswith("stratified")
    assert lines[place + 3].startswith("chance")  # no number of the paper below stratified
    assert (tmp_path / "reproduced" / "table2" / "table.md").exists()
    assert (tmp_path / "reproduced" / "fc").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["magic", "--cohort", "COHORT", "--out", "OUT"], "Unknown experiment 'magic'"),
        (["table2"], "Expected --cohort COHORT for table2"),
        (["table2", "--cohort", "nowhere.zarr", "--out", "OUT"], "nowhere.zarr"),
        (["table2", "--cohort", "COHORT", "--out", "OUT", "--ratios", "a,b"], "--ratios"),
        (["table2", "--cohort", "COHORT", "--out", "OUT", "--tasks", "mood"], "no column mood"),
        (["table2", "--cohort", "COHORT", "--out", "OUT", "--methods", "x"], "selection method x"),
    ],
)
def test_mistakes_are_one_sentence(paper, saved, tmp_path, arguments, words):
    given = {"COHORT": saved, "OUT": tmp_path / "out"}
    code, _, errors = paper(*(given.get(word, word) for word in arguments))
    assert code == 2
    assert words in errors
    assert "Traceback" not in errors


def test_a_finished_experiment_is_kept_with_its_record(run, tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    (results / "table10.png").write_bytes(b"an older figure")
    folder = run("table10", methods=("random",), draws=1, repeats=1)
    for name in (None, "other"):
        keep(folder, name, results)
    for name in ("table10", "other"):
        assert (results / f"{name}.csv").read_bytes() == (folder / "summary.csv").read_bytes()
    assert (results / "table10.png").read_bytes() == (folder / "figure.png").read_bytes()
    assert not (results / "other.png").exists()
    record = json.loads((results / "experiments.json").read_text(encoding="utf-8"))
    assert set(record) == {"table10", "other"}
    assert {"command", "commit", "versions", "options"} <= set(record["other"][0])
