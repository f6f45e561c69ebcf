"""Samples for the question: halves of scans where fingerprinting has nothing else to compare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sclcs import Cohort
from sclcs._core import InputError
from sclcs.cohort import samples_for
from sclcs.stats import rank

LENGTHS = [60, 81, 70, 95, 64, 77]
QUICK = {"bootstrap": 20, "permutations": 20}


def _whole_scans(**columns: list[object]) -> Cohort:
    rng = np.random.default_rng(0)
    signals = np.full((len(LENGTHS), 5, max(LENGTHS)), np.nan, dtype=np.float32)
    for row, length in enumerate(LENGTHS):
        mixing = np.random.default_rng(row).normal(size=(5, 5))
        signals[row, :, :length] = mixing @ rng.normal(size=(5, length))
    table = pd.DataFrame(
        {"subject": list("abcdef"), "window": 0, "n_timepoints": LENGTHS, **columns},
        index=[f"{name}-scan" for name in "abcdef"],
    )
    return Cohort(signals, table, tr=2.0)


@pytest.mark.parametrize("stored", [False, True])
def test_halves_are_the_two_ends_of_every_scan(stored: bool, tmp_path: Path) -> None:
    whole = _whole_scans()
    signals = np.asarray(whole.signals)
    if stored:
        whole = Cohort.open(whole.save(tmp_path / "whole.zarr"))
    halves = whole.halves()
    assert halves.sample_ids[:4] == [
        "a-scan_half-1", "a-scan_half-2", "b-scan_half-1", "b-scan_half-2",
    ]  # fmt: skip
    assert halves.lengths.tolist() == [length // 2 for length in LENGTHS for _ in (0, 1)]
    assert halves.samples["start"].tolist()[:4] == [0, 30, 0, 41]
    np.testing.assert_array_equal(halves.signals[2][:, :40], signals[1, :, :40])
    np.testing.assert_array_equal(halves.signals[3][:, :40], signals[1, :, 41:81])
    again = Cohort.open(halves.save(tmp_path / "halves.zarr"))
    assert again.fingerprint == halves.fingerprint
    np.testing.assert_array_equal(np.asarray(again.signals), np.asarray(halves.signals))


def test_halves_of_a_stored_subset_and_of_halves(tmp_path: Path) -> None:
    whole = Cohort.open(_whole_scans().save(tmp_path / "whole.zarr"))
    some = whole.take(["e-scan", "b-scan"]).keep_regions(["region-3", "region-1"])
    expected = some.load().halves().halves()
    found = some.halves().halves()
    assert found.samples.equals(expected.samples)
    assert found.samples["start"].tolist()[4:] == [0, 20, 41, 61]
    np.testing.assert_array_equal(np.asarray(found.signals), np.asarray(expected.signals))
    np.testing.assert_array_equal(found.take([5, 0]).signals[0], expected.signals[5])


def test_samples_for_cuts_only_where_fingerprinting_needs_it() -> None:
    whole = _whole_scans()
    assert samples_for(whole, ["age", "site"]) is whole
    assert len(samples_for(whole, ["age", "subject"])) == 12
    halves = whole.halves()
    assert samples_for(halves, "subject") is halves


def test_sessions_are_compared_rather_than_halves() -> None:
    table = {"session": ["1", "2"] * 3}
    cohort = _whole_scans(**table)
    cohort = Cohort(cohort.signals, cohort.samples.assign(subject=list("aabbcc")))
    assert samples_for(cohort, "subject") is cohort


def test_rank_of_whole_scans_compares_halves() -> None:
    ranking = rank(_whole_scans(), "subject", ["pearson", "kendalltau"], **QUICK)
    assert ranking.table["status"].eq("ok").all()
    assert ranking.provenance["question"]["samples"] == 12
    assert (ranking.table["score"] > 1).all()  # every subject has a mixing of its own


def test_a_scan_too_short_to_be_halved_is_named() -> None:
    table = pd.DataFrame({"subject": ["a"], "window": [0]}, index=["short"])
    with pytest.raises(InputError, match="at least 4 time points; shorter are short"):
        Cohort(np.eye(3)[None], table).halves()
