"""A real Dask scheduler and worker processes on this machine."""

import os
import signal

import pytest
from dask_cluster import Cluster
from store_content import OPERATORS, content

from sclcs._core import InputError, WorkerDiedError
from sclcs.store import fill_store, find_executor, open_computation
from sclcs.store.executors import dask as dask_executor

distributed = pytest.importorskip("distributed")


@pytest.fixture
def cluster(tmp_path):
    found = Cluster(tmp_path)
    yield found
    found.close()


@pytest.mark.slow
def test_a_killed_worker_loses_nothing_and_nothing_is_done_twice(
    cluster, saved_cohort, undisturbed, tmp_path, monkeypatch
):
    victim, _ = cluster.add_worker(), cluster.add_worker()
    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    out = tmp_path / "fc"
    computation = open_computation(saved_cohort, out, OPERATORS, block_size=2)
    reported = []

    def kill_in_the_middle(report):
        reported.append(report.piece)
        if len(reported) == 10:
            os.kill(victim.pid, signal.SIGKILL)

    real = dask_executor.DaskExecutor.run

    def watched(self, function, items):
        for report in real(self, function, items):
            kill_in_the_middle(report)
            yield report

    monkeypatch.setattr(dask_executor.DaskExecutor, "run", watched)
    who = find_executor(f"dask:{cluster.address}")
    done = fill_store(computation, who)
    assert victim.poll() is not None or victim.wait(10) is not None
    assert done.pieces == len(reported) == len(set(reported)) == 64
    assert fill_store(computation, who).pieces == 0
    assert content(out) == content(undisturbed.path)


def test_a_scheduler_that_is_not_there_is_a_clear_error(saved_cohort, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_executor, "SECONDS_TO_CONNECT", 0.5)
    computation = open_computation(saved_cohort, tmp_path / "fc", "pec")
    with pytest.raises(InputError, match="No Dask scheduler answers at tcp://127"):
        fill_store(computation, find_executor("dask:tcp://127.0.0.1:9"))


@pytest.mark.slow
def test_a_scheduler_without_workers_is_a_clear_error(cluster, saved_cohort, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_executor, "SECONDS_TO_CONNECT", 5)
    computation = open_computation(saved_cohort, tmp_path / "fc", "pec")
    with pytest.raises(InputError, match="has no workers; start some"):
        fill_store(computation, find_executor(f"dask:{cluster.address}"))


@pytest.mark.slow
def test_a_lost_scheduler_is_a_clear_error_and_the_work_goes_on(
    cluster, saved_cohort, undisturbed, tmp_path, monkeypatch
):
    worker = cluster.add_worker()
    out = tmp_path / "fc"
    computation = open_computation(saved_cohort, out, OPERATORS, block_size=2)
    real = dask_executor.DaskExecutor.run

    def losing(self, function, items):
        for number, report in enumerate(real(self, function, items)):
            if number == 3:
                cluster.scheduler.kill()
            yield report

    monkeypatch.setattr(dask_executor.DaskExecutor, "run", losing)
    with pytest.raises(WorkerDiedError, match=r"scheduler at .* was lost; no finished work is"):
        fill_store(computation, find_executor(f"dask:{cluster.address}"))
    rest = fill_store(computation)
    assert 0 < rest.pieces < 64
    # The worker outlives the scheduler for a while; what it still writes is put in its place, by
    # itself or, if it ends before that, by the next call.
    worker.wait(60)
    assert fill_store(computation).pieces == 0
    assert content(out) == content(undisturbed.path)


@pytest.mark.parametrize(
    ("items", "threads", "sizes"),
    [(5, 2, {1}), (64, 1, {8}), (10_000, 4, {16}), (100, 2, {6, 4}), (0, 3, set())],
)
def test_batches_hold_everything_once_and_keep_all_threads_busy(items, threads, sizes):
    batches = list(dask_executor._batches(list(range(items)), threads))
    assert [item for batch in batches for item in batch] == list(range(items))
    assert {len(batch) for batch in batches} == sizes
