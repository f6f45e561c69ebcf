"""Targets, cases, covariates, and which pairs are compared."""

import numpy as np
import pandas as pd
import pytest

from sclcs._core.errors import InputError, UnknownNameError
from sclcs.cohort.coreset import CoreSet
from sclcs.stats import CRITERIA, Covariates, PairRules, Target, find_target, make_question
from sclcs.stats.kernel import make_kernel
from sclcs.stats.targets import make_cases, treatment_of


@pytest.fixture
def samples():
    """Nine samples of four subjects; c has one session, d is of unknown diagnosis."""
    return pd.DataFrame(
        {
            "subject": ["b", "a", "b", "a", "c", "c", "a", "d", "b"],
            "window": [0, 0, 1, 1, 0, 1, 2, 0, 2],
            "session": [1, 1, 2, 2, 1, 1, 1, 1, 1],
            "site": ["x", "x", "x", "x", "y", "y", "x", "y", "x"],
            "diagnosis": ["HC", "MDD", "HC", "MDD", "HC", "HC", "MDD", None, "HC"],
            "age": [30.5, 20.0, 30.5, 20.0, 41.0, 41.0, 20.0, 25.0, 30.5],
            "mean_fd": [0.1, 0.2, 0.3, 0.2, np.nan, 0.4, 0.2, 0.1, 0.2],
            "drug": ["on", "on", "off", "off", "on", "on", "on", "off", "on"],
        },
        index=[f"s{i}" for i in range(9)],
    )


def kinds_by_name(samples, task, **options):
    design = make_question(samples, task, **options).pairs
    names = samples.index[design.rows]
    return pd.DataFrame(design.pair_kinds, index=names, columns=names)


def test_kinds_of_targets_are_told_by_the_column(samples):
    many = pd.concat([samples.assign(subject=f"{k}", age=20.0 + k) for k in range(12)])
    many.index = [f"s{i}" for i in range(len(many))]
    assert find_target(many, "subject") == Target("subject", "subject")
    assert find_target(many, "diagnosis") == Target("diagnosis", "classes")
    assert find_target(many, "age") == Target("age", "number")
    assert find_target(many, "session") == Target("session", "classes")  # two codes
    assert find_target(many, "window", "number").kind == "number"
    assert find_target(many, "window", "classes").kind == "classes"
    with pytest.raises(InputError, match=r"window has 3 different numbers \(0, 1, 2\).*--as"):
        find_target(many, "window")
    with pytest.raises(InputError, match=r"12 different numbers on 12 subjects.*--as number"):
        find_target(many, "age", "classes")
    with pytest.raises(InputError, match=r"diagnosis cannot be a number.*'HC'"):
        find_target(many, "diagnosis", "number")
    with pytest.raises(UnknownNameError, match="no column 'iq'"):
        find_target(many, "iq")


def test_several_columns_are_treated_one_by_one(samples):
    assert treatment_of("age", "number") == "number"
    assert treatment_of("age", ["classes", "age=number"]) == "number"
    assert treatment_of("window", {"age": "number"}) is None
    with pytest.raises(InputError, match="not as 'ordinal'"):
        treatment_of("age", "age=ordinal")
    assert find_target(samples, "window", "window=number, age=classes").kind == "number"
    halves = samples.assign(dose=[0.5, 1, 1.5] * 3, site=[1, 2, 3] * 3)
    assert find_target(halves, "dose").kind == "number"  # a code of classes has no decimals
    assert find_target(halves, "site").kind == "classes"  # nor is a site ever a quantity


def test_categories_block_pairs_and_numbers_cannot(samples):
    parts = [samples.assign(subject=samples["subject"] + str(k)) for k in range(3)]
    wide = pd.concat(parts)
    wide.index = [f"s{i}" for i in range(len(wide))]
    wide["code"] = np.repeat([1, 2, 3], 9)
    wide["age"] += np.repeat([0.5, 7.0, 3.5], 9)
    question = make_question(wide, "diagnosis", covariates="site")
    sites = wide["site"].iloc[question.pairs.rows].to_numpy()
    compared = question.pairs.pair_kinds >= 0
    assert not compared[sites[:, None] != sites[None, :]].any()
    CRITERIA["cohen_d"].check(question)
    with pytest.raises(
        InputError, match=r"cohen_d compares pairs and cannot take numbers out \(age\)"
    ):
        CRITERIA["cohen_d"].check(make_question(wide, "diagnosis", covariates="age"))
    with pytest.raises(InputError, match=r"code has 3 different numbers.*--as code=number"):
        make_question(wide, "diagnosis", covariates="code")
    asked = Covariates("code", {"code": "classes"})
    assert make_question(wide, "diagnosis", covariates=asked).kinds == {"code": "classes"}
    assert make_question(wide, "diagnosis", covariates="code", treat_as="code=number").facts()[
        "covariate_kinds"
    ] == {"code": "number"}


