import numpy as np
import pandas as pd

from sclcs._core import UnreadableFileError
from sclcs.cohort import check_cohort, check_scans
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.scans import Scan, Scans


def found(problems):
    return {(problem.kind, problem.where) for problem in problems}


def test_a_sound_cohort_has_no_serious_problem(cohort):
    problems = check_cohort(cohort.where(subject=["b", "c"]))
    assert not any(problem.fatal for problem in problems)


def test_every_problem_of_a_cohort_is_named(cohort):
    signals = cohort.signals.copy()
    signals[3, 2] = 1.0
    samples = cohort.samples.assign(site=["x"] * 6 + ["y"], subject=[*"aaabbc", "d"])
    assert found(check_cohort(Cohort(signals, samples, cohort.regions))) == {
        ("constant-region", "s3"),
        ("single-window", "c"),
        ("single-window", "d"),
        ("single-member-class", "diagnosis=MDD"),
        ("single-member-class", "site=y"),
        ("missing-value", "age"),
    }


def test_damage_is_found_by_checksum_and_by_fingerprint(cohort, tmp_path):
    cohort.save(tmp_path / "c.zarr")
    opened = Cohort.open(tmp_path / "c.zarr")
    opened.samples.loc["s3", "age"] = 31.6  # what no seal can see
    assert found(check_cohort(opened)) >= {("damaged", "the whole cohort")}
    chunk = tmp_path / "c.zarr" / "signals" / "c" / "0" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-3] + b"abc")
    problems = [p for p in check_cohort(Cohort.open(tmp_path / "c.zarr")) if p.kind == "damaged"]
    assert [problem.where for problem in problems] == ["signals"]


def test_scans_are_checked_before_they_are_cut(rng):
    def damaged():
        raise UnreadableFileError("ends too early")

    scans = Scans(
        [
            Scan("good", "a", lambda: rng.normal(size=(2, 20)), {"site": "x"}),
            Scan("short", "b", lambda: rng.normal(size=(2, 8)), {"site": "x"}),
            Scan("broken", "c", damaged, {"site": None}),
        ],
        ["r0", "r1"],
    )
    assert found(check_scans(scans, "10")) == {
        ("too-short", "short"),
        ("unreadable", "broken"),
        ("missing-value", "site"),
    }
    assert ("too-short", "short") not in found(check_scans(scans))


def test_a_large_cohort_is_checked_block_by_block(rng):
    signals = rng.normal(size=(2000, 33, 70)).astype(np.float32)
    signals[1999, 5] = 0
    cohort = Cohort(signals, pd.DataFrame({"subject": np.arange(2000) // 2, "window": 0}))
    assert ("constant-region", "1999") in found(check_cohort(cohort))
