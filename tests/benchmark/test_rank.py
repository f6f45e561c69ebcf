import json

import numpy as np
import pandas as pd
import pytest
from small_fc import make_cohort, make_fc

import sclcs
from sclcs.benchmark import ArraySource, FCSource, Ranking, rank
from sclcs.benchmark.design import make_design
from sclcs.benchmark.evaluate import Question, evaluate
from sclcs.benchmark.ranks import descending_ranks, share_scores
from sclcs.benchmark.scores import SCORES
from sclcs.benchmark.tasks import LabelTask, SubjectTask
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError, OutputExistsError, UnknownNameError, UnreadableFileError
from sclcs.spi import compute

COLUMNS = ["spi", "score", "low", "high", "rank", "rank_low", "rank_high"]
COLUMNS += ["n_samples", "status", "reason", "rank_group"]


def test_stronger_operators_rank_higher_and_lie_inside_their_intervals(source):
    ranking = rank(source, "subject", bootstrap=300, seed=1)
    table = ranking.table
    assert list(table.columns) == COLUMNS
    assert list(table["rank"]) == [1, 2, 3, 4, 5, 6]
    assert table["score"].is_monotonic_decreasing
    assert table["spi"][0] in {"prec_OAS", "mi_gaussian"}  # made with the largest subject part
    assert (table["low"] <= table["score"]).all()
    assert (table["score"] <= table["high"] + 0.5).all()
    assert (table["rank_low"] <= table["rank_high"]).all()
    assert (table["n_samples"] == 14).all()
    assert (table["status"] == "ok").all()


def test_the_same_seed_gives_the_same_ranking_and_jobs_change_nothing(source):
    tables = [rank(source, "diagnosis", bootstrap=50, seed=4, n_jobs=jobs).table for jobs in (1, 3)]
    pd.testing.assert_frame_equal(*tables)
    other = rank(source, "diagnosis", bootstrap=50, seed=5).table
    assert (other["low"] != tables[0]["low"]).any()
    assert other["score"].equals(tables[0]["score"])  # the score itself has no seed


def test_intervals_cover_the_score_of_new_subjects(rng):
    """90 % intervals from 24 subjects hold the score of a very large cohort most of the time."""
    large = make_cohort(np.repeat([f"p{i}" for i in range(400)], 2))
    fc = make_fc(large, 2, rng, effect=2.0)[1:]
    truth = rank(ArraySource(fc, ["pec"], large)).table["score"][0]
    held = 0
    for draw in range(40):
        some = np.sort(np.random.default_rng(draw).permutation(400)[:24])
        rows = np.ravel(np.column_stack([2 * some, 2 * some + 1]))
        source = ArraySource(fc[:, rows], ["pec"], large.take(rows))
        table = rank(source, bootstrap=200, confidence=0.9).table
        held += table["low"][0] <= truth <= table["high"][0]
    assert 28 <= held <= 40


def test_a_core_set_ranks_only_its_samples(source, labelled_cohort):
    chosen = ["s0", "s2", "s3", "s4", "s9", "s10"]
    core = CoreSet(chosen, method="random", seed=3)
    on_core = rank(source, "subject", coreset=core)
    alone = ArraySource(
        np.stack([source.matrices(spi, core.rows(source.sample_ids)) for spi in source.operators]),
        source.operators,
        labelled_cohort.take(chosen),
    )
    pd.testing.assert_series_equal(on_core.scores, rank(alone, "subject").scores)
    assert on_core.coreset["method"] == "random"
    assert on_core.coreset["samples"] == 6
    assert (on_core.table["n_samples"] == 6).all()
    with pytest.raises(UnknownNameError, match="1 of 2 are not: s99"):
        rank(source, coreset=CoreSet(["s0", "s99"]))


