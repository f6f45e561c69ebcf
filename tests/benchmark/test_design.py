import numpy as np
import pandas as pd
import pytest

from sclcs.benchmark.design import make_design
from sclcs.benchmark.draws import bootstrap_draws, half_draws
from sclcs.benchmark.tasks import LabelTask, SubjectTask, make_task
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError, UnknownNameError


def kinds_by_name(samples, task, coreset=None):
    design = make_design(samples, task, coreset)
    names = samples.index[design.rows]
    return pd.DataFrame(design.pair_kinds, index=names, columns=names)


@pytest.fixture
def samples():
    return pd.DataFrame(
        {
            "subject": ["b", "a", "b", "a", "c", "c", "a"],
            "session": [1, 1, 2, 2, 1, 1, 1],
            "diagnosis": ["HC", "MDD", "HC", "MDD", None, "HC", "MDD"],
        },
        index=[f"s{i}" for i in range(7)],
    )


def test_fingerprinting_compares_across_sessions_when_there_are_several(samples):
    kinds = kinds_by_name(samples, make_task("subject"))
    assert kinds.loc["s1", "s3"] == 1
    assert kinds.loc["s1", "s6"] == -1  # the same subject in the same session
    assert kinds.loc["s1", "s0"] == 0
    plain = kinds_by_name(samples, make_task("subject", across_sessions=False))
    assert plain.loc["s1", "s6"] == 1
    assert kinds_by_name(samples.assign(session=1), make_task("subject")).loc["s1", "s6"] == 1
    assert (np.diag(plain) == -1).all()


def test_sessions_must_be_known_to_be_compared(samples):
    gappy = samples.assign(session=["1", "1", "2", None, "1", "1", "2"])
    with pytest.raises(InputError, match="missing for 1 of 7"):
        make_design(gappy, SubjectTask())
    with pytest.raises(UnknownNameError, match="no column 'session'"):
        make_design(samples.drop(columns="session"), SubjectTask(across_sessions=True))


def test_label_tasks_leave_out_same_subject_pairs_and_unlabelled_samples(samples):
    kinds = kinds_by_name(samples, make_task("diagnosis"))
    assert "s4" not in kinds.index
    assert kinds.loc["s0", "s2"] == -1
    assert kinds.loc["s0", "s5"] == 1
    assert kinds.loc["s0", "s1"] == 0
    everything = kinds_by_name(samples, make_task("diagnosis", exclude_same_subject=False))
    assert everything.loc["s0", "s2"] == 1
    assert make_design(samples, LabelTask("diagnosis")).n_unlabelled == 1
    with pytest.raises(UnknownNameError, match=r"no column 'species'.*diagnosis"):
        make_design(samples, LabelTask("species"))


def test_weights_below_one_on_average_are_scaled_up(samples):
    names = ["s6", "s0", "s2"]
    light = make_design(samples, SubjectTask(), CoreSet(names, weight=[0.1, 0.2, 0.3]))
    assert samples.index[light.rows].tolist() == ["s6", "s0", "s2"]
    np.testing.assert_allclose(light.weights, [0.5, 1.0, 1.5])
    heavy = make_design(samples, SubjectTask(), CoreSet(names, weight=[1, 2, 3]))
    np.testing.assert_allclose(heavy.weights, [1, 2, 3])


@pytest.mark.parametrize(
    ("task", "chosen", "why"),
    [
        ("subject", ["s0", "s1", "s4"], "no within pair.*3 samples of 3 subjects.*at least two"),
        ("subject", ["s1", "s3"], "no between pair.*all 2 samples are of one class"),
        ("diagnosis", ["s0", "s5", "s2"], "no between pair"),
        ("diagnosis", ["s0", "s1"], "no within pair.*two subjects of one class"),
        ("diagnosis", ["s4"], "no sample has a label"),
    ],
)
def test_degenerate_sets_say_why(samples, task, chosen, why):
    design = make_design(samples, make_task(task, across_sessions=False), CoreSet(chosen))
    assert pd.Series([design.degenerate]).str.contains(why).all()


def test_bootstrap_draws_as_many_subjects_as_there_are(samples):
    design = make_design(samples, SubjectTask())
    draws = bootstrap_draws(design, 200, seed=3)
    assert draws.shape == (200, 3)
    assert (draws.sum(axis=1) == 3).all()
    np.testing.assert_array_equal(draws, bootstrap_draws(design, 200, seed=3))
    assert (draws != bootstrap_draws(design, 200, seed=4)).any()


def test_halves_share_every_class():
    subjects = [f"p{i:02d}" for i in range(23)]
    samples = pd.DataFrame({"subject": subjects, "label": ["u"] * 8 + ["v"] * 15})
    design = make_design(samples, LabelTask("label"))
    draws = half_draws(design, 10, seed=1)
    assert draws.shape == (20, 23)
    assert (draws[::2] + draws[1::2] == 1).all()
    in_first_class = draws[:, design.classes == 0].sum(axis=1)
    assert set(in_first_class) == {4}
    assert (draws[0] != draws[2]).any()
