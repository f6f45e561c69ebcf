import numpy as np
import pandas as pd
import pytest

from sclcs._core import InputError, UnknownNameError
from sclcs.cohort.cohort import Cohort


def test_a_cohort_knows_its_sizes(cohort):
    assert (len(cohort), cohort.n_subjects, cohort.n_regions, cohort.n_timepoints) == (7, 3, 5, 13)
    assert repr(cohort) == "Cohort(7 samples, 3 subjects, 5 regions, 13 time points)"
    assert cohort.signals.dtype == np.float32


def test_rows_by_number_id_or_mask_give_the_same_cohort(cohort):
    by_number = cohort.take([5, 0])
    by_id = cohort.take(["s5", "s0"])
    assert by_number.sample_ids == by_id.sample_ids == ["s5", "s0"]
    np.testing.assert_array_equal(by_number.signals, cohort.signals[[5, 0]])
    np.testing.assert_array_equal(by_id.signals, by_number.signals)
    mask = np.zeros(7, dtype=bool)
    mask[[0, 5]] = True
    assert cohort.take(mask).sample_ids == ["s0", "s5"]
    assert cohort.take([]).signals.shape == (0, 5, 13)


def test_labels_select_samples(cohort):
    assert cohort.where(diagnosis="HC").sample_ids == ["s3", "s4", "s5", "s6"]
    assert cohort.where(subject=["a", "b"], window=1).sample_ids == ["s1", "s4"]
    with pytest.raises(UnknownNameError, match=r"site.*known columns are subject, window"):
        cohort.where(site="x")
    with pytest.raises(UnknownNameError, match=r"No sample has diagnosis equal to BPD.*MDD, HC"):
        cohort.where(diagnosis="BPD")


def test_regions_are_kept_by_name_and_order(cohort):
    some = cohort.keep_regions(["back", "left"])
    assert some.regions == ("back", "left")
    np.testing.assert_array_equal(some.signals, cohort.signals[:, [3, 0]])
    with pytest.raises(UnknownNameError, match="got unknown top"):
        cohort.keep_regions(["top"])


def test_the_fingerprint_follows_the_content_and_only_the_content(cohort):
    same = Cohort(cohort.signals.astype(np.float64), cohort.samples.copy(), list(cohort.regions), 2)
    assert same.fingerprint == cohort.fingerprint
    changes = [
        Cohort(cohort.signals + 1, cohort.samples, cohort.regions, 2.0),
        Cohort(cohort.signals, cohort.samples.assign(age=1.0), cohort.regions, 2.0),
        Cohort(cohort.signals, cohort.samples, cohort.regions[::-1], 2.0),
        Cohort(cohort.signals, cohort.samples, cohort.regions, 2.5),
        cohort.take([1, 0, 2, 3, 4, 5, 6]),
    ]
    assert len({c.fingerprint for c in [cohort, *changes]}) == 6


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_signals_are_refused_and_named(cohort, value):
    signals = cohort.signals.copy()
    signals[4, 2, 1] = value
    with pytest.raises(InputError, match=r"1 samples hold NaN or infinite values: s4"):
        Cohort(signals, cohort.samples)


def test_malformed_parts_are_refused(cohort):
    with pytest.raises(InputError, match=r"\(sample, region, time\), got shape \(7, 65\)"):
        Cohort(cohort.signals.reshape(7, -1), cohort.samples)
    with pytest.raises(InputError, match="6 rows for 7 samples"):
        Cohort(cohort.signals, cohort.samples.iloc[:6])
    with pytest.raises(InputError, match="Expected 5 region names, got 2"):
        Cohort(cohort.signals, cohort.samples, ["a", "b"])
    with pytest.raises(InputError, match="Region names must be unique"):
        Cohort(cohort.signals, cohort.samples, list("aabcd"))
    with pytest.raises(InputError, match="but window is not there"):
        Cohort(cohort.signals, cohort.samples.drop(columns="window"))
    with pytest.raises(InputError, match="repeated: s0"):
        Cohort(cohort.signals, cohort.samples.set_axis(["s0", "s0", *"abcde"]))
    with pytest.raises(InputError, match="missing for s0"):
        Cohort(cohort.signals, cohort.samples.assign(subject=[None, *"abcdef"]))


def test_rows_that_do_not_exist_are_named(cohort):
    with pytest.raises(UnknownNameError, match="not in the cohort: nobody"):
        cohort.take(["s1", "nobody"])
    with pytest.raises(InputError, match="below 7"):
        cohort.take([7])
    with pytest.raises(InputError, match="mask needs 7 values, got 2"):
        cohort.take(np.array([True, False]))


def test_numbers_as_ids_become_text(rng):
    table = pd.DataFrame({"subject": [7, 8], "window": [0.0, 0.0]}, index=[1, 2])
    cohort = Cohort(rng.normal(size=(2, 3, 4)), table)
    assert cohort.sample_ids == ["1", "2"]
    assert cohort.samples["subject"].tolist() == ["7", "8"]
    assert cohort.samples["window"].dtype == np.int64