def test_bad_operators_are_listed_with_the_reason(source, labelled_cohort, rng):
    fc = make_fc(labelled_cohort, 4, rng)
    fc[0, 3, 1, 2] = np.nan
    fc[1, :] = 2.5
    fc[2, 5] = 1.0  # one constant matrix of fourteen
    names = ["pec", "gwtau", "kendalltau", "mi_gaussian"]
    table = rank(ArraySource(fc, names, labelled_cohort)).table.set_index("spi")
    assert table.loc["pec", "status"] == "not-finite"
    assert table.loc["pec", "reason"] == "1 of 14 samples hold values that are not finite: s3"
    assert table.loc["gwtau", "status"] == "constant"
    assert table.loc["kendalltau", "status"] == "constant"
    assert table["rank"].isna().tolist() == [False, True, True, True]
    tolerant = rank(
        ArraySource(fc, names, labelled_cohort), max_constant=0.1, max_nonfinite=0.1
    ).table.set_index("spi")
    assert tolerant.loc["kendalltau", "n_samples"] == 13
    assert tolerant.loc["pec", "status"] == "ok"


def test_operators_are_judged_on_all_samples_whatever_the_core_set(source, labelled_cohort, rng):
    fc = make_fc(labelled_cohort, 2, rng)
    fc[1, 13, 0, 1] = np.inf  # not in the core-set below
    matrices = ArraySource(fc, ["pec", "gwtau"], labelled_cohort)
    table = rank(matrices, coreset=CoreSet(["s0", "s1", "s3", "s4"])).table
    assert table["status"].tolist() == ["ok", "not-finite"]


def test_the_engines_reason_is_passed_on(labelled_cohort, rng):
    fc = make_fc(labelled_cohort, 1, rng)
    fc[0, 0] = np.nan
    status = pd.DataFrame(
        {"spi": ["pec"], "sample": ["s0"], "status": ["failed"], "reason": ["singular matrix"]}
    )
    source = ArraySource(fc, ["pec"], labelled_cohort, status)
    assert rank(source).table["reason"][0].endswith("s0 (singular matrix)")


@pytest.mark.parametrize("score", SCORES)
def test_degenerate_sets_give_nan_and_a_reason(source, score):
    ranking = rank(source, "subject", coreset=CoreSet(["s0", "s3"]), score=score, bootstrap=5)
    assert ranking.table["score"].isna().all()
    assert ranking.table["rank"].isna().all()
    assert set(ranking.table["status"]) == {"undefined"}
    assert ranking.table["reason"].str.contains("no within pair").all()


def test_rank_equivalent_operators_are_one_group(labelled_cohort, rng):
    one = make_fc(labelled_cohort, 1, rng)[0]
    fc = np.stack([one, np.exp(one), make_fc(labelled_cohort, 1, rng)[0]])
    names = ["cov_EmpiricalCovariance", "cov_OAS", "pec"]
    ranking = rank(ArraySource(fc, names, labelled_cohort))
    table = ranking.table.set_index("spi")
    assert table.loc["cov_OAS", "rank"] == table.loc["cov_EmpiricalCovariance", "rank"]
    assert table["rank_group"].to_dict() == {
        "cov_EmpiricalCovariance": "pearson",
        "cov_OAS": "pearson",
        "pec": "",
    }
    groups = ranking.groups.set_index("spi")
    assert groups["also"].to_dict() == {"cov_EmpiricalCovariance": ["cov_OAS"], "pec": []}
    pearson = rank(ArraySource(fc, names, labelled_cohort), similarity="pearson").table
    assert set(pearson["rank_group"]) == {""}


def test_shared_scores_forgive_rounding_only():
    scores = np.array([1.0, 1.00001, 2.0, 2.5, np.nan])
    found = share_scores(scores, ["g", "g", "h", "h", "g"])
    np.testing.assert_allclose(found, [1.000005, 1.000005, 2.0, 2.5, np.nan])


def test_ranks_average_ties_after_rounding():
    scores = np.array([0.5, 1.0, 1.0 + 1e-11, np.nan, 0.2])
    np.testing.assert_array_equal(descending_ranks(scores), [3, 1.5, 1.5, 5, 4])


