"""The chain of jobs of a run, with a queue of our own: who follows whom, and when it gives up."""

import json
import re
from pathlib import Path

import pytest
from run_cohorts import SETTINGS, results, small_cohort

from sclcs.compute import slurm_batch
from sclcs.core.errors import InputError, StoreInUseError, WorkerDiedError
from sclcs.run_folder import RunFolder, collect_config
from sclcs.runs import carry_out
from sclcs.runs.batch import Chain, chain_status, do_share, watch
from sclcs.runs.batch.drive import drive

pytestmark = pytest.mark.usefixtures("quick_plan")


class Queue:
    """What `sbatch` and `squeue` would do, with jobs that the test starts one by one."""

    def __init__(self):
        self.jobs = {}  # number -> (script, jobs it waits for, whether only if they fail)
        self.sent = 0

    def ask(self, program, *arguments):
        if program == "squeue":
            (names,) = [a.removeprefix("--name=") for a in arguments if a.startswith("--name=")]
            rows = [(number, *self.facts(number)) for number in self.jobs]
            return "".join(
                f"{number}|{name}|PENDING|None\n"
                for number, name, _ in rows
                if name in names.split(",")
            )
        waits = [a.partition(":")[2] for a in arguments if a.startswith("--dependency")]
        failed = any("afternotok" in argument for argument in arguments)
        self.sent += 1
        self.jobs[str(self.sent)] = (Path(arguments[-1]), waits, failed)
        return f"{self.sent};cluster\n"

    def facts(self, number):
        text = self.jobs[number][0].read_text()
        array = re.search(r"--array=1-(\d+)", text)
        return re.search(r"--job-name=(\S+)", text)[1], int(array[1]) if array else None

    def ready(self):
        """Return the first job that waits for nothing which is in the queue."""
        for number, (_, waits, failed) in self.jobs.items():
            if not failed and not any(one in self.jobs for one in waits):
                return number
        return None

    def end(self, number, good=True):
        """Take a job out; a standby of it becomes a driver, or goes."""
        del self.jobs[number]
        for other, (script, waits, failed) in list(self.jobs.items()):
            if failed and waits == [number]:
                if good:
                    del self.jobs[other]
                else:
                    self.jobs[other] = (script, [], False)


@pytest.fixture
def queue(monkeypatch):
    queue = Queue()
    monkeypatch.setattr(slurm_batch, "_ask", queue.ask)
    monkeypatch.setattr(slurm_batch, "require_slurm", lambda: None)
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.0)
    return queue


