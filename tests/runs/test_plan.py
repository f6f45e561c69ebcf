"""What a cohort will cost: the arithmetic is exact, the measurement is real."""

import json

import numpy as np
import pytest

from sclcs import simulate_cohort
from sclcs._core.errors import InputError, UnknownNameError
from sclcs.cli.run import _duration, _size
from sclcs.runs import costs, predict_costs
from sclcs.runs.costs import (
    LONGEST_SAMPLE,
    Calibration,
    CohortShape,
    FamilyCost,
    Start,
    calibrate,
    cost_of_work,
    total_cost,
)
from sclcs.spi import catalogue, resolve
from sclcs.spi.costs import CostLaw, cost_law, cost_laws
from sclcs.store import compute_store

START = Start(wall_seconds=2.0, cpu_seconds=1.5, memory_bytes=10**8)

N_PANEL = len(resolve("panel"))


@pytest.fixture
def quick_start(monkeypatch):
    """Starting a process is measured in one test only: it takes seconds."""
    monkeypatch.setattr(costs, "_measure_start", lambda *_: START)


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(9, 2, 7, length=41, stride=20, seed=3)


def made_up(room=0.0, **families):
    """Families as name=(members, whole, single), tried on 33 regions and 70 time points."""
    costs = [
        FamilyCost(name, members, (33, 70), 8, whole, single, 3.0)
        for name, (members, whole, single) in families.items()
    ]
    return Calibration(costs, START, room, 1.0, simulated=False)


def test_every_measured_family_has_a_sensible_law():
    families = set(catalogue()["family"])
    assert set(cost_laws()) <= families
    for law in cost_laws().values():
        assert 0.9 <= law.exponent_regions <= 3.0
        assert 0 <= law.exponent_timepoints <= 3.0
        assert law.seconds > 0


def test_a_law_grows_as_it_says():
    law = CostLaw("x", exponent_regions=2, exponent_timepoints=1, seconds=0.5)
    assert law.seconds_at(33, 70) == pytest.approx(0.5)
    assert law.seconds_at(66, 70) == pytest.approx(2.0)
    assert law.growth((10, 100), (30, 50)) == pytest.approx(9 * 0.5)


def test_a_family_without_a_row_has_the_usual_law():
    law = cost_law("no such family")
    assert (law.exponent_regions, law.exponent_timepoints, law.measured) == (2.0, 1.0, False)


def test_the_same_size_is_not_scaled():
    cost = cost_of_work(made_up(kendall=(2, 0.4, 0.3)), CohortShape(10, 33, 70), jobs=1)
    assert cost.cpu_seconds == pytest.approx(10 * 0.4 + START.cpu_seconds)
    assert cost.wall_seconds == pytest.approx(10 * 0.4 + START.wall_seconds)
    assert cost.disk_bytes == 2 * 10 * 33**2 * 3


def test_other_sizes_follow_the_law():
    measured = made_up(kendall=(2, 0.4, 0.3))
    small = cost_of_work(measured, CohortShape(10, 33, 70), jobs=1).cpu_seconds
    large = cost_of_work(measured, CohortShape(10, 66, 140), jobs=1).cpu_seconds
    growth = cost_law("kendall").growth((33, 70), (66, 140))
    assert (large - START.cpu_seconds) / (small - START.cpu_seconds) == pytest.approx(growth)


def test_jobs_share_the_work_but_each_must_start():
    measured = made_up(kendall=(2, 0.01, 0.01), lcss=(1, 0.02, 0.02))
    shape = CohortShape(64_000, 33, 70)
    alone, many = (cost_of_work(measured, shape, jobs=jobs) for jobs in (1, 100))
    assert many.wall_seconds < alone.wall_seconds / 50
    assert many.cpu_seconds - alone.cpu_seconds == pytest.approx(100 * START.cpu_seconds)


def test_more_jobs_than_tasks_do_not_help():
    measured = made_up(kendall=(2, 0.01, 0.01))
    shape = CohortShape(10, 33, 70)  # one block, one family: one task
    assert cost_of_work(measured, shape, jobs=50) == cost_of_work(measured, shape, jobs=1)


def test_winners_cost_their_share_of_what_a_family_shares():
    # 4 operators; a family of 3 costs 1.0 for the shared part and 0.5 for each member
    measured = made_up(kendall=(3, 2.5, 1.5), lcss=(1, 1.0, 1.0))
    shape = CohortShape(1, 33, 70)
    work = {
        k: cost_of_work(measured, shape, jobs=1, top_k=k).cpu_seconds - START.cpu_seconds
        for k in (1, 2, 4)
    }
    assert work[1] == pytest.approx((3 * 1.5 + 1.0) / 4)
    pairs = [2.0, 2.0, 2.0, 2.5, 2.5, 2.5]  # two of the family, or one of it and the other
    assert work[2] == pytest.approx(np.mean(pairs))
    assert work[4] == pytest.approx(3.5)
    worst = cost_of_work(measured, shape, jobs=1, top_k=1, worst=True).cpu_seconds
    assert worst - START.cpu_seconds == pytest.approx(1.5)