def test_numbers_as_classes_read_as_people_write_them(samples):
    frame = samples.assign(group=[1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 2.0, np.nan, 1.0])
    values = Target("group", "classes").values(frame)
    assert values.dropna().unique().tolist() == ["1", "2"]


def test_cases_are_subjects_and_average_their_samples(samples):
    cases = make_cases(samples, Target("diagnosis", "classes"))
    assert cases.table["subject"].tolist() == ["a", "b", "c"]
    assert cases.target.tolist() == ["MDD", "HC", "HC"]
    assert cases.n_unlabelled == 1
    assert not cases.repeated
    assert cases.table["mean_fd"].tolist() == pytest.approx([0.2, 0.2, 0.4])
    assert cases.table["site"].tolist() == ["x", "x", "y"]
    assert cases.table["drug"].isna().tolist() == [True, True, False]  # differs inside a and b
    rng = np.random.default_rng(0)
    kernel = make_kernel(rng.normal(size=(9, 5, 5)))
    found = kernel.take(cases.rows).of_cases(cases)
    of_a = [1, 3, 6]
    of_b = [0, 2, 8]
    assert found[0, 1] == pytest.approx(kernel.similarity[np.ix_(of_a, of_b)].mean(), rel=1e-5)
    assert found[0, 0] == pytest.approx(kernel.similarity[np.ix_(of_a, of_a)].mean(), rel=1e-5)


def test_the_order_of_the_samples_does_not_matter(samples):
    shuffled = samples.sample(frac=1, random_state=3)
    one = make_question(samples, "diagnosis")
    two = make_question(shuffled, "diagnosis")
    assert one.cases.table["subject"].tolist() == two.cases.table["subject"].tolist()
    np.testing.assert_array_equal(one.halves(3, 1), two.halves(3, 1))
    np.testing.assert_array_equal(one.permutations(3, 1), two.permutations(3, 1))


def test_a_label_that_changes_within_subjects_compares_them_with_themselves(samples):
    question = make_question(samples, "drug")
    assert question.cases.repeated
    assert question.cases.table["subject"].tolist() == ["a", "a", "b", "b"]
    assert question.cases.left_out == ["c", "d"]  # on or off only
    table = question.permutations(50, seed=0)
    assert (question.cases.subjects[table] == question.cases.subjects).all()
    assert question.facts()["left_out_subjects"] == ["c", "d"]


def test_covariates_become_numbers_and_missing_ones_name_the_subjects(samples):
    question = make_question(samples, "drug", covariates="age")
    assert question.covariate_matrix.shape == (4, 2)
    parts = [
        samples.assign(subject=samples["subject"] + str(k), age=samples["age"] + (3 * k) % 7)
        for k in range(4)
    ]
    cases = pd.concat(parts)
    cases.index = [f"s{i}" for i in range(len(cases))]
    found = make_question(cases, "diagnosis", covariates=["site", "age"])
    assert found.covariate_matrix.shape == (12, 3)
    assert found.covariate_matrix[:, 2].mean() == pytest.approx(0)
    assert found.covariate_matrix[:, 2].std() == pytest.approx(1)
    gappy = cases.assign(age=cases["age"].where(cases["subject"] != "b2"))
    with pytest.raises(InputError, match=r"age is unknown of 1 subject: b2.*--drop-missing"):
        make_question(gappy, "diagnosis", covariates="site,age")
    fewer = make_question(gappy, "diagnosis", covariates="site,age", drop_missing=True)
    assert len(fewer.cases) == 11
    assert fewer.cases.left_out == ["b2"]
    assert "b2" not in set(samples.index[:0]) | set(fewer.cases.table["subject"])
    with pytest.raises(InputError, match="is the target"):
        make_question(cases, "age", covariates="age", treat_as="number")
    with pytest.raises(InputError, match="takes no covariates"):
        make_question(cases, "subject", covariates="age")
    with pytest.raises(UnknownNameError, match="no column 'motion'"):
        make_question(cases, "diagnosis", covariates="motion")


