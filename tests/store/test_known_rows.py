"""Matrices that another store of the cohort holds are copied, and are the same."""

import numpy as np
import pytest
from store_content import content

from sclcs import simulate_cohort
from sclcs.cohort import Cohort
from sclcs.spi import catalogue, engine as runner
from sclcs.spi.versions import FAMILY_VERSIONS
from sclcs.store import compute_store, fill_store, open_computation
from store_damage import flip_chunk

# One operator of every family, with those that draw random numbers.
TABLE = catalogue()
EVERY_FAMILY = [
    *TABLE[TABLE["implemented"]].groupby("family").head(1).index,
    *TABLE[TABLE["implemented"] & ~TABLE["deterministic"]].index,
]
SOME = ["cov_EmpiricalCovariance", "prec_OAS", "cov_MinCovDet", "pec", "pec_orth"]
CORE = ["s20", "s03", "s11", "s12", "s30"]


@pytest.fixture
def core(saved_cohort, tmp_path):
    return compute_store(saved_cohort, tmp_path / "core", SOME, coreset=CORE, block_size=2)


def fill(cohort, path, operators, *known, **options):
    return fill_store(open_computation(cohort, path, operators, **options), known=known)


@pytest.fixture
def alone(saved_cohort, tmp_path):
    return compute_store(saved_cohort, tmp_path / "alone", SOME, block_size=4)


def test_only_what_is_not_known_is_computed_and_the_bytes_are_the_same(
    saved_cohort, core, alone, tmp_path
):
    report = fill(saved_cohort, tmp_path / "fc", SOME, core, block_size=4)
    assert report.matrices == len(SOME) * (31 - len(CORE))
    assert content(report.store.path) == content(alone.path)
    table = report.store.status()
    known = core.status()["seconds"]
    np.testing.assert_allclose(table["copied_seconds"], known[table.index])
    assert (table["seconds"] >= table["copied_seconds"]).all()


def test_a_core_set_of_known_operators_computes_nothing(saved_cohort, alone, core, tmp_path):
    report = fill(saved_cohort, tmp_path / "fc", SOME, alone, coreset=CORE, block_size=2)
    assert report.matrices == report.kernel_seconds == 0
    assert content(report.store.path) == content(core.path)


def test_operators_may_be_known_on_different_samples(saved_cohort, alone, tmp_path):
    first = compute_store(saved_cohort, tmp_path / "a", SOME[:2], coreset=CORE[:3])
    second = compute_store(saved_cohort, tmp_path / "b", SOME[1:4], coreset=CORE[2:])
    report = fill(saved_cohort, tmp_path / "fc", SOME, first, second, block_size=4)
    assert content(report.store.path) == content(alone.path)
    # Of two stores that know an operator, the first that has a sample of the block serves.
    copied = 3 + (3 + 2) + 3 + 3
    assert report.matrices == 31 * len(SOME) - copied


@pytest.mark.parametrize("seed", [0, 5])
def test_other_seeds_and_versions_are_computed(saved_cohort, core, tmp_path, seed, monkeypatch):
    report = fill(saved_cohort, tmp_path / "fc", SOME, core, seed=seed)
    random = 0 if seed == 0 else len(CORE)
    assert report.matrices == len(SOME) * (31 - len(CORE)) + random
    newer = {**FAMILY_VERSIONS, "envelope": 2}
    monkeypatch.setattr("sclcs.spi.versions.FAMILY_VERSIONS", newer)
    later = fill(saved_cohort, tmp_path / "later", SOME, core)
    assert later.matrices == len(SOME) * (31 - len(CORE)) + 2 * len(CORE)


def test_forced_work_copies_nothing(saved_cohort, core, tmp_path):
    report = fill(saved_cohort, tmp_path / "fc", SOME, core, force=True)
    assert report.matrices == len(SOME) * 31


def test_a_damaged_or_unfinished_source_is_no_source(saved_cohort, core, alone, tmp_path):
    flip_chunk(core, "pec", 0)
    core.layout.piece_file("covariance", 0).unlink()
    report = fill(saved_cohort, tmp_path / "fc", SOME, core, block_size=4)
    assert content(report.store.path) == content(alone.path)
    assert report.matrices > len(SOME) * (31 - len(CORE))


def test_a_store_of_another_cohort_is_no_source(saved_cohort, tmp_path):
    other = Cohort.open(saved_cohort).load()
    changed = Cohort(np.asarray(other.signals)[:, :, ::-1], other.samples)
    known = compute_store(changed, tmp_path / "other", "pec")
    assert fill(saved_cohort, tmp_path / "fc", "pec", known).matrices == 31


def test_why_an_operator_failed_is_copied_too(saved_cohort, tmp_path, monkeypatch):
    family = runner.load_family("envelope")
    real = family.compute

    def fail(signals, members, context):
        if "pec_orth" in members:
            raise RuntimeError("broken on purpose")
        return real(signals, members, context)

    with monkeypatch.context() as patch:
        patch.setattr(family, "compute", fail)
        known = compute_store(saved_cohort, tmp_path / "core", ["pec", "pec_orth"], coreset=CORE)
    store = fill(saved_cohort, tmp_path / "fc", ["pec", "pec_orth"], known).store
    table = store.sample_status().set_index(["spi", "sample"]).loc["pec_orth"]
    failed = table[table["status"] == "failed"]
    assert sorted(failed.index) == sorted(CORE)
    assert set(failed["reason"]) == {"RuntimeError: broken on purpose"}
    assert np.isnan(store.matrices("pec_orth", [3])).all()
    assert np.isfinite(store.matrices("pec_orth", [4])).any()


@pytest.mark.slow
def test_whichever_samples_are_known_every_family_gives_the_same_bytes(tmp_path):
    """A sample's matrix does not depend on the samples it is computed with."""
    cohort = simulate_cohort(4, 2, 5, length=60, stride=30, seed=3).save(tmp_path / "c.zarr")
    some = Cohort.open(cohort).sample_ids[1::3]
    whole = compute_store(cohort, tmp_path / "whole", EVERY_FAMILY)
    core = compute_store(cohort, tmp_path / "core", EVERY_FAMILY, coreset=some)
    report = fill(cohort, tmp_path / "fc", EVERY_FAMILY, core)
    assert report.matrices == len(set(EVERY_FAMILY)) * (8 - len(some))
    assert content(report.store.path) == content(whole.path)
