"""What a design may spoil is measured as textbooks do, and named only where it is clear."""

import numpy as np
import pandas as pd
import pytest

from sclcs._core import UnknownNameError
from sclcs.cohort.design import (
    Association,
    SignalMarks,
    association,
    cautions,
    check_design,
    looks_like_site,
    site_column,
)


def make_samples(**columns):
    """Two windows of every subject."""
    table = pd.DataFrame(columns)
    table["subject"] = [f"s{place:03d}" for place in range(len(table))]
    samples = table.loc[table.index.repeat(2)].reset_index(drop=True)
    return samples.assign(window=np.tile([0, 1], len(table)))


def kinds(problems):
    return {(problem.kind, problem.where) for problem in problems}


def test_cramers_v_is_that_of_the_table():
    one = pd.Series(["a"] * 30 + ["b"] * 30)
    same = association(one, one.map({"a": "x", "b": "y"}))
    assert (same.measure, same.strength) == ("Cramér's V", pytest.approx(1.0))
    other = pd.Series((["x"] * 15 + ["y"] * 15) * 2)
    apart = association(one, other)
    assert (apart.strength, apart.p) == (0.0, 1.0)
    table = np.array([[20, 10], [10, 20]])
    half = association(one, pd.Series(["x"] * 20 + ["y"] * 10 + ["x"] * 10 + ["y"] * 20))
    phi = 60 * (table[0, 0] * table[1, 1] - table[0, 1] * table[1, 0]) ** 2 / 30**4 / 60
    smaller = 2 - 1 / 59
    assert half.strength == pytest.approx(np.sqrt((phi - 1 / 59) / (smaller - 1)))


def test_numbers_go_with_labels_and_numbers():
    label = pd.Series(["a"] * 20 + ["b"] * 25)
    number = pd.Series(np.arange(45.0))
    assert association(label, number).measure == "eta"
    assert association(label, number).strength > 0.8
    assert association(number, -(number**3)).strength == pytest.approx(1.0)
    assert association(label, pd.Series(["same"] * 45)) is None


def test_site_and_motion_are_named_where_they_go_with_the_label():
    rng = np.random.default_rng(0)
    diagnosis = np.array(["HC", "MDD"])[rng.permutation(np.arange(120) % 2)]
    patients = diagnosis == "MDD"
    samples = make_samples(
        diagnosis=diagnosis,
        sex=np.array(["F", "M"])[rng.permutation(np.arange(120) % 2)],
        site=np.where(rng.random(120) < np.where(patients, 0.8, 0.2), "x", "y"),
        mean_fd=0.1 + 0.05 * rng.random(120) + 0.03 * patients,
        age=rng.uniform(18, 60, 120),
    )
    found = check_design(samples)
    assert kinds(found) == {("goes-with-site", "diagnosis"), ("goes-with-motion", "diagnosis")}
    assert not any(problem.fatal for problem in found)
    assert found[0].detail.startswith("site: Cramér's V 0.")
    assert check_design(samples, ["subject", "sex", "age"]) == []
    told = [problem.to_dict() for problem in found]
    site, motion = cautions(told, "diagnosis", ())
    assert site.startswith("diagnosis goes with the site (Cramér's V 0.")
    assert motion.startswith("diagnosis goes with head motion (mean_fd) (eta 0.")
    assert cautions(told, "diagnosis", {"site", None}) == [motion]
    assert cautions(told, "sex", ()) == []


def test_small_and_unequal_classes_and_mixed_times_are_named():
    samples = make_samples(diagnosis=["HC"] * 40 + ["MDD"] * 4, tr=[2.0] * 40 + [3.0] * 4)
    assert kinds(check_design(samples, ["diagnosis"])) == {
        ("mixed-tr", "tr"),
        ("same-as-column", "diagnosis"),
        ("small-class", "diagnosis=MDD"),
        ("unequal-classes", "diagnosis"),
    }
    told = [problem.to_dict() for problem in check_design(samples, ["diagnosis"])]
    (times,) = cautions(told, "subject", ())
    assert times.startswith("Repetition times that differ between subjects (2, 3); windows of")
    assert cautions(told, "subject", {"site"}) == []
    assert any("(HC: 40, MDD: 4 subjects)" in text for text in cautions(told, "diagnosis", ()))


