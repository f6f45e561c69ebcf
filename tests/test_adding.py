"""A new method, score, executor, section or experiment touches few files: CONTRIBUTING's list.

Each is added here at run time, in the one place where it belongs, and everything that shows or
uses its kind must know it without being told.
"""

import importlib
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sclcs as package
from house_walk import REPOSITORY, importers_of
from sclcs import simulate_cohort
from sclcs.benchmark import CRITERIA, rank
from sclcs.benchmark import criteria as criteria_module
from sclcs.compute import compute_store, executors
from sclcs.core.settings import Settings, setting
from sclcs.experiments import EXPERIMENTS, run_experiment
from sclcs.report.html import run_page
from sclcs.report.html.section import Content, ReportSection
from sclcs.run_folder import collect_config
from sclcs.runs import carry_out, predict_costs
from sclcs.selection import SELECTORS, select
from sclcs.selection.registry import Choice, Selector

pytestmark = pytest.mark.usefixtures("quick_plan")

OPERATORS = ["cov_EmpiricalCovariance", "pec", "pdist_cityblock"]
SETTINGS = {"spis": OPERATORS, "method": "pairs", "ratio": 0.5, "bootstrap": 5, "top_k": 2}
MOST = {"executor": 3, "reader": 4, "selection method": 4, "section of the report": 4}
MOST |= {"experiment": 4, "score": 4, "operator": 4}
#: An existing one of each kind, its module, and what may import it.
EXAMPLES = {
    "selection method": ("boss", "selection.boss", {"selection/methods.py"}),
    "reader": ("abide", "cohort.readers.abide", None),
    "executor": ("dask", "compute.executors.dask", set()),
    "section of the report": (
        "losses",
        "report.html.sections.losses",
        {"report/html/run_page.py"},
    ),
    "experiment": (
        "balance",
        "experiments.studies.balance",
        {"experiments/studies/__init__.py"},
    ),
}


def listed():
    """Return the files of every kind, as CONTRIBUTING lists them."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("| new | files |") :].split("\n\n")[0]
    rows = re.findall(r"^\| ([\w ]+) \| (.*) \|$", table, re.MULTILINE)
    return {kind: re.findall(r"`([\w./-]+)`", files) for kind, files in rows if kind != "new"}


def test_the_list_is_short_enough():
    found = listed()
    assert set(found) == set(MOST)
    for kind, files in found.items():
        assert len([file for file in files if "/" in file]) <= MOST[kind], kind


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_files_of_an_existing_one_are_there_and_name_it(kind):
    name, module, importers = EXAMPLES[kind]
    own = f"src/sclcs/{module.replace('.', '/')}.py"
    files = [file.replace("NAME", name) for file in listed()[kind] if "/" in file]
    assert own in files
    for file in files:
        base = REPOSITORY / own
        path = (base.parent.parent if file.startswith("templates") else REPOSITORY) / file
        if file.startswith("studies"):
            path = base.parents[1] / file
        assert path.exists(), path
        if path.is_file() and name not in path.name:
            assert re.search(rf"\b{name}", path.read_text(encoding="utf-8"), re.IGNORECASE), path
    if importers is not None:
        assert importers_of(f"sclcs.{module}") == importers


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    found = simulate_cohort(12, 3, 5, length=60, stride=30, seed=1)
    return found.save(tmp_path_factory.mktemp("adding") / "c.zarr")


def start(cohort, out, **changes):
    options = {"cohort": str(cohort), "out": str(out), **SETTINGS, **changes}
    return carry_out(collect_config(None, options))[0]


class LastParameters(Settings):
    skipped: int = setting("how many to pass over", 0, ge=0)


def choose_last(cohort, size, _seed, parameters):
    rows = np.argsort(cohort.sample_ids)[::-1][parameters.skipped :]
    return Choice(rows[:size].astype(np.int64))


def test_a_selection_method_is_one_row(monkeypatch, cohort, tmp_path, sclcs_command):
    row = Selector(
        "last", "The last samples.", "nobody", choose_last, parameters=LastParameters, nested=True
    )
    monkeypatch.setitem(SELECTORS, "last", row)
    opened = package.Cohort.open(cohort)
    core = select(opened, "last", 0.25, skipped=2)
    assert core.sample_ids[0] == sorted(opened.sample_ids)[-3]
    assert "last" in sclcs_command("select", "--list")
    assert "how many to pass over" in sclcs_command("select", "--list", "--method", "last")
    monkeypatch.syspath_prepend(str(REPOSITORY / "docs" / "_ext"))
    pages = importlib.import_module("selector_pages")
    assert "`last`" in pages.selectors_table()
    assert "how many to pass over" in pages.parameters_page()
    assert predict_costs(opened, OPERATORS, method="last", top_k=1).method == "last"
    folder = start(cohort, tmp_path / "RUN", method="last", parameters={"skipped": 1})
    assert folder.core_set().parameters["skipped"] == 1
    assert "last" in folder.report_file.read_text(encoding="utf-8")


def test_a_score_is_one_row(monkeypatch, cohort, tmp_path, sclcs_command):
    known = CRITERIA["difference"]
    row = replace(known, name="twice", label="twice the difference")
    row = replace(row, compute=lambda view: 2 * known.compute(view))
    monkeypatch.setattr(criteria_module, "CRITERIA", {**CRITERIA, "twice": row})
    store = compute_store(cohort, tmp_path / "fc", OPERATORS)
    once, twice = (rank(store, "subject", score=name).scores for name in ("difference", "twice"))
    pd.testing.assert_series_equal(twice, 2 * once)
    shown = sclcs_command(
        "rank", tmp_path / "fc", "--score", "twice", "--bootstrap", 0, "--out", tmp_path / "r.csv"
    )
    assert "twice" in shown
    guided = {"panel": [*OPERATORS, "kendalltau"], "restarts": 1, "proposals": 50}
    folder = start(cohort, tmp_path / "RUN", score="twice", method="guided", parameters=guided)
    assert folder.ranking().score == "twice"
    assert folder.core_set().parameters["certificate"][0]["score"] == "twice"


EXECUTOR = """
from sclcs.compute.executors import ExecutorKind


