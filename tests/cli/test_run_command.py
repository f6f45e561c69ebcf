"""``sclcs run`` as a user types it."""

import json

import numpy as np
import pytest
import yaml

from sclcs import simulate_cohort
from sclcs.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("quick_plan")

QUICK = ["--spis", "panel", "--method", "pairs", "--ratio", "0.5", "--bootstrap", "20"]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "c.zarr"
    return simulate_cohort(12, 3, 5, length=60, stride=30, seed=1).save(path)


def test_a_run_shows_its_stages_the_best_operators_and_the_report(sclcs, cohort, tmp_path):
    out = tmp_path / "RUN"
    shown = sclcs("run", cohort, "--task", "diagnosis", "--task", "sex", *QUICK, "--out", out)
    assert shown.code == 0, shown.err
    folder = RunFolder.open(out)
    assert folder.tasks == ["diagnosis", "sex"]
    for number in range(1, 10):
        assert f"[{number}/9] " in shown.out
    for task in folder.tasks:
        assert f"task {task}, on the whole cohort" in shown.out
        row = folder.confirmed(task).table.iloc[0]
        assert f"{row['spi']}" in shown.out
        assert f"{row['low']:.4f} to {row['high']:.4f}" in shown.out
    assert shown.out.rstrip().endswith(f"Report: {folder.report_file}")
    again = sclcs(
        "run", cohort, "--task", "diagnosis", "--task", "sex", *QUICK, "--out", out, "--json"
    )
    facts = json.loads(again.out)  # stage lines go elsewhere
    assert facts["stages"] == []
    assert facts["report"] == str(folder.report_file)
    assert set(facts["best"]) == {"diagnosis", "sex"}
    assert "[9/9] Write the report: done before" in again.err
    assert sclcs("run", "status", out).out == sclcs("status", out).out
    assert json.loads(sclcs("run", "status", out, "--json").out)["stages"]["report"]


def test_what_may_explain_an_effect_is_told_before_the_work(sclcs, tmp_path):
    cohort = simulate_cohort(24, 2, 5, length=60, stride=60, seed=1)
    patient = np.array(cohort.samples["diagnosis"] == "MDD")
    patient[::12] ^= True  # both windows of every sixth subject: scanned at the other site
    patient[1::12] ^= True
    cohort.samples["site"] = np.where(patient, "x", "y")
    cohort.save(tmp_path / "c.zarr")
    asked = ["run", tmp_path / "c.zarr", "--task", "diagnosis", "--until", "check"]
    shown = sclcs(*asked, "--out", tmp_path / "ONE")
    assert shown.code == 0, shown.err
    said = " ".join(shown.err.split())
    assert "diagnosis goes with the site (Cramér's V" in said
    assert "--covariates site" in said
    quiet = sclcs(*asked, "--covariates", "site", "--out", tmp_path / "TWO")
    assert "goes with the site" not in quiet.err


def test_a_criterion_that_the_cohort_lacks_is_told_before_the_work(sclcs, cohort, tmp_path):
    asked = ["run", cohort, "--task", "diagnosis", *QUICK, "--criteria", "motion,handedness"]
    shown = sclcs(*asked, "--out", tmp_path / "RUN")
    assert shown.code == 2
    assert "There is no column 'handedness'" in shown.err
    assert "[1/" not in shown.out


def test_options_beat_the_file(sclcs, cohort, tmp_path):
    file = tmp_path / "my.yaml"
    file.write_text(f"cohort: {cohort}\nout: RUN\nratio: 0.25\nmethod: random\nspis: panel\n")
    shown = sclcs("run", "--config", file, "--ratio", "0.5", "--until", "select")
    assert shown.code == 0, shown.err
    assert "Stopped after select" in shown.out
    core = RunFolder.open(tmp_path / "RUN").core_set()
    assert (len(core), core.method) == (18, "random")


def test_a_configuration_to_start_from(sclcs, cohort, tmp_path):
    shown = sclcs("run", cohort, "--task", "site", "--param", "windows=3", "--init-config")
    keys = yaml.safe_load(shown.out)
    assert (keys["cohort"], keys["task"]) == (str(cohort), ["site"])
    assert keys["parameters"] == {"windows": 3}
    assert "# operators per task to compute on the full cohort\ntop_k: 5" in shown.out
    file = tmp_path / "my.yaml"
    file.write_text(shown.out)
    again = sclcs("run", "--config", file, "--init-config")
    assert again.out == shown.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--task", "handedness"], "no column 'handedness'"),
        (["--spis", "pecc"], "the nearest are pec"),
        (["--ratio", "2"], "`ratio` must be a number above 0 and at most 1, got 2.0"),
        (["--on-bad", "ignore"], "`on_bad` must be one of error, skip"),
        (["--export", "spss"], "csv, got 'spss'"),
        (["--until", "lunch"], "No stage is called 'lunch'"),
        (["--param", "windows"], "name=value"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(sclcs, cohort, tmp_path, options, says):
    shown = sclcs("run", cohort, *QUICK, "--out", tmp_path / "RUN", *options)
    assert shown.code == 2
    assert says in shown.err
    assert "Traceback" not in shown.err


def test_what_is_missing_is_said(sclcs, cohort, tmp_path):
    assert "Expected a folder for the run: --out" in sclcs("run", cohort).err
    assert "Expected a cohort" in sclcs("run", "--out", tmp_path / "RUN").err
    shown = sclcs("run", tmp_path / "nothing.zarr", "--out", tmp_path / "RUN")
    assert shown.code == 2
    assert str(tmp_path / "nothing.zarr") in shown.err
    assert not (tmp_path / "RUN").exists()
    two = sclcs("run", cohort, tmp_path, "--out", tmp_path / "RUN")
    assert two.code == 2
    assert "Expected one cohort, got" in two.err