def test_cohort_array_and_store_give_the_same(cohort, rng):
    names = ["kendalltau", "cov_EmpiricalCovariance", "pec_orth"]
    samples = cohort.samples.assign(session=["1", "2", "1", "1", "2", "1", "2"])
    cohort = sclcs.Cohort(rng.normal(size=(7, 5, 40)), samples, cohort.regions)
    fc = compute(cohort.signals, names, sample_keys=cohort.sample_ids)
    by_array = rank(fc, "subject", cohort=cohort).table
    pd.testing.assert_frame_equal(rank(cohort, "subject", names).table, by_array)
    part = rank(fc[:, [6, 0, 1, 5]], cohort=cohort).table
    core = CoreSet(["s0", "s1", "s5", "s6"])
    pd.testing.assert_frame_equal(rank(cohort, spis=names, coreset=core).table, part)
    assert isinstance(ArraySource.from_dataarray(fc, cohort), FCSource)
    with pytest.raises(InputError, match="needs the cohort"):
        rank(fc)
    numbered = compute(cohort.signals[:3], names)
    with pytest.raises(InputError, match="3 numbered samples, the cohort has 7"):
        rank(numbered, cohort=cohort)


def test_one_pass_answers_several_questions(source):
    tasks = [SubjectTask(), LabelTask("diagnosis"), LabelTask("site")]
    cores = [None, CoreSet(["s0", "s1", "s5", "s6", "s7", "s8", "s10", "s12"])]
    scores = tuple(SCORES.values())
    designs = [make_design(source.samples, task, core) for task in tasks for core in cores]
    answers = evaluate(source, source.operators, [Question(design, scores) for design in designs])
    for design, answer, core in zip(designs, answers, cores * 3, strict=True):
        for name in SCORES:
            alone = rank(source, design.task, coreset=core, score=name).scores
            found = share_scores(answer.point[name], [""] * len(source.operators))
            np.testing.assert_allclose(found, alone[source.operators], atol=1e-5, equal_nan=True)


def test_saved_and_opened_is_the_same(source, tmp_path):
    ranking = rank(source, "diagnosis", bootstrap=20, coreset=CoreSet(source.sample_ids, seed=2))
    path = ranking.save(tmp_path / "new" / "ranking.csv")
    again = Ranking.open(path)
    pd.testing.assert_frame_equal(again.table, ranking.table)
    assert (again.task, again.score) == ("diagnosis", "cohen_d")
    assert again.coreset == ranking.coreset
    facts = json.loads(path.with_suffix(".json").read_text())["provenance"]
    assert facts["cohort_fingerprint"] == source.fingerprint
    assert facts["bootstrap"]["draws"] == 20
    assert facts["task"]["exclude_same_subject"] is True
    assert repr(again) == "Ranking(6 operators, task 'diagnosis', cohen_d, 14 samples)"
    with pytest.raises(OutputExistsError):
        ranking.save(path)
    path.write_text("spi,score\npec,1\n")
    with pytest.raises(UnreadableFileError, match="Expected a ranking"):
        Ranking.open(path)
    path.with_suffix(".json").unlink()
    with pytest.raises(UnreadableFileError, match="keep the two files together"):
        Ranking.open(path)
    assert sclcs.Ranking is Ranking


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bootstrap": -1}, "number of draws, not -1"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"score": "accuracy"}, "No score is called 'accuracy'"),
        ({"task": "iq"}, "no column 'iq'"),
        ({"spis": ["pec", "pec_orth"]}, "not in the FC store: pec_orth"),
        ({"similarity": "cosine"}, "spearman, pearson"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_impossible_requests_are_refused(source, wrong, message):
    with pytest.raises(InputError, match=message):
        rank(source, **wrong)


def test_operators_may_be_chosen(source):
    assert set(rank(source, spis="gwt*,pec").table["spi"]) == {"pec", "gwtau"}
    assert set(rank(source, spis=["gwtau", "pec"]).table["spi"]) == {"pec", "gwtau"}
