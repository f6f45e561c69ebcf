"""Searches that are compared with the package's: size, strata, no harm, the right slopes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sclcs import simulate_cohort
from sclcs.benchmark import ArraySource
from sclcs.experiments.relaxed_search import relaxed, shares_of, slopes
from sclcs.experiments.rival_searches import annealing, greedy
from sclcs.selection.guided.guide import Guide
from sclcs.selection.guided.method import make_settings
from sclcs.selection.guided.objective import core_scores
from sclcs.selection.guided.panel import make_panel
from sclcs.spi import compute

PANEL = ["cov_EmpiricalCovariance", "pdist_cityblock", "kendalltau", "pdist_chebyshev", "pec"]
SIZE = 25
SEARCHES = {
    "annealing": lambda guide, problem: annealing(guide, problem, 600),
    "greedy": greedy,
    "relaxed": relaxed,
}


@pytest.fixture(scope="module")
def cohort():
    """108 samples: 36 subjects x 3 windows, 7 regions, 40 time points."""
    made = simulate_cohort(36, 3, 7, length=40, stride=20, seed=3)
    return made.take(sorted(made.sample_ids))


@pytest.fixture(scope="module")
def guides(cohort):
    """One guide per task, as the package has it."""
    fc = compute(np.asarray(cohort.signals), PANEL, sample_keys=cohort.sample_ids)
    source = ArraySource.from_dataarray(fc, cohort)
    return {
        task: Guide(
            cohort,
            make_panel(cohort, [task], PANEL, fc=source),
            make_settings(cohort, [task], proposals=600),
            seed=2,
        )
        for task in ("diagnosis", "subject")
    }


def value(guide, problem, rows):
    return problem.objective.value(core_scores(guide.panel, rows))


@pytest.mark.parametrize("task", ["diagnosis", "subject"])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_core_set_has_the_size_and_strata_of_the_design(guides, task, name):
    guide = guides[task]
    problem = guide.problem(SIZE)
    rows = SEARCHES[name](guide, problem)
    assert len(set(rows.tolist())) == len(rows) == SIZE
    cells = [np.sort(guide.units.cell_of[found]).tolist() for found in (rows, *problem.starts)]
    assert cells[0] in cells[1:]
    np.testing.assert_array_equal(SEARCHES[name](guide, problem), rows)


@pytest.mark.parametrize("task", ["diagnosis", "subject"])
def test_annealing_never_ends_worse_than_it_starts(guides, task):
    guide = guides[task]
    problem = guide.problem(SIZE)
    start = value(guide, problem, problem.starts[0])
    found = [value(guide, problem, annealing(guide, problem, steps)) for steps in (0, 5, 600)]
    assert found[0] == pytest.approx(start)
    assert found[1] <= start
    assert found[2] < start


def test_every_search_lowers_the_objective_of_a_small_effect(guides):
    guide = guides["diagnosis"].change(distrust=0.1)
    problem = guide.problem(SIZE)
    start = min(value(guide, problem, rows) for rows in problem.starts)
    for search in SEARCHES.values():
        assert value(guide, problem, search(guide, problem)) < start


def test_greedy_adds_the_best_sample_first(guides):
    """The last sample that greedy adds leaves no better one that could take its place."""
    guide = guides["diagnosis"]
    problem = guide.problem(SIZE)
    cell_of = guide.units.cell_of
    rows = greedy(guide, problem)
    reached = value(guide, problem, rows)

    def is_last(row):
        others = rows[rows != row]
        rivals = [k for k in np.flatnonzero(cell_of == cell_of[row]) if k not in rows]
        found = [value(guide, problem, np.append(others, rival)) for rival in rivals]
        return all(reached <= other + 1e-9 for other in found)

    assert any(is_last(row) for row in rows)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_shares_fill_the_room_and_keep_the_order(data):
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    room = np.array([data.draw(st.integers(0, size)) for size in sizes])
    cell_of = np.repeat(np.arange(len(sizes)), sizes)
    numbers = st.lists(st.floats(-20, 20), min_size=len(cell_of), max_size=len(cell_of))
    free = np.array(data.draw(numbers))
    shares = shares_of(free, cell_of, room, 2.0)
    np.testing.assert_allclose(np.bincount(cell_of, shares), room, atol=1e-6)
    for cell in range(len(sizes)):
        inside = cell_of == cell
        assert (np.diff(shares[inside][np.argsort(free[inside])]) >= 0).all()


@pytest.mark.parametrize("task", ["diagnosis", "subject"])
def test_slopes_are_those_of_the_objective(guides, task):
    guide = guides[task]
    problem = guide.problem(SIZE)
    shares = 0.2 + 0.6 * np.random.default_rng(1).random(len(guide.cohort))
    found = slopes(guide.panel, problem.objective.for_kernel(), shares)
    rows = np.arange(len(shares))

    def at(changed):
        return problem.objective.value(core_scores(guide.panel, rows, changed))

    for sample in (0, 17, 100):
        change = np.zeros(len(shares))
        change[sample] = 1e-4
        expected = (at(shares + change) - at(shares - change)) / 2e-4
        assert found[sample] == pytest.approx(expected, rel=1e-3, abs=1e-8)
