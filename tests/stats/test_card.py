"""The card: what is wanted and what is not, the front, and what the winner costs."""

import numpy as np
import pandas as pd
import pytest

from sclcs._core.errors import InputError, UnknownNameError
from sclcs.stats import Card, Target, find_aims, make_card, rank
from sclcs.stats.card import pareto_front
from sclcs.stats.sources import ArraySource

from small_fc import make_cohort, make_fc  # isort: skip

OPERATORS = ["pec", "gwtau", "prec_OAS"]


@pytest.fixture
def cohort():
    """Twenty-four subjects with two samples each; one is alone at its site."""
    rng = np.random.default_rng(4)
    subjects = [f"p{k:02d}" for k in range(24)]
    facts = {
        "diagnosis": ["HC", "MDD"] * 12,
        "site": ["x", "x", "y", "y"] * 5 + ["x", "x", "y", "z"],
        "mean_fd": rng.uniform(0.05, 0.4, 24),
        "sex": ["F", "M", "M"] * 8,
    }
    twice = {name: np.repeat(np.asarray(values), 2).tolist() for name, values in facts.items()}
    return make_cohort(np.repeat(subjects, 2).tolist(), **twice)


@pytest.fixture
def source(cohort):
    """The second operator sees the diagnosis best and motion as well, the third diagnosis only."""
    rng = np.random.default_rng(5)
    fc = make_fc(cohort, 3, rng, effect=0.0)
    patients = (cohort.samples["diagnosis"] == "MDD").to_numpy()
    motion = cohort.samples["mean_fd"].to_numpy()
    pattern, moved = rng.normal(size=(2, *fc.shape[-2:]))
    fc[1, patients] += 4.0 * pattern
    fc[2, patients] += 1.2 * pattern
    fc[1] += 15 * (motion - motion.mean())[:, None, None] * moved
    return ArraySource(fc, OPERATORS, cohort)


def test_the_usual_criteria_are_those_that_the_cohort_has(cohort):
    aims = find_aims(cohort.samples, Target("diagnosis", "classes"))
    assert [(aim.name, aim.wanted, aim.given) for aim in aims] == [
        ("reliability", True, ()),
        ("motion", False, ("site",)),
        ("site", False, ("mean_fd",)),
    ]
    assert [aim.target.kind for aim in aims] == ["subject", "number", "classes"]
    of_motion = find_aims(cohort.samples, Target("mean_fd", "number"))
    assert [aim.name for aim in of_motion] == ["reliability", "site"]
    once = cohort.samples[~cohort.samples["subject"].duplicated()].drop(columns=["mean_fd", "site"])
    assert find_aims(once, Target("diagnosis", "classes")) == []
    asked = find_aims(cohort.samples, Target("diagnosis", "classes"), "motion, sex=unwanted")
    assert [(aim.name, aim.wanted) for aim in asked] == [("motion", False), ("sex", False)]
    assert find_aims(cohort.samples, Target("diagnosis", "classes"), "none") == []
    with pytest.raises(InputError, match="wanted or unwanted, not 'maybe'"):
        find_aims(cohort.samples, Target("diagnosis", "classes"), "sex=maybe")
    with pytest.raises(UnknownNameError, match="no column 'iq'"):
        find_aims(cohort.samples, Target("diagnosis", "classes"), "iq")
    with pytest.raises(InputError, match=r"mean_fd; add it with `sclcs cohort label`"):
        find_aims(once, Target("diagnosis", "classes"), "motion")


def test_the_front_is_where_nothing_else_is_better_in_every_respect():
    values = np.array([[1.0, 0.2], [0.9, 0.1], [0.8, 0.3], [1.0, 0.3], [0.5, np.nan], [0.9, 0.1]])
    assert pareto_front(values, [True, False]).tolist() == [True, True, False, False, False, True]
    # More than chance is bad, less than chance is not better than chance.
    assert pareto_front(np.array([[1.0, -0.2], [2.0, -0.1]]), [True, False]).tolist() == [
        False,
        True,
    ]
    rng = np.random.default_rng(1)
    many, wanted = rng.normal(size=(30, 3)), [True, False, True]
    good = np.where(wanted, many, -np.maximum(many, 0))
    slow = [not any((b >= a).all() and (b > a).any() for b in good) for a in good]
    assert pareto_front(many, wanted).tolist() == slow


