"""Every public object has a docstring, and every example in a docstring runs."""

import doctest
import importlib
import inspect

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import sclcs

ROOMS = ["spi", "pyspi", "cohort", "stats", "coresets", "store", "report", "runs"]
#: Functions and classes of users; the other public names are parts of these.
WITH_EXAMPLE = [
    "Cohort", "CoreSet", "Ranking", "Scans", "FCTransformer", "simulate_cohort", "run",
    "spi.compute", "spi.catalogue", "spi.resolve", "spi.register", "spi.unregister",
    "spi.status_table", "pyspi.Calculator", "pyspi.Data", "stats.rank",
    "stats.consistency", "stats.balance", "coresets.select", "cohort.region_set",
    "store.compute_store", "plot.ranking", "plot.matrix", "plot.chord", "plot.geometry",
    "plot.glass_brain", "report.HTMLReport", "runs.RunResult.open",
]  # fmt: skip


def public():
    found = {f"sclcs.{name}": getattr(sclcs, name) for name in sclcs.__all__}
    for room in ROOMS:
        door = importlib.import_module(f"sclcs.{room}")
        found |= {f"sclcs.{room}.{name}": getattr(door, name) for name in door.__all__}
    return {
        name: one for name, one in found.items() if inspect.isroutine(one) or inspect.isclass(one)
    }


def test_everything_public_has_a_docstring():
    silent = [name for name, one in public().items() if not inspect.getdoc(one)]
    assert silent == []


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_what_users_call_has_an_example(name):
    one = sclcs
    for part in name.split("."):
        one = getattr(one, part)
    text = inspect.getdoc(one)
    assert "Examples\n--------" in text, name
    assert ">>> " in text or "``" in text.split("Examples\n--------")[1], name


def modules_of_public_names():
    return sorted(
        {one.__module__ for one in public().values() if one.__module__.startswith("sclcs")}
    )


@pytest.mark.parametrize("module", modules_of_public_names())
def test_the_examples_run(module):
    mpl.use("Agg")
    module = importlib.import_module(module)
    names = {"np": np, "pd": pd, "sclcs": sclcs, **vars(module)}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=names):
        runner.run(example)
    import matplotlib.pyplot as plt

    plt.close("all")
    assert runner.failures == 0