@pytest.fixture(autouse=True)
def outside_any_job(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return small_cohort().save(tmp_path_factory.mktemp("run") / "c.zarr")


@pytest.fixture
def sent(queue, cohort, tmp_path):
    config = tmp_path / "slurm.yaml"
    config.write_text("shares: 2\nalone_below: 0\n")
    options = {"cohort": str(cohort), "out": str(tmp_path / "RUN"), "on": f"slurm:{config}"}
    folder, stages = carry_out(collect_config(None, {**SETTINGS, **options}), watch=False)
    assert stages == []
    return folder.path


def nothing(number, share):
    return False


def quiet(line):
    pass


def work(queue, path, lost=nothing):
    """Start the jobs of the queue one after another; shares may be lost."""
    while (number := queue.ready()) is not None:
        name, count = queue.facts(number)
        script = queue.jobs[number][0]
        if name.endswith("-run"):
            drive(RunFolder.open(path), quiet)
        else:
            for share in range(1, count + 1):
                if not lost(int(script.parent.name), share):
                    do_share(RunFolder.open(path), int(script.parent.name), share)
        queue.end(number)


def test_it_ends_with_the_files_of_a_local_run(queue, sent, cohort, tmp_path):
    assert len(queue.jobs) == 2  # a driver and its standby
    work(queue, sent, lost=lambda number, share: (number, share) == (1, 2))
    assert chain_status(Chain(RunFolder(sent)))["state"] == "finished"
    assert chain_status(Chain(RunFolder(sent)))["arrays"] == 3
    carry_out(collect_config(None, {**SETTINGS, "cohort": str(cohort), "out": str(tmp_path / "L")}))
    assert results(sent) == results(tmp_path / "L")
    assert queue.jobs == {}
    told = []
    watch.watch_chain(Chain(RunFolder(sent)), told.append)
    # What the shares spent counts for the stage.
    record = RunFolder(sent).state()["stages"]["compute-core"]
    lines = (sent / "jobs" / "001" / "done-1.jsonl").read_text().splitlines()
    assert record["facts"]["kernel_seconds"] >= sum(json.loads(line)["kernel"] for line in lines)


def test_wave_after_wave_it_ends_with_the_tables_of_a_local_run(queue, cohort, tmp_path):
    config = tmp_path / "slurm.yaml"
    config.write_text("shares: 2\nalone_below: 0\n")
    settings = {"cohort": str(cohort), "spis": SETTINGS["spis"], "bootstrap": 20, "top_k": 1}
    settings |= {"keep": "none", "criteria": "none"}
    own = {"out": str(tmp_path / "RUN"), "on": f"slurm:{config}", "disk": "2K"}  # one at a time
    folder = carry_out(collect_config(None, settings | own), watch=False)[0]
    work(queue, folder.path)
    facts = chain_status(Chain(RunFolder(folder.path)))
    assert facts["state"] == "finished"
    assert facts["arrays"] == 3 + 1  # and the winner once more, for the pictures of the report
    carry_out(collect_config(None, settings | {"out": str(tmp_path / "L")}))
    mine, theirs = ((tmp_path / name / "ranking.csv").read_bytes() for name in ("RUN", "L"))
    assert mine == theirs


def test_a_driver_that_is_killed_is_followed_by_its_standby(queue, sent):
    first, standby = queue.jobs
    queue.end(first, good=False)
    assert queue.ready() == standby
    work(queue, sent)
    assert chain_status(Chain(RunFolder(sent)))["state"] == "finished"


def test_a_standby_that_takes_over_has_a_standby_of_its_own(queue, sent, monkeypatch):
    chain = Chain(RunFolder(sent))
    first, second = queue.jobs
    monkeypatch.setenv("SLURM_JOB_ID", first)
    chain.stand_by()
    assert list(queue.jobs) == [first, second]  # it has one
    for number in (second, "3", "4"):  # each is killed when it has begun
        queue.end(next(iter(queue.jobs)), good=False)
        assert queue.ready() == number
        monkeypatch.setenv("SLURM_JOB_ID", number)
        chain.stand_by()
        chain.start()
        assert list(queue.jobs) == [number, str(int(number) + 1)]
    queue.end("4")
    assert queue.jobs == {}  # what is not needed any more goes


def test_the_second_standby_finishes_the_run(queue, sent, monkeypatch):
    def killed(*_, **__):
        raise SystemExit(9)

    first, second = queue.jobs
    queue.end(first, good=False)
    with monkeypatch.context() as patch:
        patch.setenv("SLURM_JOB_ID", second)
        patch.setattr("sclcs.runs.batch.drive.carry_out", killed)
        with pytest.raises(SystemExit):
            drive(RunFolder.open(sent), quiet)
    queue.end(second, good=False)
    work(queue, sent)
    assert chain_status(Chain(RunFolder(sent)))["state"] == "finished"
    assert queue.jobs == {}


def test_a_driver_that_was_killed_before_its_follow_up_sends_no_second_array(queue, sent):
    drive(RunFolder.open(sent), quiet)
    (array,) = Chain(RunFolder(sent)).workers()
    queue.jobs = {array: queue.jobs[array]}
    drive(RunFolder.open(sent), quiet)
    assert chain_status(Chain(RunFolder(sent)))["arrays"] == 1
    followers = [number for number, (_, waits, _) in queue.jobs.items() if waits == [array]]
    assert len(followers) == 1


def test_arrays_that_bring_nothing_end_the_run_with_a_sentence(queue, sent):
    with pytest.raises(WorkerDiedError, match="3 arrays of jobs in a row computed nothing"):
        work(queue, sent, lost=lambda *_: True)
    chain = Chain(RunFolder(sent))
    assert chain.facts.ended == "failed"
    with pytest.raises(WorkerDiedError, match=r"raise `time` or `memory` in .*slurm\.yaml"):
        watch.watch_chain(chain, quiet)
    drive(RunFolder.open(sent), quiet)  # the standby: nothing to do
    assert chain.facts.ended == "failed"


def test_drivers_that_are_killed_again_and_again_end_it_too(queue, sent):
    for _ in range(4):
        Chain(RunFolder(sent)).start()
    with pytest.raises(WorkerDiedError, match="killed 4 times in a row before a stage was done"):
        drive(RunFolder.open(sent), quiet)


def test_jobs_that_somebody_cancelled_are_said(queue, sent):
    queue.jobs.clear()
    with pytest.raises(WorkerDiedError, match=r"somebody has cancelled them\. Run the same"):
        watch.watch_chain(Chain(RunFolder(sent)), quiet)


def test_other_settings_are_refused_while_jobs_are_in_the_queue(queue, sent):
    config = RunFolder(sent).config()
    with pytest.raises(StoreInUseError, match=r"with other settings \(seed\) are in the queue"):
        carry_out(config.model_copy(update={"seed": 5}), watch=False)
    before = dict(queue.jobs)
    carry_out(config, watch=False)
    assert queue.jobs == before


def test_without_slurm_it_says_so(monkeypatch, cohort, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "slurm.yaml").write_text("shares: 2\n")
    options = {"cohort": str(cohort), "out": str(tmp_path / "RUN")}
    options["on"] = f"slurm:{tmp_path / 'slurm.yaml'}"
    with pytest.raises(InputError, match="Expected SLURM on this machine, but sbatch and squeue"):
        carry_out(collect_config(None, {**SETTINGS, **options}))
    assert not (tmp_path / "RUN").exists()
