import json

import numpy as np
import pytest

import sclcs
from sclcs._core import InputError, OutputExistsError, UnknownNameError, UnreadableFileError
from sclcs.cohort.coreset import CoreSet


@pytest.fixture
def core(cohort):
    made = CoreSet(
        ["s5", "s0", "s1"],
        method="sclcs",
        parameters={"beta": 0.05},
        seed=7,
        score=[0.1, np.nan, 1 / 3],
        weight=[1.5, 2.0, 1.0],
    )
    return made.bound_to(cohort)


def test_saved_and_opened_is_the_same(core, cohort, tmp_path):
    path = core.save(tmp_path / "out" / "core.csv")
    assert path.read_text().splitlines()[0] == "sample_id,subject,score,weight"
    again = CoreSet.open(path)
    assert again.sample_ids == ["s5", "s0", "s1"]
    assert (again.method, again.parameters, again.seed) == ("sclcs", {"beta": 0.05}, 7)
    np.testing.assert_array_equal(again.score, core.score)
    np.testing.assert_array_equal(again.weight, core.weight)
    assert again.subjects == ["c", "a", "a"]
    assert again.fingerprint == cohort.fingerprint
    assert json.loads((tmp_path / "out" / "core.json").read_text())["seed"] == 7
    with pytest.raises(OutputExistsError, match="never overwritten"):
        core.save(path)


def test_without_score_and_weight(cohort, tmp_path):
    path = CoreSet(["s1", "s2"]).bound_to(cohort).save(tmp_path / "core.csv")
    again = CoreSet.open(path)
    assert again.score is None
    assert again.weight is None
    assert again.table["weight"].tolist() == [1.0, 1.0]
    assert repr(again) == "CoreSet(2 samples, method 'given')"


def test_any_csv_with_sample_ids_is_a_core_set(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("\ufeffsample_id,weight\r\ns3,2\r\ns1,1\r\n", encoding="utf-8")
    core = CoreSet.open(path)
    assert core.sample_ids == ["s3", "s1"]
    np.testing.assert_array_equal(core.weight, [2, 1])


def test_rows_follow_the_order_of_the_core_set(core, cohort):
    assert core.rows(cohort.sample_ids).tolist() == [5, 0, 1]
    with pytest.raises(UnknownNameError, match="2 of 3 are not: nobody, s9"):
        CoreSet(["nobody", "s0", "s9"]).rows(cohort.sample_ids)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sample_ids": []}, "at least one sample"),
        ({"sample_ids": ["a", "b", "a"]}, "repeated: a"),
        ({"sample_ids": ["a", "b"], "score": [1.0]}, "2 samples need as many values of score"),
        ({"sample_ids": ["a", "b"], "weight": [1, 0]}, r"positive, but found b \(0\)"),
        ({"sample_ids": ["a", "b"], "weight": [np.nan, 1]}, r"a \(nan\)"),
        ({"sample_ids": ["a"], "subjects": ["x", "y"]}, "as many subjects"),
    ],
)
def test_impossible_core_sets_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        CoreSet(**wrong)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,weight\na,1\n", "needs the column sample_id"),
        ("", "found no rows"),
        ("sample_id,weight\na,heavy\n", "weight .* must hold numbers"),
        ("sample_id,weight\na\n", "2 cells in every row"),
    ],
)
def test_unreadable_files_are_named(tmp_path, text, message):
    path = tmp_path / "core.csv"
    path.write_text(text)
    with pytest.raises(UnreadableFileError, match=message):
        CoreSet.open(path)


def test_the_sidecar_must_be_of_a_core_set(core, tmp_path):
    path = core.save(tmp_path / "core.csv")
    (tmp_path / "core.json").write_text('{"sclcs_kind": "ranking"}')
    with pytest.raises(UnreadableFileError, match="says it is a ranking"):
        CoreSet.open(path)
    (tmp_path / "core.json").write_text("{")
    with pytest.raises(UnreadableFileError, match="JSON sidecar"):
        CoreSet.open(path)


def test_it_is_public():
    assert sclcs.CoreSet is CoreSet
