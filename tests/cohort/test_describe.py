import numpy as np
import pytest

from sclcs._core.errors import UnreadableFileError
from sclcs.cohort.describe import describe_cohort, describe_scans
from sclcs.cohort.problems import Problem
from sclcs.cohort.readers.arrays import read_arrays
from sclcs.cohort.scans import Scan, Scans


def test_a_cohort_in_numbers(cohort):
    facts = describe_cohort(cohort)
    assert facts["windows_per_subject"] == {"2": 2, "3": 1}
    assert facts["classes"]["diagnosis"] == {
        "HC": {"subjects": 2, "rows": 4},
        "MDD": {"subjects": 1, "rows": 3},
    }
    assert facts["numbers"]["age"] == {"min": 20.0, "median": 20.0, "max": 31.5, "missing": 2}
    assert facts["fingerprint"] == cohort.fingerprint


def test_exclusions_are_counted_by_kind(scans):
    facts = describe_cohort(scans.to_cohort(window=45, stride=10, on_bad="skip"))
    assert facts["excluded"]["too-short"]["count"] == 1
    assert facts["excluded"]["too-short"]["examples"] == ["a (41 time points, 45 needed)"]
    assert facts["windowing"] == {"length": 45, "stride": 10, "truncate": None, "drop_first": 0}


def test_scans_in_numbers(scans):
    facts = describe_scans(scans, min_timepoints=[42, 53])
    assert facts["lengths"] == {"min": 41.0, "median": 50.0, "max": 60.0, "missing": 0}
    assert facts["usable_by_length"] == [
        {"timepoints": 42, "scans": 3, "subjects": 2, "sites": 2},
        {"timepoints": 53, "scans": 2, "subjects": 2, "sites": 2},
    ]


def test_bad_scans_do_not_count_as_usable(rng):
    def damaged():
        raise UnreadableFileError("ends too early")

    scans = Scans(
        [
            Scan("good", "a", lambda: rng.normal(size=(2, 80))),
            Scan("flat", "b", lambda: np.ones((2, 80))),
            Scan("broken", "c", damaged),
        ],
        ["r0", "r1"],
        problems=[Problem("extra-label", "ghost", "")],
    )
    facts = describe_scans(scans)
    assert facts["usable"] == 1
    assert {kind: entry["count"] for kind, entry in facts["problems"].items()} == {
        "extra-label": 1,
        "constant-region": 1,
        "unreadable": 1,
    }
    assert facts["usable_by_length"] == [{"timepoints": 70, "scans": 1, "subjects": 1}]


def test_the_real_file_has_the_counts_of_its_readme(real_cohort_file):
    facts = describe_scans(read_arrays(real_cohort_file), [146, 176, 211])
    assert facts["scans"] == facts["subjects"] == 1035
    assert facts["lengths"] == {"min": 77.0, "median": 175.0, "max": 315.0, "missing": 0}
    diagnosis = {name: count["rows"] for name, count in facts["classes"]["diagnosis"].items()}
    assert diagnosis == {"ASD": 505, "TC": 530}
    assert len(facts["classes"]["site"]) == 20
    assert facts["problems"]["constant-region"]["count"] == 22
    counts = [(row["timepoints"], row["scans"], row["sites"]) for row in facts["usable_by_length"]]
    assert counts[0] == (146, 766, 15)
    assert counts[1][:2] == (176, 498)
    assert counts[2] == (211, 307, 7)


@pytest.mark.parametrize(
    ("options", "subjects", "samples", "sites"),
    [
        ({"window": 70, "stride": 35, "truncate": 210}, 307, 1535, 7),
        ({"window": 70, "stride": 25, "truncate": 145}, 766, 766 * 4, 15),
    ],
)
def test_the_real_file_becomes_the_papers_windows(
    real_cohort_file, options, subjects, samples, sites
):
    cohort = read_arrays(real_cohort_file).to_cohort(**options, drop_first=1, on_bad="skip")
    assert (cohort.n_subjects, len(cohort)) == (subjects, samples)
    assert cohort.samples["site"].nunique() == sites
