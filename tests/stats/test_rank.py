import json

import numpy as np
import pandas as pd
import pytest
from small_fc import make_cohort, make_fc

import sclcs
from sclcs._core.errors import InputError, OutputExistsError, UnknownNameError, UnreadableFileError
from sclcs.cohort.coreset import CoreSet
from sclcs.spi import compute_batch as compute
from sclcs.stats import (
    CRITERIA,
    ArraySource,
    Inquiry,
    Ranking,
    criteria as criteria_module,
    evaluate,
    make_kernel,
    make_question,
    rank,
    register_criterion,
)
from sclcs.stats.ranking_table import COLUMNS, descending_ranks, share_scores
from sclcs.stats.verdict import entry_name, find_verdict

QUICK = {"bootstrap": 0, "permutations": 0}
ON_SUBJECTS = [name for name, c in CRITERIA.items() if "subject" in c.kinds]


def test_stronger_operators_rank_higher_and_lie_inside_their_intervals(source):
    ranking = rank(source, "subject", bootstrap=300, seed=1)
    table = ranking.table
    assert tuple(table.columns) == COLUMNS
    assert list(table["rank"]) == [1, 2, 3, 4, 5, 6]
    assert table["score"].is_monotonic_decreasing
    assert table["spi"][0] in {"prec_OAS", "mi_gaussian"}  # made with the largest subject part
    assert (table["low"] <= table["score"]).all()
    assert (table["score"] <= table["high"]).all()
    assert (table["rank_low"] <= table["rank_high"]).all()
    assert (table["n_samples"] == 14).all()
    assert (table["status"] == "ok").all()


def test_the_same_seed_gives_the_same_ranking_and_jobs_change_nothing(source):
    options = {"bootstrap": 50, "permutations": 20}
    tables = [rank(source, "subject", seed=4, n_jobs=jobs, **options).table for jobs in (1, 3)]
    pd.testing.assert_frame_equal(*tables)
    other = rank(source, "subject", seed=5, **options).table
    assert (other["low"] != tables[0]["low"]).any()
    assert other["score"].equals(tables[0]["score"])  # the score itself has no seed


def test_intervals_cover_the_score_of_new_subjects(rng):
    """90 % intervals from 24 subjects hold the score of a very large cohort most of the time."""
    large = make_cohort(np.repeat([f"p{i}" for i in range(400)], 2))
    fc = make_fc(large, 2, rng, effect=2.0)[1:]
    truth = rank(ArraySource(fc, ["pec"], large), **QUICK).table["score"][0]
    held = 0
    for draw in range(40):
        some = np.sort(np.random.default_rng(draw).permutation(400)[:24])
        rows = np.ravel(np.column_stack([2 * some, 2 * some + 1]))
        source = ArraySource(fc[:, rows], ["pec"], large.take(rows))
        table = rank(source, bootstrap=200, permutations=0, confidence=0.9).table
        held += table["low"][0] <= truth <= table["high"][0]
    assert 28 <= held <= 40


def test_a_core_set_ranks_only_its_samples(source, labelled_cohort):
    chosen = ["s0", "s2", "s3", "s4", "s9", "s10"]
    core = CoreSet(chosen, method="random", seed=3)
    on_core = rank(source, "subject", coreset=core, **QUICK)
    alone = ArraySource(
        np.stack([source.matrices(spi, core.rows(source.sample_ids)) for spi in source.operators]),
        source.operators,
        labelled_cohort.take(chosen),
    )
    pd.testing.assert_series_equal(on_core.scores, rank(alone, "subject", **QUICK).scores)
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


def test_samples_without_a_target_do_not_count_as_used(rng):
    subjects = list("aabbccddee")
    ages = dict(zip("abcde", [20.0, 31.5, np.nan, 44.0, 52.5], strict=True))
    cohort = make_cohort(subjects, age=[ages[subject] for subject in subjects])
    ranking = rank(ArraySource(make_fc(cohort, 1, rng), ["pec"], cohort), "age", **QUICK)
    assert ranking.table["n_samples"].tolist() == [8]
    assert ranking.provenance["question"]["samples"] == 8


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