def test_within_compares_inside_groups_only(samples):
    wide = pd.concat([samples.assign(subject=samples["subject"] + str(k)) for k in range(2)])
    wide.index = [f"s{i}" for i in range(len(wide))]
    free, inside = make_question(wide, "diagnosis"), make_question(wide, "diagnosis", within="site")
    assert free.exchangeable == "site"
    assert free.within is None
    assert free.covariate_matrix.shape[1] == 1
    assert inside.covariate_matrix.shape[1] == 2
    groups = wide["site"].iloc[inside.pairs.rows].to_numpy()
    compared = inside.pairs.pair_kinds >= 0
    assert not compared[groups[:, None] != groups[None, :]].any()
    assert (free.pairs.pair_kinds >= 0)[groups[:, None] != groups[None, :]].any()
    assert make_question(wide, "diagnosis", within=False).exchangeable is None
    sites = inside.cases.table["site"].to_numpy()
    table = inside.permutations(40, seed=2)
    assert (sites[table] == sites).all()


def test_fingerprinting_compares_across_sessions_when_there_are_several(samples):
    kinds = kinds_by_name(samples, "subject")
    assert kinds.loc["s1", "s3"] == 1
    assert kinds.loc["s1", "s6"] == -1  # the same subject in the same session
    assert kinds.loc["s1", "s0"] == 0
    plain = kinds_by_name(samples, "subject", rules=PairRules(across_sessions=False))
    assert plain.loc["s1", "s6"] == 1
    assert kinds_by_name(samples.assign(session=1), "subject").loc["s1", "s6"] == 1
    assert (np.diag(plain) == -1).all()


def test_sessions_must_be_known_to_be_compared(samples):
    gappy = samples.assign(session=["1", "1", "2", None, "1", "1", "2", "1", "1"])
    with pytest.raises(InputError, match="missing for 1 of 9"):
        _ = make_question(gappy, "subject").pairs
    with pytest.raises(UnknownNameError, match="no column 'session'"):
        _ = make_question(
            samples.drop(columns="session"), "subject", rules=PairRules(across_sessions=True)
        ).pairs


def test_label_tasks_leave_out_same_subject_pairs_and_unlabelled_samples(samples):
    kinds = kinds_by_name(samples, "diagnosis")
    assert "s7" not in kinds.index
    assert kinds.loc["s0", "s2"] == -1
    assert kinds.loc["s0", "s5"] == 1
    assert kinds.loc["s0", "s1"] == 0
    everything = kinds_by_name(samples, "diagnosis", rules=PairRules(exclude_same_subject=False))
    assert everything.loc["s0", "s2"] == 1
    assert make_question(samples, "diagnosis").n_unlabelled == 1


def test_weights_below_one_on_average_are_scaled_up(samples):
    names = ["s6", "s0", "s2", "s1"]
    rules = PairRules(across_sessions=False)
    light = make_question(
        samples, "subject", CoreSet(names, weight=[0.1, 0.2, 0.3, 0.2]), rules=rules
    ).pairs
    assert samples.index[light.rows].tolist() == ["s1", "s6", "s0", "s2"]
    np.testing.assert_allclose(light.weights, [1.0, 0.5, 1.0, 1.5])
    heavy = make_question(
        samples, "subject", CoreSet(names, weight=[1, 2, 3, 2]), rules=rules
    ).pairs
    np.testing.assert_allclose(heavy.weights, [2, 1, 2, 3])


@pytest.mark.parametrize(
    ("task", "chosen", "why"),
    [
        ("subject", ["s0", "s1", "s4"], "no within pair.*3 samples of 3 subjects.*at least two"),
        ("subject", ["s1", "s3"], "no between pair.*all 2 samples are of one class"),
        ("diagnosis", ["s0", "s5", "s2"], "all 2 subjects are of one class"),
        ("diagnosis", ["s0", "s1", "s4"], "no pair inside the classes MDD.*two subjects of every"),
        ("diagnosis", ["s7"], "no sample has a label"),
        ("age", ["s0", "s1", "s4"], "3 subjects with 3 different values are too few"),
    ],
)
def test_degenerate_sets_say_why(samples, task, chosen, why):
    question = make_question(
        samples,
        task,
        CoreSet(chosen),
        treat_as="number" if task == "age" else None,
        rules=PairRules(across_sessions=False),
    )
    assert pd.Series([question.degenerate]).str.contains(why).all()


def test_windows_of_fingerprinting_are_permuted_among_subjects_of_a_site(samples):
    rules = PairRules(across_sessions=False)
    question = make_question(samples, "subject", rules=rules)
    table = question.permutations(60, seed=0)
    site = samples["site"].to_numpy()[question.pairs.rows]
    assert (site[table] == site).all()
    # The first, second, third sample of a subject stay first, second, third ones.
    order = samples["window"].to_numpy()[question.pairs.rows]
    assert (order[table] == order).all()
