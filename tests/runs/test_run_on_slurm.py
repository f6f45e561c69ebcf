"""``--on slurm:...`` on a real SLURM of one node, which this file starts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_cohorts import SETTINGS, everything, results, small_cohort
from test_budgeted import SETTINGS as BUDGETED, groups

from sclcs.run_folder import collect_config
from sclcs.runs import RunResult, carry_out
from sclcs.store.executors import slurm as slurm_executor

pytest.importorskip("submitit")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_plan")]

START = Path(__file__).resolve().parents[2] / "tools" / "one_node_slurm.sh"
# The first job hangs until SLURM ends it (a minute is the shortest limit there is), the second is
# killed before it begins, the third some seconds later.
ACCIDENTS = """
setup:
  - first() {{ mkdir {place}/$1 2> /dev/null; }}
  - if first slow; then sleep 300; elif first killed; then kill -9 $$; fi
  - if first later; then (sleep 3; kill -9 $$) & fi
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Start SLURM and let this process talk to it."""
    folder = tmp_path_factory.mktemp("slurm")
    started = subprocess.run(
        [START, "start", folder], capture_output=True, text=True, check=False, timeout=120
    )
    if started.returncode == 3:
        pytest.skip(f"EXTRA CHECK LOST: {started.stderr.strip()}")
    assert started.returncode == 0, started.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        patch.setattr(slurm_executor, "POLL_SECONDS", 1.0)
        yield folder
        subprocess.run(["scancel", "--user=root"], check=False)
        subprocess.run([START, "stop", folder], check=True)


def write_yaml(folder, text=""):
    path = folder / "slurm.yaml"
    path.write_text(f'array: 2\nmemory: 1G\ntime: "00:01:00"\n{text}')
    return path


def asked(cohort, out, **changes):
    return {"cohort": str(cohort), "out": str(out), **changes}


def queue():
    asks = ["squeue", "--noheader", "--format=%j"]
    return subprocess.run(asks, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return small_cohort().save(tmp_path_factory.mktemp("run") / "c.zarr")


@pytest.fixture(scope="module")
def local(cohort, tmp_path_factory):
    """Return what a run on this machine finds."""
    out = tmp_path_factory.mktemp("local") / "LOCAL"
    carry_out(collect_config(None, asked(cohort, out, **SETTINGS)))
    return results(out)


@pytest.mark.timeout(900)
def test_killed_and_out_of_time_it_ends_with_the_files_of_a_local_run(
    slurm, cohort, local, tmp_path, caplog
):
    place = tmp_path / "accidents"
    place.mkdir()
    config = write_yaml(tmp_path, ACCIDENTS.format(place=place))
    settings = asked(cohort, tmp_path / "RUN", on=f"slurm:{config}", **SETTINGS)
    folder, stages = carry_out(collect_config(None, settings))
    assert [stages[0], stages[-1]] == ["check", "report"]
    assert {"killed", "slow"} <= {path.name for path in place.iterdir()}
    assert caplog.text.count("the rest is sent again") >= 2
    assert results(folder.path) == local
    assert not list(folder.path.glob("*-slurm"))  # jobs and logs go when all is done
    assert carry_out(collect_config(None, settings))[1] == []


@pytest.mark.timeout(900)
def test_a_killed_command_resumes_and_ends_the_jobs_it_left(slurm, cohort, local, tmp_path):
    held = tmp_path / "held"
    held.touch()
    config = write_yaml(tmp_path, f"setup: ['while [ -e {held} ]; do sleep 0.2; done']\n")
    out = tmp_path / "RUN"
    options = ["--spis", ",".join(SETTINGS["spis"]), "--method", "pairs", "--ratio", "0.5"]
    options += ["--bootstrap", "20", "--top-k", "3", "--on", f"slurm:{config}"]
    command = [sys.executable, "-m", "sclcs", "run", str(cohort), "--out", str(out), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(set(queue())) == 0:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.5)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (left,) = set(queue())
    held.unlink()
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert left.startswith("sclcs-")
    assert queue() == []
    assert results(out) == local


@pytest.mark.timeout(900)
def test_a_budgeted_run_buys_the_same_and_is_done_once(slurm, tmp_path):
    config = write_yaml(tmp_path)
    cohort = groups().save(tmp_path / "c.zarr")
    settings = asked(cohort, tmp_path / "RUN", on=f"slurm:{config}", **BUDGETED)
    folder = carry_out(collect_config(None, settings))[0]
    carry_out(collect_config(None, asked(cohort, tmp_path / "LOCAL", **BUDGETED)))
    assert everything(folder.path) == everything(tmp_path / "LOCAL")
    assert RunResult.open(folder).report.exists()
