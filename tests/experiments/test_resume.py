"""A killed experiment goes on where it stopped, and ends with the same table."""

import json

import pytest

from sclcs.core.errors import InputError, StoreInUseError, UnreadableFileError
from sclcs.experiments import registry
from sclcs.experiments.cells import CellBook
from sclcs.experiments.options import Options
from sclcs.experiments.setup import Setup
from sclcs.workflow.store_lock import StoreLock

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
    whole = run("main", "whole", **CHEAP)
    with monkeypatch.context() as patch:
        stop_after(patch, "main", 5)
        with pytest.raises(KilledError):
            run("main", "killed", **CHEAP)
    killed = tmp_path / "killed"
    assert not (killed / "cells.csv").exists()
    book = killed / "cells.jsonl"
    assert len(book.read_text(encoding="utf-8").splitlines()) == 1 + 5
    with book.open("a", encoding="utf-8") as file:
        file.write('{"cell": {"task": "subj')  # the crash came in the middle of a line
    counted = []
    experiment = registry.EXPERIMENTS["main"]

    def measure(setup, cells):
        counted.append(len(cells))
        return experiment.measure(setup, cells)

    facts = {field: getattr(experiment, field) for field in experiment.__dataclass_fields__}
    monkeypatch.setitem(
        registry.EXPERIMENTS, "main", registry.Experiment(**facts | {"measure": measure})
    )
    run("main", "killed", **CHEAP)
    total = len((whole / "cells.jsonl").read_text(encoding="utf-8").splitlines()) - 1
    assert counted == [total - 5]
    for name in ("cells.csv", "summary.csv", "table.md", "table.tex"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()


def test_more_methods_and_repeats_only_add_cells(run):
    out = run("balance", methods=("random",), draws=2, repeats=1)
    before = (out / "cells.jsonl").read_text(encoding="utf-8").splitlines()
    run("balance", methods=("random", "stratified"), draws=3, repeats=2)
    after = (out / "cells.jsonl").read_text(encoding="utf-8").splitlines()
    assert after[: len(before)] == before
    assert len(after) - 1 == 2 * 3 + 2 * 2


def test_another_seed_needs_another_folder(run):
    run("balance", methods=("random",), draws=1, repeats=1)
    with pytest.raises(InputError, match=r"another seed 0, now 7; choose another folder"):
        run("balance", methods=("random",), draws=1, repeats=1, seed=7)


def test_a_book_keeps_numbers_exactly(tmp_path):
    path = tmp_path / "cells.jsonl"
    book = CellBook(path, {"seed": 0, "spis": ("a", "b")})
    cell = {"task": "subject", "ratio": 0.1, "repeat": 3}
    book.add(cell, [{"value": 0.1 + 0.2, "other": float("nan")}], 1.5)
    again = CellBook(path, {"seed": 0, "spis": ("a", "b")})
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
        CellBook(path, {})


def test_a_store_that_holds_everything_is_read_while_another_process_writes(toy_cohort, tmp_path):
    options = Options.make(toy=True)
    setup = Setup(toy_cohort, tmp_path / "fc", options)
    setup.store()
    lock = StoreLock(tmp_path / "fc", None, ["kendalltau"])
    with lock.preparing():
        pass
    try:
        assert set(options.spis) <= set(setup.store().complete_operators)
        with pytest.raises(StoreInUseError):
            setup.store(["pdist_cosine"])
    finally:
        lock.release()
