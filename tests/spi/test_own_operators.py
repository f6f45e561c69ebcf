"""Your own operator: registered in a script, or brought by a package, it is one of us."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import textwrap
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from sclcs import Ranking, simulate_cohort
from sclcs._core import InputError, UnknownNameError
from sclcs.spi import (
    catalogue,
    compute_batch as compute,
    own as own_operators,
    register,
    resolve,
    unregister,
)
from sclcs.spi.conformance import check_operator, failures
from sclcs.spi.versions import operator_stamps, operator_version
from sclcs.stats import rank
from sclcs.store import compute_store
from sclcs.store.exports import measure_label

PEARSON = "pearson"


def lagged(signals):
    """Covariance with the next time point.

    More words.
    """
    return signals[:, :-1] @ signals[:, 1:].T / signals.shape[1]


def product(x, y):
    return (x * y).mean()


def with_noise(signals, rng):
    return signals @ signals.T + rng.normal(size=(len(signals), len(signals)))


def test_it_is_computed_beside_ours(signals):
    register("lag1", lagged, symmetry="none")
    found = compute(signals, ["lag1", PEARSON])
    assert list(found["spi"].values) == ["lag1", PEARSON]
    assert (found["status"] == "ok").all()
    z = (signals - signals.mean(-1, keepdims=True)) / signals.std(-1, ddof=1, keepdims=True)
    expected = np.stack([lagged(sample) for sample in z])
    expected[:, np.arange(5), np.arange(5)] = np.nan
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    np.testing.assert_array_equal(found[1], compute(signals, PEARSON)[0])


def test_the_three_ways_of_being_called_agree(signals):
    register("pairs", product, takes="pair")
    register("sample", lambda x: x @ x.T / x.shape[1])
    register("batch", lambda x: x @ x.swapaxes(1, 2) / x.shape[2], takes="batch")
    found = compute(signals, ["pairs", "sample", "batch"]).to_numpy()
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-12)


@pytest.mark.parametrize("symmetry", ["symmetric", "antisymmetric", "none"])
def test_pairs_are_asked_for_as_often_as_the_symmetry_needs(signals, symmetry):
    asked = []
    register(
        "counted",
        lambda x, y: asked.append(1) or float(x[0] - 2 * y[0]),
        takes="pair",
        symmetry=symmetry,
        version="1",
    )
    matrix = compute(signals[0], "counted").to_numpy()[0, 0]
    assert len(asked) == (20 if symmetry == "none" else 10)
    upper = matrix[np.triu_indices(5, 1)]
    lower = matrix.T[np.triu_indices(5, 1)]
    if symmetry == "symmetric":
        np.testing.assert_array_equal(upper, lower)
    elif symmetry == "antisymmetric":
        np.testing.assert_array_equal(upper, -lower)
    else:
        assert not np.allclose(upper, lower)


def test_the_catalogue_lists_it_below_ours(signals):
    ours = list(catalogue().index)
    register("lag1", lagged, symmetry="none", labels="linear", reference="Me 2026")
    table = catalogue()
    assert list(table.index) == [*ours, "lag1"]
    row = table.loc["lag1"]
    assert row["description"] == "Covariance with the next time point."
    assert row["origin"] == "this process"
    assert (row["directed"], row["orientation"]) == (True, "row->col")
    assert set(row["labels"].split()) == {"own", "directed", "linear"}
    assert table["directed"].dtype.kind == "b"
    assert (table["origin"].iloc[:-1] == "sclcs").all()
    assert resolve("own") == ["lag1"]
    assert "lag1" not in resolve("all")
    assert resolve("label:own") == ["lag1"]
    assert measure_label("lag1") == "ownlag1"
    unregister("lag1")
    assert "lag1" not in catalogue().index
    with pytest.raises(UnknownNameError):
        compute(signals, "lag1")
    with pytest.raises(InputError, match=r"register"):
        resolve("own")


def test_what_the_function_does_to_its_input_reaches_nobody(signals):
    def spoils(x):
        found = x @ x.T
        x[:] = 0
        return found

    register("spoils", spoils)
    both = compute(signals, ["spoils", "kendalltau"])
    np.testing.assert_array_equal(both[1], compute(signals, "kendalltau")[0])
    assert (both["status"] == "ok").all()


def test_mistakes_of_the_function_are_reasons(signals):
    register("wrong", lambda x: np.zeros((2, 3)) + x[0, 0])
    register("raises", lambda x: 1 / 0 + x)
    found = compute(signals, ["wrong", "raises", PEARSON])
    assert found["status"].values[:, 0].tolist() == ["failed", "failed", "ok"]
    assert "must return a matrix (5, 5)" in found["reason"].values[0, 0]
    assert "ZeroDivisionError" in found["reason"].values[1, 0]


def _leaves(_):
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("function", "takes", "reason"),
    [
        (_leaves, "sample", r"calls sys.exit(3); raise an error instead"),
        (lambda x: x @ x.T * 1j, "sample", "of real numbers, but returned the type complex128"),
        (lambda _: "text", "sample", "of real numbers, but returned the type <U4"),
        (lambda _: [[1, 2], [3]], "sample", "a matrix (5, 5), one row and column per region"),
        (lambda _: None, "sample", "but returned the shape ()"),
        (lambda x: x[0], "batch", "5, 5), one per sample, but returned the shape (5,"),
        (lambda x, _: x, "pair", "must return one number, but returned the shape"),
        (lambda *_: {}, "pair", "must return one number, but returned dict"),
    ],
)
def test_what_is_no_matrix_is_named_and_stops_nothing(signals, function, takes, reason):
    register("wrong", function, takes=takes, version="1")
    found = compute(signals, ["wrong", PEARSON])
    assert found["status"].values[:, 0].tolist() == ["failed", "ok"]
    assert reason in found["reason"].values[0, 0]


def test_random_ones_are_seeded_by_the_sample(signals):
    register("noisy", with_noise, random=True)
    found = compute(signals, "noisy")
    np.testing.assert_array_equal(found, compute(signals, "noisy"))
    np.testing.assert_array_equal(found[0, 1], compute(signals[1], "noisy")[0, 0])
    assert not np.array_equal(found, compute(signals, "noisy", seed=1), equal_nan=True)
    assert operator_stamps(["noisy"], 7)["noisy"].seed == 7


def test_the_version_follows_the_source():
    register("one", lagged)
    first = operator_version("one")
    register("one", lagged)
    assert operator_version("one") == first
    versions = set()
    for power in (1, 2):
        register("one", lambda x, power=power: (x @ x.T) ** power)
        versions.add(operator_version("one"))
        register("one", _raised(power))
        versions.add(operator_version("one"))
    register("one", with_noise, random=True)
    versions.add(operator_version("one"))
    assert len({*versions, first}) == 6
    register("one", product, takes="pair", version="2.1")
    assert operator_version("one").endswith(".2.1")


def _raised(power):
    return lambda x: (x @ x.T) ** power


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "kendalltau"}, "catalogue has 'kendalltau'"),
        ({"name": "pearson"}, "catalogue has"),
        ({"name": "own"}, "catalogue has"),
        ({"name": "a/b"}, "letters, digits"),
        ({"name": 3}, "`name` must be a string"),
        ({"function": 3}, "`function` must be callable"),
        ({"takes": "rows"}, "`takes` must be one of 'sample', 'pair', 'batch'"),
        ({"symmetry": True}, "`symmetry` must be one of"),
        ({"minimum_length": 0}, "minimum_length"),
        ({"random": True, "takes": "batch"}, "every sample has its own seed"),
        ({"function": np.corrcoef.__call__}, "version="),
        ({"function": _raised(np.zeros(2))}, "version="),
    ],
)
def test_mistakes_of_the_user_are_sentences(arguments, message):
    with pytest.raises(InputError, match=message):
        register(**({"name": "mine", "function": lagged} | arguments))
    assert "mine" not in catalogue().index


def test_conformance_finds_broken_promises():
    def kept(name):
        return [check.promise for check in failures(check_operator(name))]

    register("good", lambda x: x @ x.T / x.shape[1])
    assert kept("good") == []
    register("good-pairs", product, takes="pair")
    assert kept("good-pairs") == []
    register("noisy", with_noise, random=True, symmetry="none")
    assert kept("noisy") == []
    register("skew", lagged, symmetry="symmetric")
    assert kept("skew") == [
        "has the symmetry it declares (symmetric)",
        "gives a pair the same value wherever its regions stand",
    ]
    register("scale", lambda x: x @ x.T * abs(x).max(), scale_invariant=True)
    assert kept("scale") == []  # z-scored signals have no scale
    state = []
    register("counts", lambda x: state.append(1) or x @ x.T + len(state), version="1")
    assert "gives the same numbers for the same signals" in kept("counts")
    register("flat", lambda x: np.ones((len(x), len(x))))
    assert kept("flat") == ["tells pairs of regions apart"]
    register("long", lambda x: (x[:, :9] @ x[:, -9:].T) + x[0, 50], minimum_length=5)
    assert any("the fewest it says" in promise for promise in kept("long"))


def test_ours_keep_theirs():
    for name in ["pearson", "gc_gaussian_k-1_kt-1_l-1_lt-1", "pec_orth", "cov_MinCovDet"]:
        assert list(failures(check_operator(name))) == []


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(12, 3, 5, length=60, stride=30, seed=1)


def test_it_is_ranked_stored_and_resumed(cohort, tmp_path):
    register("lag1", lagged, symmetry="none", version="1")
    ranking = rank(cohort, "subject", ["lag1", "pearson"], permutations=20, bootstrap=20)
    row = ranking.table.set_index("spi").loc["lag1"]
    assert np.isfinite(row["score"])
    assert row["name"] == "Covariance with the next time point."
    ranking.save(tmp_path / "ranking.csv")
    assert "lag1" in set(Ranking.open(tmp_path / "ranking.csv").table["spi"])
    store = compute_store(cohort, tmp_path / "fc", ["lag1", "pearson"])
    np.testing.assert_allclose(
        store.matrices("lag1"), compute(cohort.signals, "lag1")[0], rtol=1e-5, equal_nan=True
    )
    asked = []
    register("lag1", lambda x: asked.append(1) or lagged(x), symmetry="none", version="1")
    compute_store(cohort, tmp_path / "fc", ["lag1", "pearson"])
    assert asked == []  # it is there


def test_another_version_is_computed_again_or_refused(cohort, tmp_path):
    register("mine", lagged, version="1")
    compute_store(cohort, tmp_path / "fc", "mine")
    register("mine", lambda x: 2 * lagged(x), version="2")
    with pytest.raises(InputError, match="mine"):
        compute_store(cohort, tmp_path / "fc", "mine")
    store = compute_store(cohort, tmp_path / "fc", "mine", force=True)
    np.testing.assert_allclose(
        store.matrices("mine"), compute(cohort.signals, "mine")[0], rtol=1e-5, equal_nan=True
    )


def test_a_store_keeps_what_this_process_does_not_know(cohort, tmp_path):
    register("mine", lagged, version="1")
    compute_store(cohort, tmp_path / "fc", ["mine", "pearson"])
    unregister("mine")
    store = compute_store(cohort, tmp_path / "fc", "kendalltau")
    assert store.operators == [PEARSON, "kendalltau"]
    register("mine", lagged, version="1")
    assert set(store.operators) == {PEARSON, "kendalltau", "mine"}
    assert np.isfinite(store.matrices("mine")[0, 0, 1])


def test_other_processes_do_not_know_it_and_that_is_said_first(cohort, tmp_path):
    register("lag1", lagged)
    with pytest.raises(InputError, match=r"lag1.*one process.*entry point sclcs\.operators"):
        compute_store(cohort, tmp_path / "fc", "lag1", on="local:2")


def test_a_broken_package_is_named_and_stops_nothing(monkeypatch, caplog):
    known = own_operators._Known()
    monkeypatch.setattr(own_operators, "KNOWN", known)
    point = EntryPoint("bad", "no_such_module:register", own_operators.GROUP)
    monkeypatch.setattr(own_operators, "entry_points", lambda **_: [point])
    with caplog.at_level(logging.WARNING, "sclcs"):
        assert "kendalltau" in catalogue().index
    assert "no_such_module:register failed: ModuleNotFoundError" in caplog.text


PACKAGE = {
    "pyproject.toml": """
        [build-system]
        requires = ["setuptools"]
        build-backend = "setuptools.build_meta"
        [project]
        name = "lagged-operators"
        version = "1.2"
        [project.entry-points."sclcs.operators"]
        lagged = "lagged_operators:register"
        [tool.setuptools]
        py-modules = ["lagged_operators"]
    """,
    "lagged_operators.py": """
        import sclcs.spi

        def next_point(signals):
            '''Covariance with the next time point.'''
            return signals[:, :-1] @ signals[:, 1:].T / signals.shape[1]

        def register():
            sclcs.spi.register("next-point", next_point, symmetry="none", reference="Me 2026")
    """,
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Build a small package and install it into a folder of its own."""
    folder = tmp_path_factory.mktemp("package")
    for name, text in PACKAGE.items():
        (folder / name).write_text(textwrap.dedent(text))
    target = folder / "target"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]
    pip += ["--no-index", "--disable-pip-version-check", "--target", str(target), str(folder)]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def command(installed, *arguments):
    """Run ``sclcs`` in a process that sees the package."""
    paths = [str(installed), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "sclcs", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.slow
def test_a_package_is_installed_listed_checked_ranked_and_reported(installed, cohort, tmp_path):
    listed = json.loads(command(installed, "spis", "list", "--set", "own", "--json").stdout)
    assert listed["next-point"]["origin"] == "lagged-operators 1.2"
    checked = json.loads(command(installed, "spis", "check", "next-point", "--json").stdout)
    assert {check["kept"] for check in checked["checks"]} == {True}
    cohort.save(tmp_path / "c.zarr")
    run = ["run", tmp_path / "c.zarr", "--task", "subject", "--spis", "own,pearson,kendalltau"]
    run += ["--method", "pairs", "--ratio", "0.5", "--bootstrap", "20", "--permutations", "20"]
    run += ["--top-k", "3", "--on", "local:2", "--out", tmp_path / "RUN", "--json"]
    first = json.loads(command(installed, *run).stdout)
    assert "next-point" in {row["spi"] for row in first["best"]["subject"]}
    page = Path(first["report"]).read_text(encoding="utf-8")
    assert "next-point" in page
    assert "Covariance with the next time point." in page
    assert json.loads(command(installed, *run).stdout)["stages"] == []  # resumed: nothing to do