def test_the_sum_of_pieces():
    one = cost_of_work(made_up(kendall=(2, 0.4, 0.3)), CohortShape(10, 33, 70), jobs=1)
    both = total_cost([one, one])
    assert both.cpu_seconds == 2 * one.cpu_seconds
    assert both.disk_bytes == 2 * one.disk_bytes
    assert both.memory_bytes == one.memory_bytes


def test_slow_families_are_tried_on_less():
    slow = CostLaw("x", 2.0, 2.0, seconds=100.0)
    regions, timepoints = costs._pilot(slow, 400, 1200)
    assert (regions, timepoints) == (costs.FEWEST_REGIONS, costs.FEWEST_TIMEPOINTS)
    quick = CostLaw("x", 2.0, 1.0, seconds=1e-6)
    assert costs._pilot(quick, 400, 1200) == (400, 1200)
    middle = CostLaw("x", 2.0, 1.0, seconds=0.01)
    regions, timepoints = costs._pilot(middle, 400, 70)
    assert regions < 400
    assert middle.seconds_at(regions, timepoints) <= costs.LONGEST_SAMPLE


def test_a_cohort_is_tried_at_its_own_size(cohort, quick_start):
    measured = calibrate(cohort, resolve("panel"), CohortShape.of(cohort), seconds=0.2)
    assert {cost.pilot for cost in measured.families} == {(7, 41)}
    assert all(0 < cost.single <= cost.whole for cost in measured.families)
    assert all(0 < cost.bytes_per_entry < 8 for cost in measured.families)
    assert not measured.simulated


def test_the_disk_is_predicted_as_it_is_used(cohort, quick_start, tmp_path):
    plan = predict_costs(cohort, "panel", method="random", calibration_seconds=0.5, top_k=2)
    store = compute_store(cohort, tmp_path / "fc", "panel")
    used = sum(f.stat().st_size for f in (store.path / "matrices").rglob("c.*"))
    assert plan.full.disk_bytes == pytest.approx(used, rel=0.25)


def test_the_plan_of_a_cohort(cohort, quick_start):
    plan = predict_costs(
        cohort, "panel", ratio=0.5, method="random", top_k=2, calibration_seconds=0.1
    )
    assert plan.core_samples == 9
    assert plan.two_stage == total_cost(list(plan.parts.values()))
    assert plan.full.cpu_seconds > plan.parts["core-set"].cpu_seconds
    content = plan.to_dict()
    assert json.loads(json.dumps(content)) == content
    assert content["shape"] == {"samples": 18, "regions": 7, "timepoints": 41}
    assert content["cpu_share"] == pytest.approx(plan.cpu_share)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sclcs", "aum"])
def test_training_is_tried_and_scaled(cohort, quick_start, method):
    options = {"top_k": 2, "calibration_seconds": 0.1, "shape": CohortShape(10_000, 7, 41)}
    plans = [
        predict_costs(cohort, "panel", method=method, parameters={"epochs": epochs}, **options)
        for epochs in (100, 10_000)
    ]
    few, many = (plan.parts["selection"].cpu_seconds for plan in plans)
    assert many > 5 * few > 0
    assert "10000 epochs" in " ".join(plans[1].notes)


def test_far_beyond_this_machine(quick_start):
    plan = predict_costs(
        CohortShape(50_000, 400, 1200), "panel", jobs=1000, method="random", top_k=2,
        calibration_seconds=0.2,
    )  # fmt: skip
    assert plan.calibration.simulated
    # By the laws, not by a clock: no family is tried on samples that take long.
    assert all(
        cost_law(row.family).seconds_at(*row.pilot) <= 4 * LONGEST_SAMPLE * 1.01
        for row in plan.calibration.families
    )
    assert plan.full.wall_seconds < plan.full.cpu_seconds / 100
    assert plan.ranking_memory_bytes == 3e8 + 3 * 8 * 50_000**2  # tables of all pairs


def test_the_start_of_a_process_is_measured():
    start = costs._measure_start(["kendalltau"], 50)
    assert 0.1 < start.cpu_seconds < 60
    assert 5e7 < start.memory_bytes < 2e9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0.0}, "ratio above 0"),
        ({"top_k": 0}, f"top_k between 1 and the {N_PANEL}"),
        ({"top_k": N_PANEL + 1}, f"top_k between 1 and the {N_PANEL}"),
        ({"jobs": 0}, "processes must be positive"),
    ],
)
def test_mistakes_are_named(cohort, options, message):
    with pytest.raises(InputError, match=message):
        predict_costs(cohort, "panel", **options)


def test_unknown_names_are_named(cohort):
    with pytest.raises(UnknownNameError, match="nonsense"):
        predict_costs(cohort, "panel", method="nonsense")
    with pytest.raises(UnknownNameError, match="speed"):
        predict_costs(cohort, "panel", method="random", parameters={"speed": 3})
    with pytest.raises(InputError, match="at least 1 sample"):
        CohortShape(0, 5, 5)


def test_units_that_people_read():
    assert [_duration(s) for s in (59, 150, 9000, 4e5)] == ["59 s", "2.5 min", "2.5 h", "4.6 days"]
    assert [_size(s) for s in (3e6, 2.5e9, 4e12)] == ["3 MB", "2.5 GB", "4.0 TB"]
