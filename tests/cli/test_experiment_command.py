import json

import pandas as pd
import pytest

from sclcs import simulate_cohort
from sclcs.experiments import EXPERIMENTS


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("experiment") / "toy.zarr"
    simulate_cohort(8, 3, 5, length=28, stride=14, seed=4).save(path)
    return path


def test_the_list_says_what_there_is(sclcs):
    shown = sclcs("experiment", "--list")
    assert shown.code == 0
    for name in ("main", "universal", "ablation", "all"):
        assert name in shown.out
    facts = json.loads(sclcs("experiment", "--list", "--json").out)
    assert list(facts) == list(EXPERIMENTS)
    assert facts["windows"]["paper"].startswith("Table 11")


def test_an_experiment_from_the_command_line(sclcs, saved, tmp_path):
    out = tmp_path / "balance"
    arguments = ["--methods", "random,stratified", "--ratios", "0.5", "--repeats", 2, "--draws", 2]
    shown = sclcs("experiment", "balance", "--cohort", saved, "--out", out, "--toy", *arguments)
    assert shown.code == 0, shown.err
    assert str(out) in shown.out
    summary = pd.read_csv(out / "summary.csv")
    assert set(summary["method"]) == {"random", "stratified"}
    command = json.loads((out / "config.json").read_text(encoding="utf-8"))["command"]
    assert command.startswith("sclcs experiment balance --cohort")
    assert "--ratios 0.5" in command


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["magic", "--cohort", "COHORT", "--out", "OUT"], "Unknown experiment 'magic'"),
        (["main"], "Expected the name of an experiment, --cohort COHORT and --out DIR"),
        (["main", "--cohort", "nowhere.zarr", "--out", "OUT"], "nowhere.zarr"),
        (["main", "--cohort", "COHORT", "--out", "OUT", "--ratios", "a,b"], "--ratios"),
        (["main", "--cohort", "COHORT", "--out", "OUT", "--tasks", "mood"], "no column mood"),
        (["main", "--cohort", "COHORT", "--out", "OUT", "--methods", "x"], "selection method x"),
    ],
)
def test_mistakes_are_one_sentence(sclcs, saved, tmp_path, arguments, words):
    places = {"COHORT": saved, "OUT": tmp_path / "out"}
    shown = sclcs("experiment", *(places.get(word, word) for word in arguments))
    assert shown.code == 2
    assert words in shown.err
    assert "Traceback" not in shown.err