def test_the_card_says_what_the_winner_costs(source, tmp_path):
    ranking = rank(source, "diagnosis", permutations=100, bootstrap=40)
    card = make_card(source, ranking)
    assert card.table["spi"].iloc[0] == ranking.table["spi"].iloc[0] == "gwtau"
    assert card.names == ["reliability", "motion", "site"]
    table = card.table.set_index("spi")
    assert table["motion"].idxmax() == "gwtau"
    assert table.loc["gwtau", "motion"] > 0.1
    assert table.loc["gwtau", "front"]
    alone = rank(source, "mean_fd", covariates="site", permutations=0, bootstrap=0)
    assert table["motion"].to_dict() == pytest.approx(alone.scores.to_dict())
    persons = rank(source, "subject", score="i2c2", permutations=0, bootstrap=0)
    assert table["reliability"].to_dict() == pytest.approx(persons.scores.to_dict())
    assert "motion explains" in card.sentences[0]
    assert "more than 2 of 2 others" in card.sentences[0]
    again = Card.open(card.save(tmp_path / "card.csv"))
    pd.testing.assert_frame_equal(again.table, card.table)
    assert again.sentences == card.sentences
    assert again.aims == card.aims


def test_what_cannot_be_answered_is_noted_not_hidden(source, cohort):
    ranking = rank(source, "diagnosis", permutations=60, bootstrap=0)
    ranking.findings["effect"] = {"p": 0.6}
    single = cohort.take(list(cohort.samples.index[::2]))
    part = ArraySource(source._values[:, ::2], OPERATORS, single)
    card = make_card(part, ranking, "reliability,motion")
    assert card.names == ["motion"]
    assert card.notes[0].startswith("reliability is not on the card: task 'subject': there is no")
    assert card.sentences[0] == (
        "No effect of diagnosis was found: the order of operators says nothing about it."
    )


def test_an_operator_that_does_not_see_the_target_is_no_alternative():
    aim = {"name": "motion", "score": "share", "wanted": False}
    columns = ["spi", "name", "also", "target", "p", "motion", "front", "best_set"]
    rows = [
        ("a", "A", 0, 0.03, 0.001, 0.05, True, True),
        ("b", "B", 0, 0.02, 0.01, 0.02, True, True),
        ("c", "C", 0, 0.0, 0.9, 0.0, True, True),
    ]
    table = pd.DataFrame(rows, columns=columns)
    said = Card(table, "diagnosis", "share", [aim], seen=True).sentences[1]
    assert said == (
        "Of the 2 operators that see diagnosis beyond chance and that the data cannot tell from "
        "the best, B (b) sees least of motion, which explains 2.0% of its variance."
    )
    twins = Card(table.assign(also=[5, 1, 0]), "diagnosis", "share", [aim], seen=True).sentences
    assert twins[0].startswith("The first for diagnosis, A (a) and 5 equivalents: motion explains")
    assert "the best, B (b) and 1 equivalent sees least of motion" in twins[1]
    lowest = Card(table[::-1], "diagnosis", "share", [aim], seen=True).sentences[0]
    assert lowest.endswith("motion explains 0.0% of its variance, the least of all 3.")
    assert twins[-1].startswith("All 3 operators are on the front: for none is there another")
    some = Card(table.assign(front=[True, True, False]), "diagnosis", "share", [aim]).sentences[-1]
    assert some.startswith("2 of 3 operators are on the front: for each of the others there is")
    untested = Card(table.assign(p=np.nan), "diagnosis", "share", [aim]).sentences[1]
    assert untested.startswith("Of the 3 operators that the data cannot tell from the best, C (c)")
