"""A killed experiment goes on where it stopped, and ends with the same table."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from paper import setup as registry
from paper.options import Options
from paper.run import CellBook
from paper.scorer import Scorer
from paper.setup import Setup
from sclcs._core import Identity, InputError, StoreInUseError, UnreadableFileError
from sclcs.coresets import SELECTORS
from sclcs.spi import engine as runner, versions
from sclcs.stats import rank
from sclcs.store import compute_store, fill_store, hold_store, open_computation

CHEAP = {"methods": ("random", "stratified"), "draws": 3}


class KilledError(Exception):
    pass


def stop_after(monkeypatch, name, count):
    """Make an experiment die after some cells."""
    experiment = registry.EXPERIMENTS[name]

    def measure(setup, cells):
        for done, found in enumerate(experiment.measure(setup, cells)):
            if done == count:
                raise KilledError
            yield found

    facts = {field: getattr(experiment, field) for field in experiment.__dataclass_fields__}
    monkeypatch.setitem(
        registry.EXPERIMENTS, name, registry.Experiment(**facts | {"measure": measure})
    )


def test_a_killed_run_ends_with_the_same_cells(run, tmp_path, monkeypatch):
    whole = run("table2", "whole", **CHEAP)
    with monkeypatch.context() as patch:
        stop_after(patch, "table2", 5)
        with pytest.raises(KilledError):
            run("table2", "killed", **CHEAP)
    killed = tmp_path / "killed"
    assert not (killed / "cells.csv").exists()
    book = killed / "cells.jsonl"
    assert len(book.read_text(encoding="utf-8").splitlines()) == 1 + 5
    with book.open("a", encoding="utf-8") as file:
        file.write('{"cell": {"task": "subj')  # the crash came in the middle of a line
    counted = []
    experiment = registry.EXPERIMENTS["table2"]

    def measure(setup, cells):
        counted.append(len(cells))
        return experiment.measure(setup, cells)

    facts = {field: getattr(experiment, field) for field in experiment.__dataclass_fields__}
    monkeypatch.setitem(
        registry.EXPERIMENTS, "table2", registry.Experiment(**facts | {"measure": measure})
    )
    run("table2", "killed", **CHEAP)
    total = len((whole / "cells.jsonl").read_text(encoding="utf-8").splitlines()) - 1
    assert counted == [total - 5]
    for name in ("cells.csv", "summary.csv", "table.md", "table.tex"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()


def test_more_methods_and_repeats_only_add_cells(run):
    out = run("table10", methods=("random",), draws=2, repeats=1)
    before = (out / "cells.jsonl").read_text(encoding="utf-8").splitlines()
    run("table10", methods=("random", "stratified"), draws=3, repeats=2)
    after = (out / "cells.jsonl").read_text(encoding="utf-8").splitlines()
    assert after[: len(before)] == before
    assert len(after) - 1 == 2 * 3 + 2 * 2


def test_another_seed_needs_another_folder(run):
    run("table10", methods=("random",), draws=1, repeats=1)
    with pytest.raises(InputError, match=r"another seed 0, now 7; choose another folder"):
        run("table10", methods=("random",), draws=1, repeats=1, seed=7)


def test_a_book_keeps_numbers_exactly(tmp_path):
    path = tmp_path / "cells.jsonl"
    identity = Identity("experiment", parameters={"spis": ("a", "b")}, seeds={"seed": 0})
    book = CellBook(path, identity)
    cell = {"task": "subject", "ratio": 0.1, "repeat": 3}
    book.add(cell, [{"value": 0.1 + 0.2, "other": float("nan")}], 1.5)
    again = CellBook(path, identity)
    assert cell in again
    assert {**cell, "repeat": 4} not in again
    assert again.cpu_seconds == 1.5
    table = again.table([cell])
    assert table["value"].iloc[0] == 0.1 + 0.2
    assert list(table.columns) == ["task", "ratio", "repeat", "value", "other"]


def test_a_damaged_book_is_named(tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text(json.dumps({"identity": {}}) + "\nnot json\n", encoding="utf-8")
    with pytest.raises(UnreadableFileError, match=r"cells\.jsonl"):
        CellBook(path, Identity("experiment"))


def test_a_store_that_holds_everything_is_read_while_another_process_writes(toy_cohort, tmp_path):
    options = Options.make(toy=True)
    setup = Setup(toy_cohort, tmp_path / "fc", options)
    setup.store()
    with hold_store(tmp_path / "fc"):
        assert set(options.spis) <= set(setup.store().complete_operators)
        with pytest.raises(StoreInUseError):
            setup.store(["pdist_cosine"])


@pytest.fixture
def setup(toy_cohort, tmp_path):
    return Setup(toy_cohort, tmp_path / "fc", Options.make(toy=True))


PAPERS_WAY = {
    "score": "cohen_d", "pooled": True, "overlapping": True, "bootstrap": 0, "permutations": 0,
}  # fmt: skip


def scores_of(setup, source):
    """Return the scores on all samples and on halves, by a scorer of a store."""
    scorer = Scorer(source, setup.options.spis, setup.fc.with_name("scores"))
    return scorer.full("diagnosis"), scorer.halves("diagnosis", 2)


def test_scores_of_other_matrices_are_not_taken_for_current(setup, monkeypatch):
    """The first version's key left out the operator's version: fault 3."""
    before, halves = scores_of(setup, setup.store())
    same, same_halves = scores_of(setup, setup.store())
    pd.testing.assert_frame_equal(same, before)
    np.testing.assert_array_equal(same_halves["cohen_d"], halves["cohen_d"])
    family = runner.load_family("kendall")
    real = family.compute
    with monkeypatch.context() as patch:
        # A correction of one family: other numbers, and a version that says so.
        newer = {**versions.FAMILY_VERSIONS, "kendall": 2}
        patch.setattr(versions, "FAMILY_VERSIONS", newer)
        patch.setattr(
            family,
            "compute",
            lambda *given: {name: m**2 for name, m in real(*given).items()},
        )
        computation = open_computation(setup.cohort, setup.fc, ["kendalltau"], force=True)
        store = fill_store(computation).store
        found, new_halves = scores_of(setup, store)
        fresh = rank(store, "diagnosis", list(setup.options.spis), **PAPERS_WAY).scores
        np.testing.assert_allclose(found["cohen_d"], fresh[found.index], rtol=1e-5)
    changed = found["cohen_d"] != before["cohen_d"]
    assert found.index[changed].tolist() == ["kendalltau"]
    assert not np.array_equal(new_halves["cohen_d"], halves["cohen_d"])


def test_scores_of_another_seed_are_not_taken_for_current(toy_cohort, tmp_path):
    names = ("cov_MinCovDet", "cov_EmpiricalCovariance")
    setup = Setup(toy_cohort, tmp_path / "fc", Options.make(toy=True, spis=names))
    before, _ = scores_of(setup, setup.store())
    store = compute_store(toy_cohort, tmp_path / "fc", list(names), seed=5)
    found, _ = scores_of(setup, store)
    changed = found["cohen_d"] != before["cohen_d"]
    assert found.index[changed].tolist() == ["cov_MinCovDet"]
    fresh = rank(store, "diagnosis", list(names), **PAPERS_WAY).scores
    np.testing.assert_allclose(found["cohen_d"], fresh[found.index], rtol=1e-5)


def test_an_upgrade_measures_again_what_it_changes(run, monkeypatch):
    out = run("table10", methods=("random", "stratified"), draws=2, repeats=2)
    book = out / "cells.jsonl"
    before = book.read_text(encoding="utf-8").splitlines()
    row = SELECTORS["stratified"]
    monkeypatch.setitem(SELECTORS, "stratified", replace(row, version=row.version + 1))
    run("table10", methods=("random", "stratified"), draws=2, repeats=2)
    after = book.read_text(encoding="utf-8").splitlines()
    assert after[: len(before)] == before
    again = [json.loads(line)["cell"]["method"] for line in after[len(before) :]]
    assert set(again) == {"stratified"}
    assert len(again) == 2 * 2
    # A new version of the experiment itself measures everything again; nothing is lost.
    experiment = registry.EXPERIMENTS["table10"]
    monkeypatch.setitem(registry.EXPERIMENTS, "table10", replace(experiment, version=2))
    run("table10", methods=("random", "stratified"), draws=2, repeats=2)
    assert len(book.read_text(encoding="utf-8").splitlines()) == len(before)
    (aside,) = out.glob("cells-*.jsonl")
    assert aside.read_text(encoding="utf-8").splitlines() == after
