from sclcs.cohort import describe_cohort


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