@pytest.mark.parametrize("score", ON_SUBJECTS)
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
    ranking = rank(ArraySource(fc, names, labelled_cohort), bootstrap=40, permutations=20)
    table = ranking.table.set_index("spi")
    assert set(table["rank"]) == {1.0, 2.0}  # the two are one entry
    for column in ("low", "rank_low", "p", "best_p"):
        assert table.loc["cov_OAS", column] == table.loc["cov_EmpiricalCovariance", column]
    assert table.loc["cov_OAS", "rank"] == table.loc["cov_EmpiricalCovariance", "rank"]
    assert table["rank_group"].to_dict() == {
        "cov_EmpiricalCovariance": "pearson",
        "cov_OAS": "pearson",
        "pec": "",
    }
    groups = ranking.groups.set_index("spi")
    assert groups["also"].to_dict() == {"cov_EmpiricalCovariance": ["cov_OAS"], "pec": []}
    name = "Pearson correlation (cov_EmpiricalCovariance) and 1 equivalent"
    assert name in [entry_name(row) for _, row in ranking.groups.iterrows()]
    # Ranked alone, it still stands for those that need not be computed.
    alone = rank(ArraySource(fc[[0, 2]], names[::2], labelled_cohort), bootstrap=0, permutations=0)
    assert set(alone.table["equivalents"]) == {""}
    named = alone.naming({"cov_EmpiricalCovariance": ["cov_OAS", "cov_LedoitWolf"]})
    assert named.groups.set_index("spi").loc["cov_EmpiricalCovariance", "also"] == [
        "cov_LedoitWolf",
        "cov_OAS",
    ]
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
    by_array = rank(fc, "subject", cohort=cohort, **QUICK).table
    pd.testing.assert_frame_equal(rank(cohort, "subject", names, **QUICK).table, by_array)
    part = rank(fc[:, [6, 0, 1, 5]], cohort=cohort, **QUICK).table
    core = CoreSet(["s0", "s1", "s5", "s6"])
    on_core = rank(cohort, spis=names, coreset=core, **QUICK).table
    assert set(on_core.pop("source")) == {"core-set"}
    assert set(part.pop("source")) == {"exact"}
    pd.testing.assert_frame_equal(on_core, part)
    with pytest.raises(InputError, match="needs the cohort"):
        rank(fc)
    numbered = compute(cohort.signals[:3], names)
    with pytest.raises(InputError, match="3 numbered samples, the cohort has 7"):
        rank(numbered, cohort=cohort)


def test_one_pass_answers_several_questions(source):
    cores = [None, CoreSet(["s0", "s1", "s3", "s5", "s6", "s7", "s8", "s10", "s12"])]
    asked = [(task, core) for task in ("subject", "diagnosis", "site") for core in cores]
    inquiries = []
    for task, core in asked:
        question = make_question(source.samples, task, core)
        fitting = [c for c in CRITERIA.values() if question.target.kind in c.kinds]
        inquiries.append(Inquiry(question, tuple(fitting)))
    answers = evaluate(source, source.operators, inquiries)
    for (task, core), inquiry, answer in zip(asked, inquiries, answers, strict=True):
        for criterion in inquiry.criteria:
            alone = rank(source, task, coreset=core, score=criterion.name, **QUICK).scores
            found = answer.point[criterion.name]
            np.testing.assert_allclose(found, alone[source.operators], atol=1e-5, equal_nan=True)


@pytest.fixture
def larger(rng):
    """Forty subjects in two classes and two sites; a label effect that grows by operator."""
    names = [f"p{k:02d}" for k in range(40)]
    cohort = make_cohort(
        names,
        diagnosis=["HC", "MDD"] * 20,
        site=(["x"] * 10 + ["y"] * 10) * 2,
        age=list(20.0 + np.arange(40) * 0.7),
    )
    fc = make_fc(cohort, 6, rng, effect=0.0)
    shift = rng.normal(size=fc.shape[-2:])
    patients = (cohort.samples["diagnosis"] == "MDD").to_numpy()
    fc[:, patients] += np.linspace(0, 1.2, 6)[:, None, None, None] * shift
    operators = ["kendalltau", "cov_EmpiricalCovariance", "pec", "gwtau", "prec_OAS", "mi_gaussian"]
    return ArraySource(fc, operators, cohort)


