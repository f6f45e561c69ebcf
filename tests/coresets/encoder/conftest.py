"""Tiny cohorts: 6 regions, 17 time points, uneven numbers of windows."""

import pytest
from encoder_cohorts import make_cohort


@pytest.fixture(scope="session")
def trainable():
    """Nine subjects; one has a single window. 23 samples."""
    windows = {f"s{i}": 3 for i in range(5)} | {"t0": 2, "t1": 2, "t2": 3, "u0": 1}
    return make_cohort(windows)


@pytest.fixture
def quick():
    """Settings that train in a moment."""
    return {"heads": 3, "dim": 4, "epochs": 4, "batch_subjects": 4}
