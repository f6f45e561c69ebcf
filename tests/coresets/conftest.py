import numpy as np
import pytest
from encoder_cohorts import make_cohort

from sclcs import simulate_cohort


@pytest.fixture(scope="session")
def small_cohort():
    """72 samples: 18 subjects x 4 windows, 6 regions, 26 time points."""
    return simulate_cohort(18, 4, 6, length=26, stride=13, seed=3)


@pytest.fixture(scope="session")
def shuffled_cohort(small_cohort):
    """The same samples in another order."""
    order = np.random.default_rng(5).permutation(len(small_cohort))
    return small_cohort.take(order)


@pytest.fixture(scope="session")
def trainable():
    """Nine subjects; one has a single window. 23 samples."""
    windows = {f"s{i}": 3 for i in range(5)} | {"t0": 2, "t1": 2, "t2": 3, "u0": 1}
    return make_cohort(windows)


@pytest.fixture
def quick():
    """Settings that train in a moment."""
    return {"heads": 3, "dim": 4, "epochs": 4, "batch_subjects": 4}
