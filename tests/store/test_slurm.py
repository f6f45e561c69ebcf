"""The SLURM executor with processes of this machine as jobs: what is sent, what is sent again.

On a real SLURM of one node: tests/runs/test_run_on_slurm.py.
"""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from slurm_jobs import begun, note, square
from store_content import OPERATORS, content

from sclcs._core import InputError, NotFoundError, UnreadableFileError, WorkerDiedError
from sclcs.store import SlurmConfig, fill_store, find_executor, open_computation
from sclcs.store.executors import slurm
from sclcs.store.executors.slurm import SlurmExecutor, read_slurm_config

submitit = pytest.importorskip("submitit")

FULL = """
array: 3
max_running: 2
cpus: 4
memory: 2G
time: "00:30:00"
partition: short
account: brains
options: {constraint: skylake, exclusive: true}
setup: ["module() { echo loaded $1; }", module python]
python: /opt/python
"""


class OnThisMachine(SlurmExecutor):
    """Jobs are processes here, started by submitit."""

    cluster = "local"

    def _states(self, running):
        return {
            sent.job.job_id: "RUNNING" if sent.job.state == "RUNNING" else "FAILED"
            for sent in running
        }

    def _cancel(self):
        pass


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(slurm, "POLL_SECONDS", 0.1)
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))  # jobs import slurm_jobs


@pytest.fixture
def executor(tmp_path):
    return OnThisMachine(SlurmConfig(array=3), tmp_path / "fc-slurm")


@pytest.mark.slow
def test_every_item_is_done_once_and_nothing_is_left(executor, tmp_path):
    with executor as who:
        assert sorted(who.run(square, range(10))) == [k * k for k in range(10)]
        assert list(who.run(square, [])) == []
        assert sorted(who.run(square, [7])) == [49]  # the results of before are not taken for it
    assert not (tmp_path / "fc-slurm").exists()


@pytest.mark.slow
def test_a_job_that_is_killed_costs_only_the_item_it_was_at(executor, tmp_path):
    items = [(str(tmp_path), k, "once" if k == 4 else "") for k in range(9)]
    with executor as who:
        assert sorted(who.run(note, items)) == list(range(9))
    assert begun(tmp_path) == sorted([*range(9), 4])


@pytest.mark.slow
def test_an_item_that_kills_every_job_is_named_with_its_log(executor, tmp_path):
    items = [(str(tmp_path), k, "always" if k == 1 else "") for k in range(3)]
    with (
        pytest.raises(WorkerDiedError, match=r"3 SLURM jobs ended before they had done .*'always'"),
        executor as who,
    ):
        list(who.run(note, items))
    assert begun(tmp_path).count(1) == 3
    assert list((tmp_path / "fc-slurm").glob("*.err"))  # logs stay


@pytest.mark.slow
def test_an_error_is_raised_where_somebody_waits_and_at_once(executor, tmp_path):
    items = [(str(tmp_path), k, "raise" if k == 1 else "") for k in range(2)]
    with pytest.raises(ValueError, match="item 1 cannot be done"), executor as who:
        list(who.run(note, items))
    assert begun(tmp_path).count(1) == 1


def test_a_job_that_starts_again_skips_what_it_has_done(tmp_path):
    items = [(k, (str(tmp_path), k, "")) for k in range(3)]
    for _ in range(2):
        slurm._do_share(tmp_path, 1, note, items)
    assert begun(tmp_path) == [0, 1, 2]


@pytest.mark.slow
def test_a_store_has_the_bytes_of_one_process(saved_cohort, undisturbed, tmp_path):
    def start(_argument, store):
        return OnThisMachine(SlurmConfig(array=2), store.with_name("fc-slurm"))

    who = find_executor("local:1")
    who = replace(who, kind=replace(who.kind, start=start))
    computation = open_computation(saved_cohort, tmp_path / "fc", OPERATORS, block_size=2)
    report = fill_store(computation, who)
    assert report.pieces == 64
    assert content(tmp_path / "fc") == content(undisturbed.path)


def test_the_script_asks_for_what_the_configuration_says(tmp_path, monkeypatch):
    config_file = tmp_path / "slurm.yaml"
    config_file.write_text(FULL)
    config = read_slurm_config(config_file)
    sent = []

    def sbatch(self, command):
        sent.append(self._make_submission_file_text(command, "uid"))
        raise submitit.core.utils.FailedJobError("sbatch: error: invalid partition specified")

    monkeypatch.setattr(submitit.SlurmExecutor, "affinity", lambda *_: 2)
    monkeypatch.setattr(submitit.SlurmExecutor, "_submit_command", sbatch)
    monkeypatch.setattr(slurm, "_ask", lambda *_: "")
    with (
        pytest.raises(InputError, match=r"SLURM refused the jobs: .*invalid partition specified"),
        SlurmExecutor(config, tmp_path / "fc-slurm") as who,
    ):
        list(who.run(square, range(9)))
    (text,) = sent
    for line in [
        "#SBATCH --array=0-2%2",
        "#SBATCH --cpus-per-task=4",
        "#SBATCH --mem=2G",
        "#SBATCH --time=00:30:00",
        "#SBATCH --partition=short",
        "#SBATCH --account=brains",
        "#SBATCH --constraint=skylake",
        "#SBATCH --exclusive",
        "module python",
        f"/opt/python -u -m submitit.core._submit {tmp_path / 'fc-slurm'}",
    ]:
        assert line in text.splitlines()
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def test_a_queue_that_is_silent_for_long_ends_the_wait(tmp_path, monkeypatch):
    def nobody(*_):
        raise WorkerDiedError("SLURM does not answer")

    monkeypatch.setattr(slurm, "_ask", nobody)
    monkeypatch.setattr(slurm, "MOST_SILENCES", 2)
    who = SlurmExecutor(SlurmConfig(), tmp_path)
    assert who._ended([]) == who._ended([]) == []
    with pytest.raises(WorkerDiedError, match="does not answer"):
        who._ended([])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("array: 3\nqueue: short", "Unknown key queue; the known ones are array"),
        ("array: 0", "`array` must be an integer of at least 1, got 0"),
        ('time: "1\\n#SBATCH --exclusive"', "one line of text"),
        ("- 1", "Expected `key: value` lines"),
    ],
)
def test_a_wrong_configuration_is_named(tmp_path, text, message):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_slurm_config(path)


def test_what_is_not_yaml_is_named(tmp_path):
    (tmp_path / "c.yaml").write_text("a: [")
    with pytest.raises(UnreadableFileError, match="Expected YAML"):
        read_slurm_config(tmp_path / "c.yaml")
    with pytest.raises(NotFoundError, match="SLURM configuration at"):
        read_slurm_config(tmp_path / "nothing.yaml")


def test_without_slurm_it_says_so(saved_cohort, tmp_path, monkeypatch):
    from sclcs.store import compute_store

    monkeypatch.setenv("PATH", str(tmp_path))
    Path(tmp_path / "slurm.yaml").write_text("array: 2\n")
    with pytest.raises(InputError, match="but sbatch, squeue, scancel cannot be found"):
        compute_store(saved_cohort, tmp_path / "fc", on=f"slurm:{tmp_path / 'slurm.yaml'}")
    assert not (tmp_path / "fc").exists()
