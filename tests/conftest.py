"""Shared fixtures. Axis sizes are all different, so that a swapped axis fails."""

import os
from pathlib import Path

# One level of parallelism in tests: the suite itself may run on several processes.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from sclcs.cohort import Cohort
from sclcs.cohort.series import scans_of_series
from sclcs.spi import own_operators, unregister

# The same examples in every run: a red CI must be the change's fault.
settings.register_profile("sclcs", deadline=None, derandomize=True)
settings.load_profile("sclcs")

REPOSITORY = Path(__file__).resolve().parents[1]
REAL_COHORT = REPOSITORY.parent / "shared" / "data" / "abide_dos160_dmn33.npz"


#: Files and folders that take longest. They begin, so that no process is left alone with them at
#: the end: `make test` keeps a file on one process (see the Makefile).
LONGEST = (
    "spi/test_conformance.py", "docs/test_code_blocks.py", "spi/test_agreement.py",
    "faults", "runs", "paper", "store", "cli", "spi/families", "coresets", "browser",
    "test_whole_path.py", "report",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """Put the longest files first; inside a file nothing moves."""
    tests = Path(__file__).parent
    places = {}

    def place(item):
        if item.path not in places:
            name = item.path.relative_to(tests).as_posix()
            places[item.path] = next(
                (k for k, start in enumerate(LONGEST) if name.startswith(start)), len(LONGEST)
            )
        return places[item.path]

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Tests neither read nor fill the user's cache of trained scores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCLCS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_disk():
    """Tests do not wait for the disk: no test pulls the plug, and each run flushes 160 times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def no_operator_stays_behind():
    """An operator that a test or a page of the docs registers is forgotten: others count them."""
    before = set(own_operators())
    yield
    for name in set(own_operators()) - before:
        unregister(name)


@pytest.fixture(scope="session")
def real_cohort_file():
    """The real cohort's file, where the project's shared folder is beside the clone."""
    if not REAL_COHORT.exists():
        pytest.skip(f"the real cohort is not here ({REAL_COHORT}); this test is extra")
    return REAL_COHORT


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


@pytest.fixture
def scans(rng):
    """Four scans of three subjects: 5 regions, 41 to 60 time points."""
    lengths = [41, 60, 47, 53]
    table = pd.DataFrame(
        {"subject": list("abbc"), "site": list("xyyx"), "age": [20.5, 30.0, 30.0, 41.25]}
    )
    return scans_of_series([rng.normal(size=(5, n)).T for n in lengths], table, tr=2.0)


@pytest.fixture
def cohort(rng):
    """Seven samples of three subjects: 5 regions, 13 time points."""
    samples = pd.DataFrame(
        {
            "subject": ["a", "a", "a", "b", "b", "c", "c"],
            "window": [0, 1, 2, 0, 1, 0, 1],
            "diagnosis": ["MDD", "MDD", "MDD", "HC", "HC", "HC", "HC"],
            "age": [20.0, 20.0, 20.0, 31.5, 31.5, np.nan, np.nan],
        },
        index=[f"s{i}" for i in range(7)],
    )
    names = ["left", "right", "front", "back", "middle"]
    return Cohort(rng.normal(size=(7, 5, 13)), samples, names, 2.0, provenance={"source": "test"})


@pytest.fixture(scope="module")
def quick_plan():
    """Runs predict their costs in a moment instead of some seconds."""
    with pytest.MonkeyPatch.context() as patch:
        from sclcs.runs.costs import Start

        patch.setattr("sclcs.runs.check.CALIBRATION_SECONDS", 0.01)
        start = Start(1.0, 1.0, 10**8)
        patch.setattr("sclcs.runs.costs._measure_start", lambda *_: start)
        yield