def test_codes_are_written_whole_and_tasks_must_be_there():
    samples = make_samples(arm=[1.0] * 40 + [2.0] * 4 + [np.nan])
    told = {problem.kind: str(problem) for problem in check_design(samples, ["arm"])}
    assert told["small-class"] == "arm=2 (4 subjects)"
    assert told["unequal-classes"] == "arm (1: 40, 2: 4 subjects)"
    with pytest.raises(UnknownNameError, match=r"no column 'armm'.*Did you mean arm"):
        check_design(samples, ["armm"])


def test_numbers_written_as_text_are_no_label():
    ages = [str(20 + k) for k in range(24)]
    samples = pd.DataFrame({"subject": [f"p{k}" for k in range(24)], "window": 0, "age": ages})
    (problem,) = check_design(samples)
    assert (problem.kind, problem.where) == ("number-as-label", "age")
    assert check_design(samples, ["age"]) == [problem]
    assert check_design(samples.assign(age=samples["age"].astype(float))) == []


@pytest.mark.parametrize(("both", "found"), [(42, {("goes-with-column", "dx")}), (36, set())])
def test_a_column_without_a_reason_must_go_clearly_with_the_target(both, found):
    """Cramér's V of 0.4 and 0.2; that of a site would be enough."""
    coil = ["8"] * both + ["32"] * (60 - both) + ["32"] * both + ["8"] * (60 - both)
    samples = make_samples(dx=["HC"] * 60 + ["MDD"] * 60, coil=coil)
    assert kinds(check_design(samples, ["dx"])) == found
    assert kinds(check_design(samples)) == set()
    named = check_design(samples.rename(columns={"coil": "Scanner_ID"}))
    assert (("goes-with-site", "dx") in kinds(named)) == bool(found)


@pytest.mark.parametrize("column", ["tr", "n_timepoints"])
def test_lengths_and_times_are_compared_with_every_label(column):
    rng = np.random.default_rng(1)
    values = np.where(rng.random(120) < 0.75, 200, 180) - 50 * (np.arange(120) > 80)
    samples = make_samples(dx=[f"g{k // 12}" for k in range(120)], **{column: values})
    assert ("goes-with-length", "dx") in kinds(check_design(samples))  # ten classes are not many


def test_what_is_a_column_of_sites():
    samples = make_samples(site=["x"] * 40, wave=["1", "2"] * 20, tr=[2.0, 2.5] * 20)
    assert site_column(samples) == "wave"  # one value tells no sites apart
    assert site_column(samples.assign(tr=[np.nan, *samples["tr"][1:]])) == "wave"
    mixed = samples.assign(tr=samples["tr"].where(samples["subject"] != "s000"))
    assert site_column(mixed) is None  # not all of a group are known to have one
    assert site_column(samples, leave_out="wave") is None


def test_ids_are_not_associated_and_p_is_told_as_it_is_known():
    many = pd.Series([f"c{k % 30}" for k in range(50)])
    assert association(many, pd.Series(["a", "b"] * 25)) is None
    assert str(Association("eta", 0.512, 0.004)) == "eta 0.51, p below 0.01"
    assert str(Association("rho", 0.2, 0.034)) == "rho 0.20, p 0.034"


def test_marks_of_signals_are_their_size_offset_smoothness_and_common_part():
    rng = np.random.default_rng(2)
    common = rng.normal(size=4000)
    scan = 7 + 2 * (common + rng.normal(size=(3, 4000))) / np.sqrt(2)
    marks = SignalMarks()
    for one in (scan, scan):
        marks.add("a", one.astype(np.float32))
    marks.add("b", np.repeat(scan, 2, axis=1).astype(np.float32))
    found = marks.table()
    np.testing.assert_allclose(found.loc["a"], [np.log(4), np.log(8), 0, 2 / 3], atol=0.05)
    assert found.loc["b", 2] == pytest.approx(0.5, abs=0.03)


def test_numbers_are_never_taken_for_sites():
    rng = np.random.default_rng(3)
    size = np.repeat([1.0, 2.0, 4.0, 8.0], 6)
    samples = make_samples(dose=size + rng.random(24) / 99, room=list("abcd" * 6))
    marks = SignalMarks()
    for name, scale in zip(dict.fromkeys(samples["subject"]), size, strict=True):
        marks.add(name, (scale * rng.normal(size=(3, 50))).astype(np.float32))
    assert looks_like_site(samples, marks) == []
    rooms = samples.assign(room=samples["dose"].round().map(str))
    assert kinds(looks_like_site(rooms, marks)) == {("acts-as-site", "room")}
