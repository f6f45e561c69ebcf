"""A tiny simulated cohort, and what toy runs share: one FC store and one cache of trainings."""

import pytest

from sclcs import simulate_cohort

SMALL = {
    "repeats": 2,
    "draws": 2,
    "ratios": (0.4, 0.5),
    "methods": ("random", "forgetting", "aum", "sclcs", "sclcs-dense", "stratified"),
}


@pytest.fixture(scope="session")
def toy_cohort():
    """Ten subjects with three windows of 28 time points, six regions."""
    return simulate_cohort(10, 3, 6, length=28, stride=14, seed=5)


@pytest.fixture(scope="session")
def toy_store(tmp_path_factory):
    return tmp_path_factory.mktemp("toy") / "fc"


@pytest.fixture
def run(toy_cohort, toy_store, tmp_path):
    """Run an experiment at toy size and return its folder."""
    from paper import run_experiment

    def run_one(name, folder="result", **options):
        out = tmp_path / folder
        chosen = {**SMALL, **options}
        run_experiment(name, toy_cohort, out, fc=toy_store, toy=True, **chosen)
        return out

    return run_one
