"""The house: rooms with front doors, none too full, no module that nobody needs, one word each."""

import importlib
import re
from collections import Counter

import pytest

from house_walk import PACKAGE, REPOSITORY, importers_of, modules

ROOMS = [
    "core", "store", "numerics", "cohort", "spi", "pyspi", "compute", "encoder", "benchmark",
    "estimation", "selection", "run_folder", "report", "plot", "runs", "experiments",
]  # fmt: skip
MOST_FILES = 30
#: Families of operators are loaded by their name in the catalogue, executors from their folder.
LOADED_BY_NAME = r"sclcs\.(spi\.families|compute\.executors)\.\w+"
STARTED = {"sclcs", "sclcs.__main__", "sclcs.cli.main", "sclcs.cli.bids_app"}


def test_the_rooms_are_those_of_the_layers():
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    (layers,) = re.findall(r"^layers = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    named = re.findall(r"sclcs\.(\w+)", layers)
    assert set(named) == {*ROOMS, "cli"}
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert folders == set(named)
    table = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert [name for name in described if name in folders] == named


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_a_front_door(room):
    door = importlib.import_module(f"sclcs.{room}")
    assert door.__doc__
    assert door.__all__
    assert len(set(door.__all__)) == len(door.__all__)
    for name in door.__all__:
        assert getattr(door, name) is not None


def test_the_function_run_and_the_room_of_runs_do_not_clash():
    import sclcs
    import sclcs.runs.two_stage

    assert sclcs.run is sclcs.runs.run
    assert callable(sclcs.run)
    assert not (PACKAGE / "run").exists()
    assert not (PACKAGE / "run.py").exists()


def test_no_folder_is_too_full():
    """Modules, tables, templates: whatever git would show in a folder."""
    counts = Counter(
        path.parent.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    assert counts["spi/tables"] >= 3
    assert {name: count for name, count in counts.items() if count > MOST_FILES} == {}


def test_kernels_are_compiled_in_one_place():
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).as_posix() != "numerics/jit.py":
            assert not re.search(r"\b(import numba|njit)\b", path.read_text(encoding="utf-8")), path


def test_every_module_is_needed_by_another():
    lonely = [
        name
        for name in modules()
        if name not in STARTED
        and not re.fullmatch(LOADED_BY_NAME, name)
        and modules()[name].name != "__init__.py"
        and not importers_of(name)
    ]
    assert lonely == []


def test_the_documentation_lists_front_doors_only():
    text = (REPOSITORY / "docs" / "api.md").read_text(encoding="utf-8")
    room, deep = "", []
    for line in text.splitlines():
        if line.startswith(".. currentmodule:: "):
            room = line.split()[-1]
        elif re.fullmatch(r"   [\w.]+", line):
            name = f"{room}.{line.strip()}"
            module, _, attribute = name.rpartition(".")
            assert hasattr(importlib.import_module(module), attribute), name
            if not module.startswith(("sclcs.spi", "sclcs.benchmark", "sclcs.cohort.readers")):
                deep += [name] if not hasattr(importlib.import_module(module), "__path__") else []
    assert deep == []


#: Words that mean one thing, and the rooms (or files) whose classes may carry them.
WORDS = {
    "Task": ("benchmark/", "report/html/"),
    "Design": ("benchmark/",),
    "Problem": ("cohort/problems.py",),
    "Plan": ("runs/plan.py",),
    "Run": ("run_folder/", "runs/", "report/html/", "encoder/perturbation.py"),
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_means_one_thing(word):
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        if place.startswith(WORDS[word]):
            continue
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert word not in re.findall(r"[A-Z][a-z]+", name), f"{name} in {place}"
