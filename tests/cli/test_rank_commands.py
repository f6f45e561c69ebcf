import json
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from sclcs.cohort import Cohort, CoreSet
from sclcs.settings import QuestionSettings
from sclcs.stats import CRITERIA, Ranking
from sclcs.stats.features import SIMILARITIES, Vectorize

OPERATORS = "kendalltau,cov_EmpiricalCovariance,cov_OAS,pec"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A stored cohort: 24 samples of 8 subjects, 5 regions, 40 time points."""
    rng = np.random.default_rng(11)
    subjects = np.repeat([f"p{i}" for i in range(8)], 3)
    samples = pd.DataFrame(
        {
            "subject": subjects,
            "window": np.tile(range(3), 8),
            "diagnosis": np.repeat(["MDD", "HC"] * 4, 3),
            "site": np.repeat(["x", "x", "y", "y"] * 2, 3),
            "empty": [None] * 24,
        },
        index=[f"s{i}" for i in range(24)],
    )
    mixing = rng.normal(size=(8, 5, 5))
    signals = mixing[np.repeat(range(8), 3)] @ rng.normal(size=(24, 5, 40))
    folder = tmp_path_factory.mktemp("study")
    Cohort(signals, samples).save(folder / "c.zarr")
    CoreSet([f"s{i}" for i in range(24) if i % 3], method="random").save(folder / "core.csv")
    CoreSet([f"s{i}" for i in range(0, 24, 3)], method="one each").save(folder / "one.csv")
    return folder


def do_rank(sclcs, study, out, *more):
    options = ["--spis", OPERATORS, "--bootstrap", 20, "--out", out]
    return sclcs("rank", study / "c.zarr", *options, *more)


def test_the_card_is_told_and_a_wrong_criterion_before_the_work(sclcs, study, tmp_path):
    out = tmp_path / "ranking.csv"
    wrong = do_rank(sclcs, study, out, "--task", "diagnosis", "--criteria", "reliability,sexx")
    assert wrong.code == 2
    assert "There is no column 'sexx'" in wrong.err
    assert not out.exists()
    shown = do_rank(sclcs, study, out, "--task", "diagnosis", "--criteria", "reliability")
    assert shown.code == 0
    assert "- The first for diagnosis, " in shown.out
    assert shown.out.rstrip().endswith(f"Wrote {tmp_path / 'ranking-card.csv'}")


def test_rank_writes_the_ranking_and_the_picture(sclcs, study, tmp_path):
    out, picture = tmp_path / "ranking.csv", tmp_path / "ranking.png"
    shown = do_rank(sclcs, study, out, "--task", "diagnosis", "--plot", picture)
    assert shown.code == 0
    assert "Pearson correlation (cov_EmpiricalCovariance) and 1 equivalent" in shown.out
    assert "\nOn 24 samples of 8 subjects; diagnosis: classes, HC, MDD.\n" in shown.out
    assert f"Wrote {out} and {picture}" in shown.out
    assert picture.stat().st_size > 10_000
    ranking = Ranking.open(out)
    assert len(ranking) == 4
    assert ranking.task == "diagnosis"
    assert ranking.table["low"].notna().all()
    assert out.with_suffix(".json").exists()


def test_rank_as_json_with_a_core_set(sclcs, study, tmp_path):
    more = ["--coreset", study / "core.csv", "--score", "auc", "--json", "--jobs", 2]
    shown = do_rank(sclcs, study, tmp_path / "r.csv", *more)
    found = json.loads(shown.out)
    assert found["score"] == "auc"
    assert {row["n_samples"] for row in found["table"]} == {16}
    assert Ranking.open(tmp_path / "r.csv").coreset["samples"] == 16


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--coreset", "one.csv"], "No operator can be ranked. task 'subject': there is no within"),
        (["--task", "empty"], "no sample has a label; choose another column"),
        (["--task", "iq"], "no column 'iq'"),
        (["--coreset", "nowhere.csv"], "Expected a core-set (a CSV file) at"),
        (["--plot", "ranking.jpg"], "saved as .pdf, .png, .svg, got 'ranking.jpg'"),
        (["--spis", "nonsense"], "No operator or set is called 'nonsense'"),
    ],
)
def test_mistakes_exit_with_two_and_write_nothing(sclcs, study, tmp_path, more, message):
    more = [study / word if word.endswith(".csv") else word for word in more]
    shown = do_rank(sclcs, study, tmp_path / "r.csv", *more)
    assert shown.code == 2
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_score_with_a_warning_is_used_with_a_note(sclcs, study, tmp_path):
    shown = do_rank(sclcs, study, tmp_path / "r.csv", "--score", "ratio")
    assert shown.code == 0
    assert "Note: the score ratio blows up" in shown.err


def test_an_existing_ranking_is_kept(sclcs, study, tmp_path):
    (tmp_path / "r.csv").write_text("mine")
    assert do_rank(sclcs, study, tmp_path / "r.csv").code == 2
    assert (tmp_path / "r.csv").read_text() == "mine"


def test_ranking_a_store_equals_ranking_its_cohort(sclcs, study, tmp_path):
    pytest.importorskip("sclcs.store.fc_store")
    store = tmp_path / "fc"
    made = sclcs("compute", study / "c.zarr", "--spis", OPERATORS, "--out", store)
    assert made.code == 0, made.err
    by_store = ["rank", store, "--bootstrap", 20, "--out", tmp_path / "store.csv"]
    assert sclcs(*by_store).code == 0
    assert do_rank(sclcs, study, tmp_path / "cohort.csv").code == 0
    one, two = (Ranking.open(tmp_path / name).table for name in ("store.csv", "cohort.csv"))
    pd.testing.assert_frame_equal(one, two)


def test_compare_and_its_picture(sclcs, study, tmp_path):
    full, core = tmp_path / "full.csv", tmp_path / "core.csv"
    do_rank(sclcs, study, full)
    do_rank(sclcs, study, core, "--coreset", study / "core.csv")
    shown = sclcs("compare", full, core, "--plot", tmp_path / "both.svg")
    assert shown.code == 0
    assert "ndcg@5" in shown.out
    assert "4 operators, task subject, cohen_d" in shown.out
    assert (tmp_path / "both.svg").read_text().startswith("<?xml")
    found = json.loads(sclcs("compare", full, full, "--k", 2, "--gain", "rank", "--json").out)
    assert found == pytest.approx(
        {"ndcg@2": 1, "kendall": 1, "spearman": 1, "overlap@2": 1, "operators": 4}
    )


def test_compare_refuses_different_questions(sclcs, study, tmp_path):
    do_rank(sclcs, study, tmp_path / "a.csv")
    do_rank(sclcs, study, tmp_path / "b.csv", "--task", "site")
    shown = sclcs("compare", tmp_path / "a.csv", tmp_path / "b.csv")
    assert shown.code == 2
    assert "one task and score" in shown.err


def test_balance(sclcs, study, tmp_path):
    picture = tmp_path / "balance.png"
    shown = sclcs("balance", study / "c.zarr", study / "core.csv", "--plot", picture)
    assert shown.code == 0
    assert "samples per subject" in shown.out
    assert picture.exists()
    found = json.loads(sclcs("balance", study / "c.zarr", study / "one.csv", "--json").out)
    assert found["samples_per_subject"] == 1
    assert found["site_l1_subjects"] == 0
    CoreSet(["s0", "s1"]).save(tmp_path / "patients.csv")
    alone = sclcs("balance", study / "c.zarr", tmp_path / "patients.csv", "--json")
    assert json.loads(alone.out)["class_ratio"] is None
    assert "class_ratio" in json.loads(alone.out)["infinite"]
    CoreSet(["nobody"]).save(tmp_path / "wrong.csv")
    assert "nobody" in sclcs("balance", study / "c.zarr", tmp_path / "wrong.csv").err


def test_a_wrong_score_lists_all(sclcs, study, tmp_path):
    shown = do_rank(sclcs, study, tmp_path / "r.csv", "--score", "cohens")
    assert shown.code == 2
    assert f"No score is called 'cohens'; choose from {', '.join(CRITERIA)}." in shown.err
    assert not (tmp_path / "r.csv").exists()


def test_the_choices_of_the_command_line_are_those_of_the_library():
    assert get_args(QuestionSettings.model_fields["similarity"].annotation) == SIMILARITIES
    assert get_args(QuestionSettings.model_fields["vectorize"].annotation) == get_args(Vectorize)