class Echo:
    seen = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def prepare(self, functions):
        for function in functions:
            function()

    def run(self, function, items):
        for item in items:
            self.seen.append(item.piece)
            yield function(item)


KIND = ExecutorKind("echo", "any word", "echo:hello", start=lambda _: Echo())
"""


def test_an_executor_is_one_file(monkeypatch, cohort, tmp_path, sclcs_command):
    (tmp_path / "echo.py").write_text(EXECUTOR)
    monkeypatch.setattr(executors, "__path__", [*executors.__path__, str(tmp_path)])
    executors.executor_kinds.cache_clear()
    try:
        assert executors.find_executor("echo:hello").kind.name == "echo"
        seen = importlib.import_module("sclcs.compute.executors.echo").Echo.seen
        compute_store(cohort, tmp_path / "fc", OPERATORS, on="echo:x")
        assert len(seen) == len(OPERATORS)
        sclcs_command(
            "compute", cohort, "--spis", "kendalltau", "--out", tmp_path / "fc", "--on", "echo:x"
        )
        assert seen[-1].operators == ("kendalltau",)
        folder = start(cohort, tmp_path / "RUN", on="echo:x")
        assert folder.config().on == "echo:x"
        assert folder.report_file.exists()
    finally:
        executors.executor_kinds.cache_clear()
        sys.modules.pop("sclcs.compute.executors.echo", None)


def say_more(run):
    return Content("unreadable.jinja", {"why": run.name})


def test_a_section_of_the_report_is_one_line(monkeypatch, cohort, tmp_path):
    added = ReportSection(
        "extra",
        "Extra",
        "Something more",
        lambda run: Content("unreadable.jinja", {"why": run.name}),
    )
    monkeypatch.setattr(run_page, "_SECTIONS", (*run_page._SECTIONS, added))
    text = start(cohort, tmp_path / "RUN", title="Mine").report_file.read_text(encoding="utf-8")
    assert "Something more" in text
    assert 'href="#extra"' in text


def test_an_experiment_is_one_row(monkeypatch, cohort, tmp_path, sclcs_command):
    known = EXPERIMENTS["balance"]
    row = replace(known, name="toy", title="Does a toy work?")
    monkeypatch.setitem(EXPERIMENTS, "toy", row)
    options = {"methods": ["random"], "repeats": 1, "draws": 1, "ratios": [0.5]}
    run_experiment("toy", cohort, tmp_path / "toy", toy=True, **options)
    facts = json.loads((tmp_path / "toy" / "config.json").read_text(encoding="utf-8"))
    assert facts["title"] == "Does a toy work?"
    assert "Does a toy work?" in sclcs_command("experiment", "--list")
    monkeypatch.syspath_prepend(str(REPOSITORY / "docs" / "_ext"))
    pages = importlib.import_module("experiment_pages")
    assert "Does a toy work?" in pages.experiments_table()
    assert "Not run on the real cohort yet" in pages.experiment_section("toy")


@pytest.fixture
def sclcs_command(capsys, monkeypatch):
    """Run a command in this process and return what it shows."""
    from sclcs.cli.main import app

    def run(*arguments):
        app([str(argument) for argument in arguments], standalone_mode=False)
        return capsys.readouterr().out

    monkeypatch.setenv("COLUMNS", "200")
    return run
