"""One contract for every place that matrices come from: array, store, cohort."""

import numpy as np
import pandas as pd
import pytest

import sclcs
from sclcs.cohort.coreset import CoreSet
from sclcs.spi import compute_batch as compute
from sclcs.spi.versions import operator_version
from sclcs.stats import rank
from sclcs.stats.sources import ArraySource, CohortSource
from sclcs.store import compute_store

RANDOM = "cov_MinCovDet"
OPERATORS = ["kendalltau", RANDOM, "pec_orth"]


@pytest.fixture(scope="module")
def cohort():
    return sclcs.simulate_cohort(5, 3, 6, length=40, seed=4)


@pytest.fixture(scope="module")
def failing_cohort(cohort):
    """One region of one sample is constant: every operator lacks values there."""
    signals = np.array(cohort.signals)
    signals[4, 2] = 1.5
    return sclcs.Cohort(signals, cohort.samples, cohort.regions, cohort.tr)


@pytest.fixture(params=["array", "store", "cohort"])
def make_source(request, tmp_path):
    def make(cohort, operators, seed=0):
        if request.param == "array":
            fc = compute(np.asarray(cohort.signals), operators, seed=seed)
            return ArraySource.from_dataarray(fc, cohort)
        if request.param == "cohort":
            return CohortSource(cohort, operators, seed=seed)
        return compute_store(cohort, tmp_path / "fc", operators, seed=seed, block_size=4)

    return make


def test_matrices_are_those_of_the_engine(make_source, cohort):
    source = make_source(cohort, OPERATORS)
    expected = compute(np.asarray(cohort.signals), OPERATORS).astype(np.float32)
    for spi in OPERATORS:
        np.testing.assert_array_equal(source.matrices(spi), expected.sel(spi=spi).to_numpy())
        rows = np.array([7, 0, 11])
        np.testing.assert_array_equal(source.matrices(spi, rows), source.matrices(spi)[rows])
        assert source.version(spi) == operator_version(spi)
        assert source.reason(spi) == ""
    assert list(source.sample_ids) == cohort.sample_ids
    pd.testing.assert_frame_equal(source.samples, cohort.samples)


def test_a_new_seed_changes_the_random_operators_only(make_source, cohort, tmp_path):
    source = make_source(cohort, OPERATORS, seed=1)
    old = compute(np.asarray(cohort.signals), OPERATORS).astype(np.float32)
    same = [np.array_equal(source.matrices(n), old.sel(spi=n), equal_nan=True) for n in OPERATORS]
    assert same == [True, False, True]


def test_reasons_reach_the_source_and_the_ranking(make_source, failing_cohort):
    source = make_source(failing_cohort, OPERATORS)
    source.matrices("kendalltau")
    assert source.reason("kendalltau").startswith("constant region 2")
    table = rank(source, "subject", OPERATORS).table
    assert set(table["status"]) == {"not-finite"}
    assert table["reason"].str.contains(r"1 of 15 samples .* \(constant region 2", regex=True).all()


def test_rankings_are_equal_whatever_the_source(make_source, cohort):
    by_source = rank(make_source(cohort, OPERATORS), "diagnosis", OPERATORS, bootstrap=20, seed=0)
    by_cohort = rank(cohort, "diagnosis", OPERATORS, bootstrap=20, seed=0)
    pd.testing.assert_frame_equal(by_source.table, by_cohort.table)


def test_core_sets_are_equal_whatever_the_source(make_source, cohort):
    core = CoreSet(cohort.sample_ids[1:12])
    by_source = rank(make_source(cohort, OPERATORS), "subject", OPERATORS, core)
    pd.testing.assert_frame_equal(by_source.table, rank(cohort, "subject", OPERATORS, core).table)
