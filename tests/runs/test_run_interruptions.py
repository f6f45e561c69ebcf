"""Runs that are killed, stopped, out of space or not alone, and what the next one makes of them."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from kill_script import KILL_IN_EVERY_STAGE
from run_cohorts import SETTINGS, results, small_cohort
from shell_start import start_in_foreground

import sclcs._core.files
from sclcs._core.errors import StoreInUseError, WriteError
from sclcs.run_folder import RunFolder, collect_config
from sclcs.runs import carry_out
from sclcs.runs.stages import run_lock

pytestmark = pytest.mark.usefixtures("quick_plan")

STAGES = ["check", "plan", "select", "compute-core", "rank", "compute-top"]
STAGES += ["confirm", "card", "report"]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return small_cohort().save(tmp_path_factory.mktemp("run") / "c.zarr")


def options(cohort, out, **changes):
    return {"cohort": str(cohort), "out": str(out), **SETTINGS, **changes}


@pytest.mark.slow
def test_killed_in_every_stage_it_ends_with_the_same_files(cohort, tmp_path):
    asked = options(cohort, tmp_path / "RUN")
    done = subprocess.run(
        [sys.executable, "-c", KILL_IN_EVERY_STAGE, json.dumps(asked), *STAGES],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    killed = json.loads(done.stdout)
    assert len(set(killed)) >= 6, killed  # a stage may be over before the killer sees it
    carry_out(collect_config(None, asked))
    assert results(tmp_path / "RUN") == results(tmp_path / "RUN-warm")
    assert not list((tmp_path / "RUN").glob(".*.partial"))
    assert not list((tmp_path / "RUN").glob(".trash-*"))


SLOW_RANKING = """
import sys, time
import sclcs.runs.two_stages as run_rank
import sclcs.runs.costs as calibration
from sclcs.cli.main import main

rank = run_rank.rank

def slow(*arguments, **options):
    time.sleep(20)
    return rank(*arguments, **options)

if __name__ == "__main__":
    run_rank.rank = slow
    calibration._measure_start = lambda *_: calibration.Start(1.0, 1.0, 10**8)
    sys.argv[0] = "sclcs"
    main()
"""


def command(cohort, out):
    return [
        "run",
        cohort,
        "--out",
        out,
        "--spis",
        ",".join(SETTINGS["spis"]),
        "--method",
        "pairs",
        "--ratio",
        "0.5",
        "--bootstrap",
        "20",
        "--top-k",
        "3",
    ]


def start_slow(tmp_path, *arguments):
    """Start `sclcs` with a ranking that takes long, as a shell would."""
    script = tmp_path / "slow_sclcs.py"
    script.write_text(SLOW_RANKING)
    return start_in_foreground(script, *arguments)


def wait_for(out, stage, process):
    """Wait until a stage is at work."""
    while process.poll() is None:
        if RunFolder(out).state_file.exists():
            record = RunFolder(out).state()["stages"].get(stage, {})
            if record.get("status") == "running":
                return
        time.sleep(0.05)
    pytest.fail(process.communicate()[1])


@pytest.mark.slow
def test_ctrl_c_says_where_it_stopped_and_the_same_command_goes_on(cohort, tmp_path):
    out = tmp_path / "RUN"
    process = start_slow(tmp_path, *command(cohort, out))
    wait_for(out, "rank", process)
    # Meanwhile nobody else may work there.
    with pytest.raises(StoreInUseError, match=rf"process {process.pid} on .*, since 20"):
        carry_out(collect_config(None, options(cohort, out)))
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped in stage 5 (Rank them, with intervals); the same command resumes" in errors
    assert "Traceback" not in errors
    folder = RunFolder(out)
    assert folder.state()["stages"]["rank"]["status"] == "stopped"
    assert "stopped by Ctrl-C" in folder.log_file.read_text()
    assert carry_out(collect_config(None, options(cohort, out)))[1] == STAGES[4:]
    carry_out(collect_config(None, options(cohort, tmp_path / "FRESH")))
    assert results(out) == results(tmp_path / "FRESH")


def test_two_runs_at_once_are_refused_with_the_name_of_the_other(cohort, tmp_path):
    folder = RunFolder.create(tmp_path / "RUN")
    with run_lock(folder):
        with pytest.raises(StoreInUseError) as refused:
            carry_out(collect_config(None, options(cohort, folder.path)))
        assert f"process {os.getpid()} on" in str(refused.value)
        assert refused.value.exit_code == 2
        (folder.path / ".lock.json").unlink()
        with pytest.raises(StoreInUseError, match="just begun"):
            carry_out(collect_config(None, options(cohort, folder.path)))
    assert not (folder.path / ".lock.json").exists()


@pytest.mark.parametrize(
    ("file", "number"),
    [
        ("core.csv", errno.EROFS),
        ("core.zarr", errno.ENOSPC),
        ("ranking.json", errno.ENOSPC),
        ("confirmation.json", errno.ENOSPC),
    ],
)
def test_a_disk_that_is_full_or_read_only_costs_nothing_but_time(
    cohort, tmp_path, monkeypatch, file, number
):
    asked = collect_config(None, options(cohort, tmp_path / "RUN"))
    replace = sclcs._core.files.Path.replace
    rename = sclcs._core.files.Path.rename

    def fail(path, target, usual):
        if str(target).endswith(file):
            raise OSError(number, os.strerror(number))
        return usual(path, target)

    monkeypatch.setattr("pathlib.Path.replace", lambda path, to: fail(path, to, replace))
    monkeypatch.setattr("pathlib.Path.rename", lambda path, to: fail(path, to, rename))
    says = {errno.EROFS: "not allowed", errno.ENOSPC: "no space is left"}[number]
    with pytest.raises(WriteError, match=says) as caught:
        carry_out(asked)
    assert "The run stopped in stage" in str(caught.value)
    assert caught.value.exit_code == 2
    monkeypatch.undo()
    redone = carry_out(asked)[1]
    assert "check" not in redone
    assert redone[-1] == "report"


def test_a_place_where_no_folder_can_be_made(cohort, tmp_path):
    (tmp_path / "RUN").write_text("a file")
    with pytest.raises(WriteError, match="a file is there"):
        carry_out(collect_config(None, options(cohort, tmp_path / "RUN")))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder(cohort, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(WriteError, match="not allowed"):
        carry_out(collect_config(None, options(cohort, closed / "RUN")))
