"""The bars of the statistics at toy size: quick, and every promise is looked at once."""

import numpy as np
import pandas as pd
import pytest

from paper.soundness_cohorts import (
    CONDITIONS,
    KINDS,
    OLD_SCORES,
    OPERATORS,
    Condition,
    Effort,
    Groups,
    _matrices,
    make_groups,
    measure_cohort as measure,
    old_statistics,
    order_rows,
)
from sclcs.stats import make_kernel, make_question, rank

QUICK = Effort(permutations=99, draws=60, truth=150)


def cohorts(condition, count):
    return pd.DataFrame([measure(condition, number, 0, QUICK) for number in range(count)])


@pytest.mark.parametrize("score", OLD_SCORES)
def test_old_scores_from_quadratic_forms_are_the_criteria(score):
    source = _matrices(make_groups(Groups(8, 5, effect=0.2)))
    question = make_question(source.samples, "diagnosis")
    classes = np.asarray(question.values)
    kernel = make_kernel(source.matrices("spearmanr")).of_cases(question.cases)
    orders = question.permutations(3, seed=1)
    found = old_statistics(kernel, classes, orders)[score]
    name, pooled = score.split()[0], "pooled" in score
    asked = {"score": name, "pooled": pooled, "permutations": 0, "bootstrap": 0}
    expected = rank(source, "diagnosis", ["spearmanr"], **asked).scores.iloc[0]
    assert found[0] == pytest.approx(
        expected, rel=1e-3
    )  # the criteria count ordered pairs less one
    for place, order in enumerate(orders, start=1):
        alone = old_statistics(kernel, classes[order], orders[:0])[score]
        assert found[place] == pytest.approx(alone[0], rel=1e-9)


@pytest.mark.parametrize("sizes", [(22, 22), (40, 4)])
def test_no_effect_is_rarely_found_and_has_no_size(sizes):
    found = cohorts(Condition("no effect", Groups(*sizes)), 25)
    assert found["found"].sum() <= 4
    assert abs(found["share"].mean()) < 3.5 * found["share"].std() / 5


def test_a_site_that_goes_with_the_diagnosis_is_taken_out_or_deceives():
    groups = Groups(20, 20, confounded=True)
    assert cohorts(Condition("no effect", groups), 4)["share"].min() > 0.02  # the scanner's share
    for bar in ("site as covariate", "within site"):
        found = cohorts(Condition(bar, groups), 15)
        assert found["found"].sum() <= 3
        assert abs(found["share"].mean()) < 3.5 * found["share"].std() / np.sqrt(15)


def test_noise_has_one_size_whatever_the_classes_and_is_named():
    shares = {}
    for sizes in [(18, 18), (12, 24)]:
        found = cohorts(Condition("noisier patients", Groups(*sizes, noise=2.5)), 12)
        shares[sizes] = found["share"].mean(), found["share"].std() / np.sqrt(12)
        assert found["scattered"].mean() > 0.5
    (one, first), (other, second) = shares.values()
    assert one == pytest.approx(other, abs=3 * np.hypot(first, second))


def test_a_real_effect_is_found_and_the_best_is_in_the_set():
    found = cohorts(Condition("best set", Groups(24, 16, effect=0.25)), 10)
    assert found["held"].sum() >= 8
    assert found["size"].mean() < len(OPERATORS)


def test_the_order_of_operators_is_compared_with_that_of_all_subjects():
    source = _matrices(make_groups(Groups(30, 21, effect=0.3)))
    rows = pd.DataFrame(order_rows(source, source.operators, "diagnosis", 3, 0))
    assert set(rows["kind"]) == set(KINDS)
    assert len(rows) == 2 * 2 * 3 * 3  # scores, classes, parts, repeats
    mean = rows.groupby(["score", "kind"])["kendall"].mean()
    assert mean["share"].min() > 0.5


def test_the_conditions_are_those_of_the_bars():
    sizes = {bar: [c.groups.sizes for c in CONDITIONS if c.bar == bar] for bar in
             ("no effect", "site as covariate", "within site", "noisier patients")}  # fmt: skip
    assert sizes["no effect"] == ["22:22", "40:4", "4:40", "100:20"]
    assert sizes["site as covariate"] == sizes["within site"] == sizes["no effect"]
    assert sizes["noisier patients"] == ["22:22", "40:4", "4:40"]