def test_an_effect_is_found_with_p_best_set_and_sentences(larger):
    ranking = rank(larger, "diagnosis", bootstrap=200, permutations=200)
    table = ranking.table
    assert ranking.score == "share"
    assert table["p"].is_monotonic_increasing or table["p"].iloc[0] <= 0.02
    assert table["p"].iloc[0] < 0.05 < table.set_index("spi").loc["kendalltau", "p"]
    assert (table["p"] >= table["p_single"]).all()
    assert table["best_set"].iloc[0]
    assert not table.set_index("spi").loc["kendalltau", "best_set"]
    assert ranking.best_set["spi"].tolist() == table.loc[table["best_set"], "spi"].tolist()
    assert ranking.findings["classes"] == {"HC": 20, "MDD": 20}
    text = " ".join(ranking.answer)
    assert "There is an effect of diagnosis" in text
    assert "permuted within site" in text
    assert ("The best operator is" in text) or ("cannot tell these" in text)
    assert "scored on the other half" in text


def test_a_known_operator_that_is_not_beyond_chance_is_not_recommended(larger):
    ranking = rank(larger, "diagnosis", bootstrap=200, permutations=200)
    table = ranking.table.copy()
    known, shown = table["spi"] == "kendalltau", table["p"] < 0.05
    table["best_set"] = known | shown
    assert table.loc[known, "p"].item() > 0.05
    said = " ".join(_with_table(ranking, table).answer)
    first = table.loc[shown, "spi"].iloc[0]
    assert "the best known of them is Kendall's tau (kendalltau), which by itself is not" in said
    assert f"Of the set, {shown.sum()} are, first of them" in said
    assert f"({first})" in said.split("first of them")[1].split(".")[0]
    alone = table.assign(best_set=known | (table["spi"] == first))
    assert "Of the set, only " in " ".join(_with_table(ranking, alone).answer)
    table.loc[known, "p"] = 0.04
    assert "by itself" not in " ".join(_with_table(ranking, table).answer)
    table["p"] = np.nan  # not tested: nothing is said
    assert "by itself" not in " ".join(_with_table(ranking, table).answer)


def _with_table(ranking, table):
    halves = {"halves": {"kendall": 0.5}}
    found = {**ranking.findings, **halves}
    return Ranking(table, ranking.task, ranking.score, None, ranking.provenance, found)


def test_persons_compared_with_themselves_are_permuted_within_subjects_and_not_asked_for_scatter(
    rng,
):
    names = np.repeat([f"p{k:02d}" for k in range(20)], 2).tolist()
    cohort = make_cohort(names, drug=["off", "on"] * 20, site=["x"] * 20 + ["y"] * 20)
    source = ArraySource(make_fc(cohort, 2, rng, effect=0.0), ["pec", "gwtau"], cohort)
    said = " ".join(rank(source, "drug", permutations=60, bootstrap=20).answer)
    assert "target permuted within subjects" in said
    assert "within site" not in said
    assert "scatter" not in said


def test_no_effect_is_said_and_ranks_are_called_noise(larger):
    shuffled = np.random.default_rng(0).permutation(larger.samples["diagnosis"].to_numpy())
    cohort = make_cohort(list(larger.samples["subject"]), diagnosis=list(shuffled))
    fc = np.stack([larger.matrices(spi) for spi in larger.operators])
    ranking = rank(ArraySource(fc, larger.operators, cohort), "diagnosis", bootstrap=40)
    assert ranking.table["p"].min() > 0.05
    assert ranking.answer[0].startswith("No operator is shown to see diagnosis")
    assert "The order of operators may be nothing but noise." in ranking.answer[0]
    assert "cannot tell" not in " ".join(ranking.answer)


