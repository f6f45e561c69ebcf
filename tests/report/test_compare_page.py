import numpy as np
import pytest
from run_example import IMAGE, TITLE, make_run
from test_run_page import Page

from sclcs._core.errors import InputError, NotFoundError
from sclcs.report.pages import (
    NamedRun,
    answers_section,
    compare_report,
    cores_section,
    facts_section,
    rankings_section,
)
from sclcs.report.parts import RunParts


@pytest.fixture(scope="module")
def other_run(tmp_path_factory):
    """The same cohort, another core-set and one task; not confirmed."""
    out = tmp_path_factory.mktemp("other") / "OTHER"
    return make_run(
        out, until="rank", full_benchmark=False, seed=5, task=["subject"], title=f"B {IMAGE}"
    )


@pytest.fixture(scope="module")
def runs(finished_run, other_run):
    return [NamedRun("A", RunParts(finished_run)), NamedRun("B", RunParts(other_run))]


def test_two_runs_are_put_side_by_side(finished_run, other_run):
    page = Page(compare_report([finished_run.path, other_run.path]).get_standalone())
    assert page.sections() == ["answers", "rankings", "core-sets", "facts"]
    assert "Run B is not finished: it has no confirmed ranking for subject." in page.text
    assert "different samples" not in page.text
    assert f"{TITLE} and B {IMAGE}" in page.text
    assert page.tags("img") == []
    assert "In one run only" in page.text


def test_a_run_agrees_with_itself(finished_run):
    parts = RunParts(finished_run)
    twice = [NamedRun("A", parts), NamedRun("B", parts)]
    for task in rankings_section(twice).facts["tasks"]:
        (pair,) = task["pairs"]
        assert pair["numbers"]["kendall"] == pytest.approx(1)
        assert pair["numbers"]["ndcg@5"] == pytest.approx(1)
        assert all(row["spread"] == 0 for row in task["rows"])
    assert all(task["same"] for task in answers_section(twice).facts["tasks"])
    assert cores_section(twice).facts["rows"][0]["share"] == 1
    assert not any(row["differs"] for row in facts_section(twice).facts["rows"])


def test_numbers_are_those_of_the_rankings(runs, finished_run, other_run):
    (task,) = rankings_section(runs).facts["tasks"]
    assert task["letters"] == ["A", "B"]
    ours, theirs = finished_run.ranking("subject"), other_run.ranking("subject")
    for row in task["rows"]:
        for place, ranking in zip(row["places"], (ours, theirs), strict=True):
            expected = ranking.table.set_index("spi")["rank"][row["spi"]]
            assert place == expected or np.isnan([place, expected]).all()
    # Run A has the ranking on everybody; it judges the core-sets of both.
    assert [row["letter"] for row in task["truth"]] == ["A", "B"]
    core = cores_section(runs).facts["rows"][0]
    ids = [set(run.core_set().sample_ids) for run in (finished_run, other_run)]
    assert core["shared"] == len(ids[0] & ids[1])


def test_settings_that_differ_are_marked(runs):
    rows = {row["name"]: row for row in facts_section(runs).facts["rows"]}
    assert rows["seed"] == {"name": "seed", "cells": ["0", "5"], "differs": True}
    assert rows["task"]["cells"] == ["subject, diagnosis", "subject"]
    assert not rows["ratio"]["differs"]
    assert not rows["fingerprint"]["differs"]


def test_other_samples_and_scores_are_pointed_out(finished_run, tmp_path):
    from run_example import hostile_cohort

    cohort = hostile_cohort(9)
    run = make_run(tmp_path / "RUN", until="check", cohort=cohort, score="auc")
    page = Page(compare_report([finished_run, run]).get_standalone())
    assert "about different samples" in page.text
    assert "score operators differently (auc, the default)" in page.text
    assert page.sections() == ["answers", "facts"]


def test_what_cannot_be_compared(finished_run, tmp_path):
    with pytest.raises(InputError, match="two or more runs"):
        compare_report([finished_run])
    with pytest.raises(InputError, match="`folders` must be a list"):
        compare_report(str(finished_run.path))
    with pytest.raises(NotFoundError, match="Expected the folder of a run"):
        compare_report([finished_run, tmp_path])
