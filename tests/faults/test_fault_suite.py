"""The fault suite in small; ``make faults`` does the same for up to an hour."""

import subprocess
import sys
from pathlib import Path

import pytest
from faults.corruptions import try_corruptions
from faults.extremes import try_extremes
from faults.inputs import READERS, try_inputs
from faults.kills import try_kills
from faults.mutate import mutate
from faults.run import table
from faults.tally import Tally, in_children, judge

from sclcs._core import InputError


def expect_nothing_bad(tallies, least):
    assert [line for tally in tallies for line in tally.bad] == []
    assert sum(sum(tally.counts.values()) for tally in tallies) >= least


@pytest.mark.slow
def test_mutated_inputs_are_read_or_named(tmp_path):
    expect_nothing_bad(try_inputs(11, 20 * len(READERS), tmp_path), 20 * len(READERS))


@pytest.mark.slow
def test_damage_is_never_silent(tmp_path):
    expect_nothing_bad(try_corruptions(11, 150, tmp_path), 150)


@pytest.mark.slow
def test_kills_lose_nothing(tmp_path):
    expect_nothing_bad(try_kills(11, 16, tmp_path), 16)


@pytest.mark.slow
def test_extreme_signals_give_numbers_or_reasons():
    expect_nothing_bad(try_extremes(11, "pec,cov_OAS,kendalltau,pdist_cosine"), 40)


def test_how_trials_are_judged():
    def wrong():
        raise InputError("no")

    assert judge(lambda: True) == ("fine", "")
    assert judge(lambda: False)[0] == "silent"
    assert judge(wrong) == ("named", "no")
    assert judge(lambda: 1 / 0)[0] == "crashed"


def test_a_process_that_dies_is_counted_and_the_others_go_on():
    import os
    import signal

    def trial(name):
        if name == "3":
            os.kill(os.getpid(), signal.SIGKILL)
        return "fine", ""

    tally = Tally("kind")
    in_children(tally, map(str, range(8)), trial, batch=4)
    assert tally.row == ["kind", 8, 7, 0, 0, 1]
    assert "3: the process died" in tally.bad[0]
    assert "| all | 8 | 7 | 0 | 0 | 1 |" in table([tally])


def test_damage_differs_from_what_was_there():
    import random

    draw = random.Random(1)  # noqa: S311
    assert all(mutate(b"some content", draw) != b"some content" for _ in range(300))


def test_the_run_that_is_killed_estimates_whatever_budgets_reserve():
    from faults.kills import RUN

    from sclcs.run_folder import parse_budget
    from sclcs.runs import CohortShape
    from sclcs.runs.budget import Costs, allot

    found = allot(Costs.of(RUN["spis"], CohortShape(32, 6, 40)), parse_budget(RUN["budget"]))
    assert (found.way, bool(found.core), found.left_seconds > 0) == ("estimated", True, True)


def test_the_suite_starts_on_its_own():
    """`make faults` has only the paths that the suite gives itself."""
    script = Path(__file__).parents[2] / "tools" / "faults" / "run.py"
    command = [sys.executable, script, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
