"""Runs that are killed, interrupted or out of space, and what the next run makes of them."""

import os
import signal
import subprocess
import sys
import time

import pytest
from shell_start import start_in_foreground
from store_content import OPERATORS, content

from sclcs.store.fc_store import FCStore

# One process loads the operators once; its children are killed while they compute.
KILL_MANY_TIMES = """
import os, random, signal, sys, time
import google_crc32c, numcodecs.zstd, zarr  # else every child would begin with these
from sclcs.spi import warm_up
from sclcs.store import compute_store

cohort, out, seconds, *operators = sys.argv[1:]
warm_up(operators, 60)
draw = random.Random(5)
kills = 0
while True:
    child = os.fork()
    if child == 0:
        compute_store(cohort, out, operators, block_size=2)
        os._exit(0)
    # Longer and longer: a busy machine may need more than the first delays to do anything.
    time.sleep(draw.uniform(0, float(seconds) * 1.05**kills))
    if os.waitpid(child, os.WNOHANG)[0]:
        break
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    kills += 1
print(kills)
"""


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes(saved_cohort, undisturbed, tmp_path):
    out = tmp_path / "fc"
    done = subprocess.run(
        [sys.executable, "-c", KILL_MANY_TIMES, saved_cohort, out, "0.05", *OPERATORS],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) >= 5, done.stderr
    assert content(out) == content(undisturbed.path)
    assert FCStore.open(out).verify() == []


def command(cohort, out, *options):
    spis = ",".join(OPERATORS)
    return [
        sys.executable,
        "-m",
        "sclcs",
        "compute",
        cohort,
        "--out",
        out,
        "--spis",
        spis,
        *options,
    ]


def wait_for_records(out, count, process):
    """Wait until some pieces are done."""

    def done():
        return len(list(out.glob("matrices/*/c.*")))

    while process.poll() is None and done() < count:
        time.sleep(0.01)


SLOW_PIECES = """
import sys, time
from sclcs.cli.main import main
from sclcs.store import compute_store, fill, work

def slow(order):
    time.sleep(0.2)
    return work.do_piece(order)

if __name__ == "__main__":
    fill.do_piece = slow
    sys.argv[0] = "sclcs"
    main()
"""


def start_slow(tmp_path, *arguments):
    """Start `sclcs` with slowed pieces, as the leader of its own group, as a shell would."""
    script = tmp_path / "slow_sclcs.py"
    script.write_text(SLOW_PIECES)
    return start_in_foreground(script, *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_says_how_to_resume_and_the_same_command_does(saved_cohort, tmp_path, jobs):
    out = tmp_path / "fc"
    options = command(saved_cohort, out, "--on", f"local:{jobs}")[3:]
    process = start_slow(tmp_path, *options)
    wait_for_records(out, 2, process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert f"safe in {out}; run the same command again" in err
    assert "Traceback" not in err
    left = FCStore.open(out).missing()
    assert len(left) > 0
    done = subprocess.run(
        command(saved_cohort, out, "--json"), capture_output=True, text=True, check=True
    )
    assert f'"tasks": {len(left)}' in done.stdout
    assert FCStore.open(out).missing(check=True) == []


@pytest.mark.slow
def test_processes_killed_with_their_parent_lose_nothing(saved_cohort, tmp_path):
    out = tmp_path / "fc"
    options = command(saved_cohort, out, "--on", "local:2")[3:]
    process = start_slow(tmp_path, *options)
    wait_for_records(out, 2, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    subprocess.run(command(saved_cohort, out), capture_output=True, check=True)
    assert FCStore.open(out).missing(check=True) == []


KILLED_WORKER = """
import os, signal, sys
from sclcs.store import compute_store, fill, work
from sclcs._core import WorkerDiedError

def die_once(order):
    if order.piece.block == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return work.do_piece(order)

if __name__ == "__main__":
    fill.do_piece = die_once
    try:
        compute_store(sys.argv[1], sys.argv[2], "cov_OAS", on="local:2", block_size=2)
    except WorkerDiedError as error:
        print(error)
"""


WORKERS_THAT_WAIT = """
import os, sys, time
from sclcs.store.executors.local import LocalExecutor

def wait(folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(300)

for _ in LocalExecutor(2).run(wait, [sys.argv[1]] * 4):
    pass
"""


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", WORKERS_THAT_WAIT, tmp_path], stdout=subprocess.PIPE
    )
    while len(list(tmp_path.iterdir())) < 2:
        assert parent.poll() is None
        time.sleep(0.05)
    parent.kill()
    # Workers hold the output open: it ends when the last of them has ended.
    parent.communicate(timeout=60)


@pytest.mark.slow
def test_a_killed_worker_is_a_clear_error(saved_cohort, tmp_path):
    out = tmp_path / "fc"
    script = tmp_path / "killed_worker.py"
    script.write_text(KILLED_WORKER)
    done = subprocess.run(
        [sys.executable, script, saved_cohort, out], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("A worker process was killed"), done.stderr
    assert 0 < len(FCStore.open(out).missing()) < 16


FULL_DISK = """
import resource, signal, sys
from sclcs.spi import warm_up
from sclcs.store import fill_store, open_computation
operators = sys.argv[4:]
warm_up(operators, 60)
computation = open_computation(sys.argv[1], sys.argv[2], operators, block_size=31)
computation.make_room()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    fill_store(computation)
except OSError as error:
    print(type(error).__name__, error)
"""


def test_a_full_disk_is_a_clear_error_and_the_next_run_goes_on(saved_cohort, tmp_path):
    out = tmp_path / "fc"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, saved_cohort, out, "3000", "cov_OAS", "tlmi_gaussian"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("WriteError Could not write"), done.stdout + done.stderr
    assert "no space is left" in done.stdout
    store = FCStore.open(out)
    assert store.missing()
    assert not list(out.rglob("*.partial"))
    from sclcs.store import compute_store

    compute_store(saved_cohort, out, ["cov_OAS", "tlmi_gaussian"])
    assert store.missing(check=True) == []
