import numpy as np
import pandas as pd
import pytest
from encoder_cohorts import make_cohort

from sclcs._core.errors import InputError
from sclcs.coresets.encoder.training import find_pairs


def pairs_of(cohort, allow_overlap=True):
    return find_pairs(cohort.samples, cohort.n_timepoints, allow_overlap=allow_overlap)


def epoch(cohort, pairs, epoch, batch_subjects=4, seed=0):
    """Return rows and subjects' names of all batches of an epoch."""
    names = cohort.samples["subject"].to_numpy()
    return [names[rows] for rows, _ in pairs.batches(batch_subjects, seed, epoch)]


def test_every_subject_gives_two_windows_or_its_only_one(trainable):
    pairs = pairs_of(trainable)
    for number in range(1, 6):
        names, counts = np.unique(
            np.concatenate(epoch(trainable, pairs, number)), return_counts=True
        )
        assert dict(zip(names, counts, strict=True)) == dict.fromkeys(
            trainable.samples["subject"].unique(), 2
        ) | {"u0": 1}


def test_a_batch_names_the_subject_of_each_row(trainable):
    subjects = np.unique(trainable.samples["subject"].to_numpy(dtype=str))
    for rows, numbers in pairs_of(trainable).batches(4, 0, 1):
        assert (trainable.samples["subject"].to_numpy()[rows] == subjects[numbers]).all()
        assert len(set(rows)) == len(rows)


def test_the_last_batch_never_has_a_single_subject(trainable):
    sizes = [len(set(names)) for names in epoch(trainable, pairs_of(trainable), 1)]
    assert sizes == [4, 5]  # 9 subjects in fours: the ninth would have no negatives


def test_draws_depend_on_seed_and_epoch_only(trainable):
    pairs = pairs_of(trainable)

    def drawn(seed, number):
        return np.concatenate([rows for rows, _ in pairs.batches(4, seed, number)]).tolist()

    assert drawn(0, 3) == drawn(0, 3)
    assert drawn(0, 3) != drawn(0, 4)
    assert drawn(0, 3) != drawn(1, 3)


def test_all_pairs_of_a_subject_come_up_equally_often():
    cohort = make_cohort({"a": 4, "b": 2})
    counts = {}
    for number in range(600):
        rows, numbers = next(iter(pairs_of(cohort).batches(8, 0, number)))
        pair = tuple(sorted(rows[numbers == 0]))
        counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 6
    assert min(counts.values()) > 60  # 100 expected, standard deviation 9


def test_overlapping_windows_can_be_forbidden(trainable):
    # windows of 17 points every 8: only the first and the fourth do not overlap
    cohort = make_cohort({"a": 4, "b": 4, "c": 2})
    pairs = pairs_of(cohort, allow_overlap=False)
    windows, starts = cohort.samples["window"].to_numpy(), cohort.samples["start"].to_numpy()
    for number in range(20):
        rows, numbers = next(iter(pairs.batches(8, 0, number)))
        for subject in (0, 1):
            both = rows[numbers == subject]
            assert abs(np.diff(starts[both])[0]) >= 17
            assert sorted(windows[both]) == [0, 3]
        assert (numbers == 2).sum() == 1  # its two windows overlap: it gives one


def test_windows_of_two_scans_never_overlap(trainable):
    cohort = make_cohort({"a": 2, "b": 2})
    table = cohort.samples.assign(scan=["x", "y", "x", "x"], start=0)
    pairs = find_pairs(table, 17, allow_overlap=False)
    _, numbers = next(iter(pairs.batches(4, 0, 1)))
    assert sorted(np.bincount(numbers)) == [1, 2]


@pytest.mark.parametrize(
    ("windows", "allow_overlap", "message"),
    [
        ({"a": 5}, True, r"at least 2 are needed, but the cohort has 1 \(a\)"),
        ({"a": 1, "b": 1}, True, "no subject has two; cut scans"),
        ({"a": 3, "b": 3}, False, "two that do not overlap; use a larger stride"),
    ],
)
def test_cohorts_that_cannot_be_trained_on(windows, allow_overlap, message):
    with pytest.raises(InputError, match=message):
        pairs_of(make_cohort(windows), allow_overlap)


def test_overlap_needs_to_know_where_windows_start():
    table = pd.DataFrame({"subject": ["a", "a", "b"], "window": [0, 1, 0]}, index=list("xyz"))
    with pytest.raises(InputError, match="needs the column start"):
        find_pairs(table, 10, allow_overlap=False)
