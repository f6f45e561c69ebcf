"""Any cohort that can be simulated goes the whole way, and arrives the same by every road.

Faults sit between rooms: each room is right, and what one hands over is not what the next expects.
Cohorts are drawn at random (the same ones in every run), small enough to be quick.
"""

import contextlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

import sclcs
from sclcs import Cohort, CoreSet, Ranking, simulate_cohort
from sclcs._core import SclcsError
from sclcs.cohort import samples_for
from sclcs.coresets import select
from sclcs.run_folder import RunFolder
from sclcs.runs import RunResult
from sclcs.spi import compute_batch as compute
from sclcs.stats import rank
from sclcs.store import FCStore, compute_store, fill_store, open_computation, share_of

#: Several families; `pdist_cosine` and Pearson are twins, `ccm_E-1` is directed.
OPERATORS = ["pdist_cosine", "pec", "kendalltau", "cov_EmpiricalCovariance", "ccm_E-1_mean"]
QUICK = {"bootstrap": 20, "permutations": 19}
TASKS = ["subject", "diagnosis", "age", "sex", "site"]
METHODS = ["random", "stratified", "pairs", "kmeans"]


def examples(count):
    return settings(max_examples=count, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def cohorts(draw):
    """Any shape of cohort: subjects, windows, sessions, sites, overlap, length."""
    length = draw(st.integers(40, 60))  # in few points a region may only rise
    return simulate_cohort(
        draw(st.integers(4, 12)),
        draw(st.integers(1, 3)),
        draw(st.integers(3, 6)),
        length=length,
        stride=draw(st.sampled_from([length, length // 2, length + 5])),
        tr=draw(st.sampled_from([0.72, 2.0, 3.0])),
        sessions=draw(st.integers(1, 2)),
        sites=draw(st.sampled_from([1, 2, 3, None])),
        seed=draw(st.integers(0, 2**16)),
    )


@pytest.fixture
def new(tmp_path_factory):
    """Return paths that do not exist yet."""
    folder, numbers = tmp_path_factory.mktemp("rooms"), iter(range(10**6))
    return lambda name: folder / f"{next(numbers)}-{name}"


@pytest.fixture(scope="module")
def scheduler():
    """The address of a Dask scheduler with two threads, in this process."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    )
    with contextlib.closing(cluster):
        yield cluster.scheduler_address


def outcome(ask):
    """Return what is asked for, or the sentence that refuses."""
    try:
        return ask()
    except SclcsError as error:
        return str(error)


def expect_same(found, first, *, without=()):
    if isinstance(first, str):
        assert found == first
        return
    tables = [ranking.table.drop(columns=list(without)) for ranking in (found, first)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    assert found.findings == first.findings
    assert found.answer == first.answer


@examples(15)
@given(cohort=cohorts())
def test_a_cohort_is_the_same_after_save_and_open(cohort, new):
    opened = Cohort.open(cohort.save(new("c.zarr")))
    assert opened.fingerprint == cohort.fingerprint
    np.testing.assert_array_equal(np.asarray(opened.signals), np.asarray(cohort.signals))
    pd.testing.assert_frame_equal(opened.samples, cohort.samples)
    assert (opened.regions, opened.tr) == (cohort.regions, cohort.tr)


@examples(6)
@given(cohort=cohorts(), block=st.integers(1, 9))
def test_matrices_are_the_same_by_every_road(cohort, block, new, scheduler):
    expected = compute(np.asarray(cohort.signals), OPERATORS, sample_keys=cohort.sample_ids)
    saved = cohort.save(new("c.zarr"))
    stores = [
        compute_store(cohort, new("memory"), OPERATORS),
        compute_store(saved, new("disk"), OPERATORS, block_size=block),
        compute_store(saved, new("dask"), OPERATORS, on=f"dask:{scheduler}", block_size=block),
        shared_store(saved, new("shares"), block),
    ]
    for store in [*stores, *(FCStore.open(store.path) for store in stores)]:
        assert list(store.sample_ids) == list(cohort.sample_ids)
        for spi in OPERATORS:
            np.testing.assert_array_equal(
                store.matrices(spi),
                expected.sel(spi=spi).to_numpy().astype(np.float32),
                err_msg=spi,
            )


def shared_store(cohort, path, block):
    """Compute a store as three jobs of an array would, the last one first."""
    computation = open_computation(cohort, path, OPERATORS, block_size=block)
    for number in (3, 1, 2):
        fill_store(computation, only=share_of(computation, number, 3))
    return FCStore.open(path)


@examples(3)
@given(cohort=cohorts())
def test_two_processes_compute_the_same_store(cohort, new):
    one = compute_store(cohort, new("one"), OPERATORS, block_size=3)
    two = compute_store(cohort, new("two"), OPERATORS, on="local:2", block_size=3)
    for spi in OPERATORS:
        np.testing.assert_array_equal(one.matrices(spi), two.matrices(spi), err_msg=spi)


@examples(8)
@given(
    cohort=cohorts(),
    task=st.sampled_from(TASKS),
    method=st.sampled_from([None, *METHODS]),
    seed=st.integers(0, 99),
)
def test_a_ranking_is_the_same_by_every_road(cohort, task, method, seed, new):
    cohort = outcome(lambda: samples_for(cohort, task))  # matrices cannot be halved afterwards
    if isinstance(cohort, str):
        return  # scans too short to halve
    coreset = None
    if method is not None:
        try:
            coreset = select(cohort, method, ratio=0.6, seed=seed)
        except SclcsError:
            return  # too small to choose from; that sentences are sentences is tested elsewhere
        again = CoreSet.open(coreset.save(new("core.csv")))
        assert list(again.sample_ids) == list(coreset.sample_ids)
        assert again.fingerprint == coreset.fingerprint
    given_to_all = {"coreset": coreset, "seed": seed, **QUICK}
    first = outcome(lambda: rank(cohort, task, OPERATORS, **given_to_all))
    fc = compute(np.asarray(cohort.signals), OPERATORS, sample_keys=cohort.sample_ids)
    store = compute_store(cohort, new("fc"), OPERATORS)
    opened = Cohort.open(cohort.save(new("c.zarr")))
    roads = [
        lambda: rank(fc, task, OPERATORS, cohort=cohort, **given_to_all),
        lambda: rank(store, task, OPERATORS, **given_to_all),
        lambda: rank(FCStore.open(store.path), task, OPERATORS, **given_to_all),
        lambda: rank(opened, task, OPERATORS, n_jobs=2, **given_to_all),
    ]
    # A store judges an operator on all samples it has, a cohort computes the core-set's only.
    without = ["reason"] if coreset else []
    for road in roads:
        expect_same(outcome(road), first, without=without)
    if isinstance(first, Ranking):
        expect_same(Ranking.open(first.save(new("ranking.csv"))), first)


@examples(4)
@given(cohort=cohorts(), task=st.sampled_from(["diagnosis", "subject"]), seed=st.integers(0, 9))
@example(
    cohort=simulate_cohort(10, 2, 4, length=30, stride=30, sites=1, seed=1), task="subject", seed=0
)
def test_a_run_says_what_its_parts_say(cohort, task, seed, new, quick_plan):
    saved, out = cohort.save(new("c.zarr")), new("run")
    asked = {"task": task, "spis": OPERATORS, "seed": seed, **QUICK}
    result = outcome(lambda: sclcs.run(saved, out=out, **asked))
    if isinstance(result, str):
        direct = outcome(lambda: rank(cohort, task, OPERATORS, seed=seed, **QUICK))
        refused = isinstance(direct, str) or direct.table["score"].isna().all()
        assert refused, f"the parts can do what the run refuses: {result}"
        return
    ranking = result.confirmed.get(task) or result.rankings[task]
    direct = rank(cohort, task, list(ranking.table["spi"]), seed=seed, **QUICK)
    pd.testing.assert_series_equal(
        ranking.table.set_index("spi")["score"].sort_index(),
        direct.table.set_index("spi")["score"].sort_index(),
    )
    opened = RunResult.open(out)
    for name, mine in result.rankings.items():
        expect_same(opened.rankings[name], mine)
    expect_same_again(saved, out, asked, result)
    page = result.report.read_text(encoding="utf-8")
    assert direct.table["spi"].iloc[0] in page


def expect_same_again(saved, out, asked, result):
    """Ask a second time: nothing is computed again, and nothing changes."""
    before = {path: path.stat().st_mtime_ns for path in RunFolder(out).path.rglob("*.csv")}
    again = sclcs.run(saved, out=out, **asked)
    for name, mine in result.rankings.items():
        expect_same(again.rankings[name], mine)
    assert {path: path.stat().st_mtime_ns for path in before} == before
