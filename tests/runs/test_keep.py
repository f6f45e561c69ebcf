"""Which matrices a run keeps: its results are the same, and what is needed again comes back."""

import json
import os
import subprocess
import sys

import pytest
from run_cohorts import SETTINGS, small_cohort
from typer.testing import CliRunner

from sclcs._core.errors import InputError
from sclcs.cli.main import app
from sclcs.run_folder import RunFolder, collect_config, verify_path
from sclcs.runs import RunResult, carry_out
from sclcs.store import FCStore
from sclcs.store.pieces import read_piece

pytestmark = pytest.mark.usefixtures("quick_plan")

TWO_STAGES = SETTINGS | {"top_k": 1, "criteria": ["none"]}
EXACT = {"spis": SETTINGS["spis"], "top_k": 1, "bootstrap": 20, "task": ["subject", "diagnosis"]}
WAYS = pytest.mark.parametrize("settings", [TWO_STAGES, EXACT], ids=["two stages", "exact"])


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return small_cohort().save(tmp_path_factory.mktemp("keep") / "c.zarr")


def run(cohort, out, settings, keep, **changes):
    lines = []
    asked = {"cohort": str(cohort), "out": str(out), **settings, "keep": keep, **changes}
    folder, done = carry_out(collect_config(None, asked), tell=lines.append)
    return folder, done, lines


def tables(folder):
    """Return the bytes of everything that a run found."""
    kinds = ("core", "ranking", "confirmed", "card")
    files = [file for kind in kinds for file in sorted(folder.path.glob(f"{kind}*"))]
    assert any(file.name == "ranking.csv" for file in files)
    return {file.name: file.read_bytes() for file in files}


def size(folder):
    files = folder.path.glob("fc*.zarr/matrices/*/c.*")
    return sum(length for file in files for _, length in read_piece(file).spans.values())


@WAYS
def test_the_results_are_the_same_whatever_is_kept(cohort, tmp_path, settings):
    found = {
        keep: run(cohort, tmp_path / keep, settings, keep)[0] for keep in ("all", "winners", "none")
    }
    assert tables(found["winners"]) == tables(found["none"]) == tables(found["all"])
    assert size(found["all"]) > size(found["winners"]) > size(found["none"]) == 0
    result = RunResult.open(found["winners"])
    best = {rows[0]["spi"] for rows in result.best(1).values()}
    assert set(FCStore.open(found["winners"].whole_store).operators) == best


@WAYS
def test_what_was_not_kept_is_neither_lost_nor_computed_without_need(cohort, tmp_path, settings):
    folder, _, lines = run(cohort, tmp_path / "RUN", settings, "none")
    assert lines[-1].startswith("Removed the matrices of")
    before = tables(folder)
    assert verify_path(folder.path).findings == []
    _, done, lines = run(cohort, tmp_path / "RUN", settings, "none")
    assert done == []
    assert all(line.endswith("done before") for line in lines)
    assert tables(folder) == before
    with pytest.raises(InputError, match="computed, but not kept"):
        folder.whole_matrices.matrices("pec")


@WAYS
def test_a_changed_question_computes_again_what_it_needs(cohort, tmp_path, settings):
    changes = {"permutations": 50}
    folder, _, _ = run(cohort, tmp_path / "RUN", settings, "none")
    run(cohort, tmp_path / "RUN", settings, "none", **changes)
    assert size(folder) == 0
    fresh, _, _ = run(cohort, tmp_path / "FRESH", settings, "all", **changes)
    assert tables(folder) == tables(fresh)


@WAYS
def test_all_brings_everything_back(cohort, tmp_path, settings):
    folder, _, _ = run(cohort, tmp_path / "RUN", settings, "none")
    run(cohort, tmp_path / "RUN", settings, "all")
    fresh, _, _ = run(cohort, tmp_path / "FRESH", settings, "all")
    assert tables(folder) == tables(fresh)
    assert size(folder) == size(fresh)
    assert folder.whole_matrices.not_kept == []
    for name in fresh.whole_matrices.operators:
        mine, theirs = folder.whole_matrices.matrices(name), fresh.whole_matrices.matrices(name)
        assert mine.tobytes() == theirs.tobytes()


KILLED_WHILE_REMOVING = """
import json, os, sys
import sclcs.runs.costs as calibration
import sclcs.runs.check as run_check
from sclcs.run_folder import collect_config
from sclcs.runs import RunResult, carry_out
from sclcs.store import writer

run_check.CALIBRATION_SECONDS = 0.01
calibration._measure_start = lambda *_: calibration.Start(1.0, 1.0, 10**8)
remove, count = writer.remove_from_piece, [0]

def remove_once(*given, **how):
    count[0] += 1
    if count[0] == 2:
        os._exit(9)
    return remove(*given, **how)

writer.remove_from_piece = remove_once
carry_out(collect_config(None, json.loads(sys.argv[1])))
"""


def test_killed_while_it_removes_it_goes_on(cohort, tmp_path):
    asked = {"cohort": str(cohort), "out": str(tmp_path / "RUN"), **EXACT, "keep": "none"}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_REMOVING, json.dumps(asked)],
        env=os.environ,
        check=False,
    )
    assert killed.returncode == 9
    folder = RunFolder(tmp_path / "RUN")
    assert size(folder) > 0
    assert verify_path(folder.path).findings == []
    _, done, _ = run(cohort, tmp_path / "RUN", EXACT, "none")
    assert done == []
    assert size(folder) == 0
    assert tables(folder) == tables(run(cohort, tmp_path / "ALL", EXACT, "all")[0])


def test_the_command_line_says_what_was_not_kept(cohort, tmp_path):
    shell, out = CliRunner(), tmp_path / "RUN"
    command = ["run", str(cohort), "--out", str(out), "--spis", ",".join(EXACT["spis"])]
    command += ["--bootstrap", "20", "--top-k", "1", "--criteria", "none"]
    assert shell.invoke(app, [*command, "--keep", "winners"]).exit_code == 0
    told = shell.invoke(app, ["fc", "status", str(out / "fc.zarr"), "--check"])
    assert told.exit_code == 0, told.output
    assert "The matrices of 2 operators were computed and used, but not kept" in " ".join(
        told.output.split()
    )
    facts = json.loads(shell.invoke(app, ["fc", "status", str(out / "fc.zarr"), "--json"]).output)
    assert (facts["operators"], facts["not_kept"]) == (3, 2)
    wrong = shell.invoke(app, [*command, "--keep", "some"])
    assert wrong.exit_code != 0


def test_compute_fills_in_what_was_not_kept(cohort, tmp_path):
    from sclcs.store import compute_store

    folder, _, _ = run(cohort, tmp_path / "RUN", EXACT, "none")
    compute_store(cohort, folder.whole_store, ["pec"])
    store = FCStore.open(folder.whole_store)
    assert store.operators == ["pec"]
    assert store.matrices("pec").shape == (36, 5, 5)