def test_a_label_that_sites_determine_cannot_be_tested(larger):
    by_site = np.where(larger.samples["site"] == "x", "HC", "MDD")
    cohort = make_cohort(
        list(larger.samples["subject"]), diagnosis=list(by_site), site=list(larger.samples["site"])
    )
    fc = np.stack([larger.matrices(spi) for spi in larger.operators])
    source = ArraySource(fc, larger.operators, cohort)
    ranking = rank(source, "diagnosis", bootstrap=0)
    assert ranking.table["p"].isna().all()
    (only,) = ranking.answer  # nothing can be said of scatter, and site cannot be taken out
    assert "cannot be tested" in only
    assert rank(source, "diagnosis", bootstrap=0, within=False).table["p"].notna().all()
    with pytest.raises(InputError, match="explain the target completely"):
        rank(source, "diagnosis", within="site")


def test_noisier_patients_are_named(larger, rng):
    fc = rng.normal(size=(3, 40, 6, 6)) * 0.3 + rng.normal(size=(3, 1, 6, 6))
    patients = (larger.samples["diagnosis"] == "MDD").to_numpy()
    fc[:, patients] += rng.normal(size=(3, patients.sum(), 6, 6))
    names = ["pec", "gwtau", "prec_OAS"]
    cohort = make_cohort(
        list(larger.samples["subject"]), diagnosis=list(larger.samples["diagnosis"])
    )
    ranking = rank(ArraySource(fc, names, cohort), "diagnosis", permutations=300, bootstrap=40)
    assert (ranking.table["scatter_class"] == "MDD").all()
    assert (ranking.table["scatter"] > 1.2).all()
    assert (ranking.table["scatter_p"] < 0.05).all()
    assert "Matrices of MDD scatter more under 3 of 3 operators" in ranking.answer[-1]


def test_scatter_under_any_operator_is_named(larger, rng):
    """Noise belongs to the data: the winner need not be the operator that shows it."""
    fc = rng.normal(size=(3, 40, 6, 6)) * 0.3 + rng.normal(size=(3, 1, 6, 6))
    patients = (larger.samples["diagnosis"] == "MDD").to_numpy()
    fc[0, patients] += rng.normal(size=(1, 6, 6))  # a clear effect without scatter
    fc[2, patients] += rng.normal(size=(patients.sum(), 6, 6))
    names = ["pec", "gwtau", "prec_OAS"]
    cohort = make_cohort(
        list(larger.samples["subject"]), diagnosis=list(larger.samples["diagnosis"])
    )
    ranking = rank(ArraySource(fc, names, cohort), "diagnosis", permutations=300, bootstrap=0)
    table = ranking.table.set_index("spi")
    assert table["score"].idxmax() == "pec"
    assert table.loc["pec", "scatter_p"] > 0.05
    scatter = ranking.findings["scatter"]
    assert (scatter["spi"], scatter["operators"]) == ("prec_OAS", 1)
    assert scatter["scatter_p"] == table.loc["prec_OAS", "scatter_p"] < 0.05
    assert "Matrices of MDD scatter more under 1 of 3 operators" in ranking.answer[-1]


def test_what_sentences_name_is_what_people_know(larger, rng):
    """Entries by their known name with equivalents; codes of classes by their column."""
    fc = rng.normal(size=(2, 40, 6, 6)) + rng.normal(size=(2, 1, 6, 6))
    fc = np.concatenate([fc[:1], fc[:1], fc[1:]])
    patients = (larger.samples["diagnosis"] == "MDD").to_numpy()
    cohort = make_cohort(
        list(larger.samples["subject"]),
        diagnosis=list(larger.samples["diagnosis"]),
        arm=list(np.where(patients, 2.0, 1.0)),
    )
    names = ["cov_EmpiricalCovariance", "cov_LedoitWolf", "pec"]
    quick = {"permutations": 60, "bootstrap": 0, "seed": 2}
    unseen = rank(ArraySource(fc, names, cohort), "arm", **quick)
    strongest = unseen.groups.sort_values("p", kind="stable").iloc[0]
    assert f"the strongest of 2, {entry_name(strongest)}, would look as strong" in unseen.answer[0]
    fc[:2, patients] += 2 * rng.normal(size=(1, patients.sum(), 6, 6))
    noisy = rank(ArraySource(fc, names, cohort), "arm", **quick)
    assert "Matrices of arm 2 scatter more under 1 of 2 operators" in noisy.answer[-1]
    assert "clearest under Pearson correlation: " in noisy.answer[-1]


