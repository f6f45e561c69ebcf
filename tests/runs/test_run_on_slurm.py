"""``sclcs run --on slurm:...`` on a real SLURM of one node, which this file starts."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_cohorts import SETTINGS, results, small_cohort
from test_budgeted import SETTINGS as BUDGETED
from test_budgeted import everything, groups

from sclcs.run_folder import RunFolder, collect_config
from sclcs.runs import RunResult, carry_out
from sclcs.runs.batch import Chain, chain_status, watch

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_plan")]

START = Path(__file__).resolve().parents[2] / "tools" / "one_node_slurm.sh"
# The first share hangs until SLURM ends it (a minute is the shortest limit there is), the second
# is killed at once, the first driver some seconds after it has begun to work, and its standby when
# it has sent one of its own.
ACCIDENTS = """
setup:
  - first() {{ [[ $SLURM_JOB_NAME == *-$1 ]] && mkdir {place}/$2 2> /dev/null; }}
  - alone() {{ [ $(squeue --noheader --name=$SLURM_JOB_NAME | wc -l) -lt 2 ]; }}
  - if first run driver; then (sleep 5; kill -9 $$) &
  - elif first run standby; then (while alone; do sleep 0.5; done; kill -9 $$) & fi
  - if first work slow; then sleep 300; fi
  - if first work killed; then kill -9 $$; fi
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
        patch.setattr(watch, "POLL_SECONDS", 1.0)
        yield folder
        subprocess.run(["scancel", "--user=root"], check=False)
        subprocess.run([START, "stop", folder], check=True)


def write_yaml(folder, text=""):
    path = folder / "slurm.yaml"
    times = 'time: "00:01:00"\ndriver_time: "00:10:00"\n'  # the shares may run out of it
    path.write_text(f"shares: 2\nmemory: 1G\n{times}alone_below: 0\n{text}")
    return path


def asked(cohort, out, **changes):
    return {"cohort": str(cohort), "out": str(out), **changes}


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return small_cohort().save(tmp_path_factory.mktemp("run") / "c.zarr")


@pytest.mark.timeout(900)
def test_killed_and_out_of_time_it_ends_with_the_files_of_a_local_run(slurm, cohort, tmp_path):
    place = tmp_path / "accidents"
    place.mkdir()
    config = write_yaml(tmp_path, ACCIDENTS.format(place=place))
    settings = asked(cohort, tmp_path / "RUN", on=f"slurm:{config}", **SETTINGS)
    folder, stages = carry_out(collect_config(None, settings))
    assert [stages[0], stages[-1]] == ["check", "report"]
    assert sorted(path.name for path in place.iterdir()) == ["driver", "killed", "slow", "standby"]
    carry_out(collect_config(None, asked(cohort, tmp_path / "LOCAL", **SETTINGS)))
    assert results(folder.path) == results(tmp_path / "LOCAL")
    chain = Chain(folder)
    ends = "".join(log.read_text() for log in chain.round_folder(1).glob("*.log"))
    assert "DUE TO TIME LIMIT" in ends
    facts = chain_status(chain)
    assert facts["state"] == "finished"
    # Two stages compute, and what was lost of the first was sent again.
    assert facts["arrays"] == 3


@pytest.mark.timeout(900)
def test_a_budgeted_run_buys_the_same_and_is_done_once(slurm, tmp_path):
    config = write_yaml(tmp_path)
    cohort = groups().save(tmp_path / "c.zarr")
    settings = asked(cohort, tmp_path / "RUN", on=f"slurm:{config}", **BUDGETED)
    folder = carry_out(collect_config(None, settings))[0]
    carry_out(collect_config(None, asked(cohort, tmp_path / "LOCAL", **BUDGETED)))
    assert everything(folder.path) == everything(tmp_path / "LOCAL")
    assert RunResult.open(folder).report.exists()
    arrays = chain_status(Chain(folder))["arrays"]
    assert arrays >= 3  # the panel, the core-set, what was bought
    assert carry_out(collect_config(None, settings))[1] == []
    assert chain_status(Chain(folder))["arrays"] == arrays


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "sclcs", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_detached_cancelled_and_sent_again(slurm, cohort, tmp_path):
    held, out = tmp_path / "held", tmp_path / "RUN"
    held.touch()
    config = write_yaml(tmp_path, f"setup: ['while [ -e {held} ]; do sleep 0.2; done']\n")
    options = ["--out", out, "--spis", ",".join(SETTINGS["spis"]), "--method", "pairs"]
    options += ["--ratio", "0.5", "--bootstrap", "20", "--top-k", "3", "--until", "check"]
    sent = command("run", cohort, *options, "--on", f"slurm:{config}", "--detach")
    assert sent.returncode == 0, sent.stderr
    assert "says how far they are" in sent.stdout
    status = json.loads(command("status", out, "--json").stdout)
    assert status["jobs"]["state"] == "in the queue"
    assert {job["name"] for job in status["jobs"]["jobs"]} == {Chain(RunFolder(out)).driver}
    other = command("run", cohort, *options, "--seed", "3", "--on", f"slurm:{config}", "--detach")
    assert other.returncode == 2
    assert "with other settings (seed) are in the queue" in other.stderr
    subprocess.run(status["jobs"]["stop"], shell=True, check=True)  # noqa: S602
    deadline = time.monotonic() + 60
    while chain_status(Chain(RunFolder(out)))["jobs"]:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    watched = command("status", out, "--watch")
    assert watched.returncode == 2
    assert "somebody has cancelled them. Run the same command again" in watched.stderr
    held.unlink()
    again = command("run", cohort, *options, "--on", f"slurm:{config}")
    assert again.returncode == 0, again.stderr
    assert "Stopped after check, as asked" in again.stdout
    assert "finished" in command("status", out).stdout
