import numpy as np
import pytest

from sclcs._core import InputError
from sclcs.coresets import select
from sclcs.coresets.classifier import train_classifier
from sclcs.coresets.dynamics import (
    area_under_margin,
    early_error,
    error_variance,
    fitting_epochs,
    fitting_windows,
    forgetting_events,
    two_window_variance,
)


def sequence(text):
    return np.array([[letter == "1" for letter in text]])


@pytest.mark.parametrize(
    ("seen", "toneva", "zero"),
    [
        ("0101", 1, 1),
        ("1111", 0, 0),
        ("0000", 4, 0),
        ("1010", 2, 2),
        ("0001", 0, 0),
        ("1000", 1, 1),
        ("110010", 2, 2),
    ],
)
def test_forgetting_of_hand_made_sequences(seen, toneva, zero):
    assert forgetting_events(sequence(seen)) == [toneva]
    assert forgetting_events(sequence(seen), "zero") == [zero]


def test_forgetting_equals_a_plain_loop(rng):
    seen = rng.random((31, 17)) < 0.6
    expected = [
        sum(row[e - 1] and not row[e] for e in range(1, 17)) if row.any() else 17 for row in seen
    ]
    np.testing.assert_array_equal(forgetting_events(seen), expected)


def test_eva_equals_the_variance_by_hand(rng):
    errors = rng.random((7, 200)).astype(np.float32)
    (early, late), scaled = fitting_windows(None, 200)
    assert not scaled
    parts = []
    for first, last in ((100, 109), (190, 199)):
        values = errors[:, first : last + 1].astype(float)
        means = values.sum(1) / 10
        variance = ((values - means[:, None]) ** 2).sum(1) / 9
        parts.append(variance / variance.sum())
    mine = two_window_variance(error_variance(errors, early), error_variance(errors, late))
    np.testing.assert_allclose(mine, 0.5 * parts[0] + 0.5 * parts[1], rtol=1e-12)


def test_eva_sees_the_last_epoch():
    """The published script computes nothing if the late window ends with the training."""
    errors = np.zeros((3, 20), dtype=np.float32)
    errors[1, -1] = 1.0
    (early, late), scaled = fitting_windows(None, 20)
    assert scaled
    assert late == (18, 19)
    scores = two_window_variance(error_variance(errors, early), error_variance(errors, late))
    np.testing.assert_array_equal(scores, [0, 0.5, 0])


@pytest.mark.parametrize("epochs", [2, 3, 4, 7, 19, 20, 50, 100, 199, 200, 350])
def test_windows_fit_any_training(epochs):
    for first, last in fitting_windows(None, epochs)[0]:
        assert 0 <= first < last < epochs


def test_windows_that_do_not_fit_are_named():
    with pytest.raises(InputError, match="at least 2"):
        fitting_windows(None, 1)
    with pytest.raises(InputError, match="190 to 199"):
        fitting_windows([[0, 9], [190, 199]], 100)
    with pytest.raises(InputError, match="two pairs"):
        fitting_windows([0, 9], 100)
    assert fitting_windows([[0, 9], [90, 99]], 100) == (((0, 9), (90, 99)), False)


def test_early_epochs_adapt_or_are_named():
    assert fitting_epochs(None, 10, 200, "el2n_epochs") == 10
    assert fitting_epochs(None, 10, 4, "el2n_epochs") == 4
    assert fitting_epochs(3, 10, 4, "el2n_epochs") == 3
    with pytest.raises(InputError, match=r"el2n_epochs.*4 epochs"):
        fitting_epochs(5, 10, 4, "el2n_epochs")


def test_sums_and_means(rng):
    values = rng.normal(size=(5, 12)).astype(np.float32)
    np.testing.assert_allclose(early_error(values, 10), values[:, :10].astype(float).sum(1))
    np.testing.assert_allclose(area_under_margin(values), values.astype(float).mean(1))


@pytest.fixture(scope="module")
def run(small_cohort):
    return train_classifier(small_cohort, epochs=4, seed=2)


def chosen_by(scores, cohort, size):
    return {cohort.sample_ids[row] for row in np.argsort(scores)[-size:]}


@pytest.mark.parametrize(
    ("method", "parameters", "score"),
    [
        ("entropy", {}, lambda run: run.entropy),
        ("el2n", {}, lambda run: run.error_norm.sum(1, dtype=float)),
        ("el2n", {"el2n_epochs": 2}, lambda run: run.error_norm[:, :2].sum(1, dtype=float)),
        ("el2n", {"checkpoint_epoch": 1}, lambda run: run.error_norm[:, 1]),
        ("aum", {"aum_on": "logit"}, lambda run: -run.margin.mean(1)),
        ("aum", {"aum_on": "logit", "aum_keep": "high"}, lambda run: run.margin.mean(1)),
        ("aum", {}, lambda run: (run.other_probability - run.true_probability).mean(1)),
    ],
)
def test_the_right_end_is_kept(method, parameters, score, run, small_cohort):
    core = select(small_cohort, method, 0.25, seed=2, epochs=4, **parameters)
    assert set(core.sample_ids) == chosen_by(score(run), small_cohort, 18)


def test_all_dynamics_share_one_training(small_cohort, tmp_path):
    for method in ("forgetting", "entropy", "el2n", "aum", "eva", "ccs", "boss"):
        select(small_cohort, method, 0.2, epochs=2, cache=tmp_path)
    assert len(list((tmp_path / "classifier").iterdir())) == 1


def test_runs_are_averaged(small_cohort):
    single = [select(small_cohort, "el2n", 0.9, seed=s, epochs=2) for s in (0,)]
    double = select(small_cohort, "el2n", 0.9, epochs=2, runs=2)
    assert len(double.parameters["train_seeds"]) == 2
    assert double.parameters["train_seeds"][0] == 0
    assert double.sample_ids != single[0].sample_ids
    with pytest.raises(InputError, match="runs"):
        select(small_cohort, "el2n", 0.9, epochs=2, runs=0)


def test_ties_are_broken_by_the_seed(small_cohort):
    """One epoch has no transition: all scores of learned samples are equal."""
    first = select(small_cohort, "forgetting", 0.5, epochs=1, never_learned="zero", train_seed=0)
    second = select(
        small_cohort, "forgetting", 0.5, seed=1, epochs=1, never_learned="zero", train_seed=0
    )
    assert set(first.score) == {0.0}
    assert set(first.sample_ids) != set(second.sample_ids)


def test_windows_are_scaled_to_short_trainings(small_cohort):
    core = select(small_cohort, "eva", 0.2, epochs=4, task="diagnosis")
    assert core.parameters["windows_used"] == [[2, 3], [2, 3]]
    assert core.parameters["windows_scaled"] is True
