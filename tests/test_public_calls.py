"""Public functions refuse wrong arguments with a sentence, before anything is computed."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import sclcs
from sclcs import cohort, coresets, decision, plot, pyspi, report, runs, spi, stats, store
from sclcs._core import InputError, arguments

PACKAGES = [
    sclcs,
    coresets,
    cohort,
    stats,
    decision,
    plot,
    pyspi,
    report,
    runs,
    store,
    spi,
]
SIGNALS = np.random.default_rng(0).normal(size=(3, 4, 30))


@pytest.fixture(scope="module")
def small():
    return sclcs.simulate_cohort(4, 1, 4, length=30, stride=30, seed=1)


def doors():
    """Return every public function and constructor whose arguments are checked."""
    found = {}
    for package in PACKAGES:
        for name in package.__all__:
            value = getattr(package, name)
            function = value.__init__ if inspect.isclass(value) else value
            if getattr(function, "__code__", None) is arguments.checked(len).__code__:
                found[f"{package.__name__}.{name}"] = function.__wrapped__
    return found


def test_annotations_of_all_can_be_resolved():
    found = doors()
    assert len(found) > 40
    for name, function in found.items():
        checked = [c for c in arguments._checks(function)[1].values() if c is not None]
        assert checked or name == "sclcs.spi.status_table", name  # a DataArray, imported lazily


def test_only_documented_functions_are_checked():
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    documented = {
        name.rpartition(".")[2] for name in re.findall(r"^   ([\w.]+)$", page, re.MULTILINE)
    }
    assert {name.rpartition(".")[2] for name in doors()} <= documented


@pytest.mark.parametrize("name", doors())
def test_an_unknown_keyword_is_refused(name):
    function = doors()[name]
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values()):
        pytest.skip("takes the parameters of a method")
    with pytest.raises(InputError, match="unexpected keyword argument 'no_such_option'"):
        arguments.check_arguments(function, (), {"no_such_option": 1})


WRONG = {
    "a path for a cohort": (
        lambda _: cohort.check_cohort("c.zarr"), r"must be a Cohort, .*Cohort\.open\('c\.zarr'\)",
    ),
    "a list for a table": (lambda _: sclcs.Cohort(SIGNALS, [1]), "`samples` must be a DataFrame"),
    "a string for a list": (
        lambda _: sclcs.Scans([], 3), "`regions` must be",
    ),
    "an unknown choice": (
        lambda _: sclcs.Cohort.from_arrays(list(SIGNALS), on_bad="ask"),
        "`on_bad` must be one of 'error', 'skip'",
    ),
    "a fraction": (lambda c: stats.rank(c, "group", folds=2.5), "`folds` must be an integer"),
    "a number for a name": (lambda c: stats.rank(c, 3), "`task` must be"),
    "no source": (lambda _: stats.rank(3, "group"), "source"),
    "a ratio": (lambda c: coresets.select(c, "random", ratio="half"), "`ratio` must be a number"),
    "a typing error": (
        lambda c: sclcs.run(c, taks="group"), r"argument 'taks'\. Did you mean 'task'\?",
    ),
    "a number for a path": (lambda c: sclcs.run(c, out=3), "`out` must be a path, got 3"),
    "no function": (
        lambda _: spi.register("mine", 3), r"register\(\): `function` must be callable",
    ),
    "no xarray": (lambda _: spi.status_table(3), "DataArray"),
    "a parameter of an estimator": (
        lambda _: sclcs.FCTransformer(n_jobs="all").fit(list(SIGNALS)),
        r"FCTransformer\(\): `n_jobs` must be an integer",
    ),
    "no matrix": (lambda _: plot.matrix("matrix"), "matrix"),
    "no ranking": (lambda _: plot.ranking(3), "a Ranking"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_argument_is_named(mistake, small):
    call, words = WRONG[mistake]
    with pytest.raises(InputError, match=words) as refused:
        call(small)
    assert str(refused.value).endswith((".", "?"))
