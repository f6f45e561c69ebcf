"""What a budget buys."""

import numpy as np
import pytest

from sclcs._core.constants import BUDGET_RESERVE
from sclcs._core.errors import InputError
from sclcs.run_folder import parse_budget
from sclcs.run_folder.settings import percent_words, time_words
from sclcs.runs.budget import FEWEST_CORE, MOST_CORE, Costs, allot, smallest_budget
from sclcs.runs.costs import CohortShape
from sclcs.spi.costs import OperatorCost, operator_costs, seconds_per_sample
from sclcs.spi.operators import catalogue
from sclcs.spi.versions import resolve

SHAPE = CohortShape(1535, 33, 70)


@pytest.fixture(scope="module")
def costs():
    return Costs.of(resolve("all"), SHAPE)


def test_every_operator_has_a_cost_and_shares_no_more_than_it_costs():
    table = operator_costs()
    assert set(table) == set(resolve("all"))
    assert all(0 < cost.own <= cost.alone for cost in table.values())
    families = catalogue()["family"]
    assert all(cost.family == families[name] for name, cost in table.items())


def test_what_a_family_shares_counts_once():
    one, two = OperatorCost("a", 3.0, 1.0), OperatorCost("a", 4.0, 2.0)
    assert seconds_per_sample([one]) == 3.0
    assert seconds_per_sample([one, two]) == 1 + 2 + 2
    assert seconds_per_sample([]) == 0.0


def test_the_cheapest_operators_come_first_and_a_shared_family_counts_as_cheap():
    table = {f"one{k}": OperatorCost("shared", 10.0, 0.1) for k in range(100)}
    table |= {"lonely": OperatorCost("lonely", 1.0, 1.0), "x": OperatorCost("x", 0.01, 0.01)}
    order = Costs(SHAPE, table).cheapest_first()
    assert order[0] == "x"
    assert order[-1] == "lonely"  # 1 s for one operator; the family has a hundred for 20 s
    assert sorted(order) == sorted(table)


@pytest.mark.parametrize("text", ["1%", "2%", "5%", "10%", "40%", "2m", "20m"])
def test_a_budget_is_never_overspent_and_every_operator_is_somewhere(costs, text):
    budget = parse_budget(text)
    bought = allot(costs, budget)
    assert bought.way == "estimated"
    allowed = budget.seconds_of(costs.on_everybody(costs.table))
    spent = bought.panel_seconds + bought.core_seconds
    assert spent + bought.left_seconds == pytest.approx((1 - BUDGET_RESERVE) * allowed)
    assert bought.left_seconds > 0
    assert bought.panel_seconds == pytest.approx(costs.on_everybody(bought.panel))
    assert bought.core_seconds == pytest.approx(bought.core_samples * costs.of_sample(bought.core))
    everyone = [*bought.panel, *bought.core, *bought.unseen]
    assert sorted(everyone) == sorted(costs.table)
    assert FEWEST_CORE <= bought.core_samples <= MOST_CORE
    dear, cheap = (np.mean([costs.table[n].own for n in part]) for part in (everyone, bought.panel))
    assert cheap < dear


def test_what_is_cheap_or_affordable_is_computed(costs):
    fast = Costs.of(resolve("paper-fast"), CohortShape(60, 33, 70))
    bought = allot(fast, parse_budget("5%"), exact_below=120.0)
    assert (bought.way, bought.panel, bought.core) == ("exact", list(fast.table), [])
    assert "too little to save any" in bought.reason
    assert allot(costs, parse_budget("100%")).way == "exact"
    assert "fits into the budget" in allot(costs, parse_budget("9h")).reason
    assert allot(costs, parse_budget("99%"), exact_below=120.0).way == "estimated"


@pytest.mark.parametrize("regions", [10, 33, 100])
@pytest.mark.parametrize("spis", ["all", "paper-fast", "panel"])
def test_the_smallest_budget_that_is_named_works_and_less_does_not(spis, regions):
    costs = Costs.of(resolve(spis), CohortShape(501, regions, 70))
    words = smallest_budget(costs)
    share = words.split(" is ")[1].split(" ")[0]
    time = words.split(" ")[-1]
    for text in (share, time):
        assert allot(costs, parse_budget(text)).panel
    with pytest.raises(InputError, match=r"does not pay the panel; the smallest .* is [0-9.]+%"):
        allot(costs, parse_budget(f"{float(share[:-1]) / 3}%"))


@pytest.mark.parametrize("text", ["0", "0%", "-5m", "soon", "", "10", "5 %%", "m", "nan%"])
def test_what_is_no_budget_is_refused(text):
    with pytest.raises(InputError, match="10m or 2h, or a share of the full cost such as 5%"):
        parse_budget(text)


def test_budgets_are_read_and_written():
    assert parse_budget("90s").seconds == 90
    assert parse_budget(" 10 min ").seconds == 600
    assert parse_budget("2H").seconds == 7200
    assert parse_budget("250%").share == 1.0
    assert percent_words(0.05) == "5%"
    assert percent_words(0.0501) == "5.1%"
    assert percent_words(2.0) == "100%"
    assert time_words(0.2) == "1s"
    assert parse_budget(time_words(4000)).seconds >= 4000