def test_halves_that_cannot_be_scored_are_not_called_unasked(larger):
    few = [f"c{k % 20}" for k in range(40)]  # two subjects of every class: none in each half
    cohort = make_cohort(list(larger.samples["subject"]), kind=few)
    fc = np.stack([larger.matrices(spi) for spi in larger.operators])
    ranking = rank(ArraySource(fc, larger.operators, cohort), "kind", permutations=0, bootstrap=20)
    assert "cannot be said: half of the subjects are too few" in ranking.answer[0]
    unasked = rank(ArraySource(fc, larger.operators, cohort), "kind", permutations=0, bootstrap=0)
    assert "was not asked (no redraws of subjects)" in unasked.answer[0]


def test_numbers_are_ranked_by_share(larger, rng):
    fc = np.stack([larger.matrices(spi) for spi in larger.operators]).astype(float)
    age = larger.samples["age"].to_numpy()
    strength = np.linspace(0, 0.08, 6)[:, None, None, None]
    fc += strength * (age - age.mean())[:, None, None] * rng.normal(size=(6, 6))
    source = ArraySource(fc, larger.operators, larger_cohort(larger))
    ranking = rank(source, "age", bootstrap=100, permutations=100)
    assert ranking.table["spi"].iloc[0] == "mi_gaussian"
    assert ranking.table["p"].iloc[0] < 0.05
    adjusted = rank(source, "age", covariates="site,diagnosis", bootstrap=0, permutations=0)
    assert adjusted.provenance["question"]["covariates"] == ["site", "diagnosis"]


def larger_cohort(source):
    columns = {name: list(source.samples[name]) for name in ("diagnosis", "site", "age")}
    return make_cohort(list(source.samples["subject"]), **columns)


def test_a_criterion_of_the_user_is_ranked_redrawn_and_permuted(larger):
    def alignment(kernel, target):
        """Kernel-target alignment."""
        centred = target - target.mean()
        return float(centred @ kernel @ centred / (centred @ centred))

    register_criterion("alignment", alignment, chance=0.0)
    try:
        ranking = rank(larger, "diagnosis", score="alignment", bootstrap=60, permutations=60)
        question = make_question(larger.samples, "diagnosis")
        for spi in larger.operators:
            kernel = make_kernel(larger.matrices(spi)).take(question.cases.rows)
            expected = alignment(kernel.of_cases(question.cases), question.values)
            assert ranking.scores[spi] == pytest.approx(expected)
        assert ranking.table["p"].iloc[0] < 0.05
        assert ranking.table["low"].notna().all()
        with pytest.raises(InputError, match="cannot be used for subject"):
            rank(larger, "subject", score="alignment")
    finally:
        criteria_module._CRITERIA.pop("alignment")
    with pytest.raises(InputError, match="cannot name a new criterion"):
        register_criterion("share", alignment)


def test_a_criterion_of_the_user_tests_what_covariates_leave_of_a_number(rng):
    """Permuted targets are treated as the real one, or the test would find nothing at all."""

    def alignment(kernel, target):
        return float(target @ kernel @ target / (target @ target))

    motion = rng.normal(size=40)
    score = 3 * motion + rng.normal(size=40)
    names = [f"p{k:02d}" for k in range(40)]
    cohort = make_cohort(names, motion=list(motion), score=list(score))
    fc = make_fc(cohort, 2, rng)
    left = score - np.polyval(np.polyfit(motion, score, 1), motion)
    fc[0] += 0.4 * left[:, None, None] * rng.normal(size=(6, 6))
    register_criterion("alignment", alignment)
    try:
        source = ArraySource(fc, ["pec", "gwtau"], cohort)
        options = {"covariates": "motion", "covariate_form": "linear", "permutations": 200}
        ranking = rank(source, "score", score="alignment", **options)
    finally:
        criteria_module._CRITERIA.pop("alignment")
    question = make_question(source.samples, "score", covariates="motion")
    kernel = make_kernel(source.matrices("pec")).take(question.cases.rows)
    assert ranking.scores["pec"] == pytest.approx(
        alignment(kernel.of_cases(question.cases), left)  # left of the target is left of both
    )
    assert ranking.table.set_index("spi").loc["pec", "p"] < 0.01


