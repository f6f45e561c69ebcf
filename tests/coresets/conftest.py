import numpy as np
import pytest

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