def test_nothing_is_left_out_of_a_score_that_does_not_predict(larger):
    with pytest.raises(InputError, match="predicts nothing that site could be left out of"):
        rank(larger, "diagnosis", leave_out="site")


def test_saved_and_opened_is_the_same(source, tmp_path):
    core = CoreSet(source.sample_ids, seed=2)
    ranking = rank(source, "diagnosis", bootstrap=20, permutations=30, coreset=core)
    path = ranking.save(tmp_path / "new" / "ranking.csv")
    again = Ranking.open(path)
    pd.testing.assert_frame_equal(again.table, ranking.table)
    assert (again.task, again.score) == ("diagnosis", "share")
    assert again.findings == ranking.findings
    assert again.answer == ranking.answer
    assert again.coreset == ranking.coreset
    facts = json.loads(path.with_suffix(".json").read_text())["provenance"]
    assert facts["cohort_fingerprint"] == source.fingerprint
    assert facts["bootstrap"]["draws"] == 20
    assert facts["question"]["exclude_same_subject"] is True
    assert repr(again) == "Ranking(6 operators, task 'diagnosis', share, 14 samples)"
    with pytest.raises(OutputExistsError):
        ranking.save(path)
    path.write_text("spi,score\npec,1\n")
    with pytest.raises(UnreadableFileError, match="make the ranking again"):
        Ranking.open(path)
    path.with_suffix(".json").unlink()
    with pytest.raises(UnreadableFileError, match="keep the two files together"):
        Ranking.open(path)
    assert sclcs.Ranking is Ranking


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bootstrap": -1}, "`bootstrap` must be an integer of at least 0, got -1"),
        ({"permutations": -1}, "`permutations` must be an integer of at least 0, got -1"),
        ({"confidence": 95}, "`confidence` must be a number above 0 and below 1, got 95"),
        ({"score": "accuracy"}, "No score is called 'accuracy'"),
        ({"task": "iq"}, "no column 'iq'"),
        ({"spis": ["pec", "pec_orth"]}, "not in the FC store: pec_orth"),
        ({"similarity": "cosine"}, "'spearman', 'pearson'"),
        ({"n_jobs": 0}, "`n_jobs` must be an integer of at least 1"),
    ],
)
def test_impossible_requests_are_refused(source, wrong, message):
    with pytest.raises(InputError, match=message):
        rank(source, **wrong)


def test_operators_may_be_chosen(source):
    assert set(rank(source, spis="gwt*,pec", **QUICK).table["spi"]) == {"pec", "gwtau"}
    assert set(rank(source, spis=["gwtau", "pec"], **QUICK).table["spi"]) == {"pec", "gwtau"}


def test_one_operator_alone_is_not_called_the_best_of_anything(source):
    alone = rank(source, "subject", ["prec_OAS"], permutations=60, bootstrap=20)
    assert find_verdict(alone).kind == "alone"
    said = " ".join(alone.answer)
    assert said.startswith("Only ")
    assert "Persons can be told apart (p = 0.016, target permuted within site)." in said
    for wrong in ("best operator", "largest of many", "1 operators", "of them"):
        assert wrong not in said
    unseen = replace_findings(alone, p=0.997)
    assert unseen.answer[0] == (
        f"The only operator, {alone.table['name'][0]} (prec_OAS), is not shown to see persons: it "
        "would look as strong by chance in nearly all cohorts without any effect (p = 1, target "
        "permuted within site)."
    )


def replace_findings(ranking, p):
    effect = {**ranking.findings["effect"], "p": p}
    found = {**ranking.findings, "effect": effect}
    return Ranking(ranking.table, ranking.task, ranking.score, None, ranking.provenance, found)
