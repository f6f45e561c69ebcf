"""Fixtures of the operator tests.

Axis sizes are unequal on purpose (samples, regions, times), so that a swapped axis fails.
"""

from __future__ import annotations

import numpy as np
import pytest
from spi_reference import coupled_noise

from sclcs.spi import catalogue, compute_batch as compute

N_SAMPLES, N_REGIONS, N_TIMES = 3, 5, 61


@pytest.fixture(scope="session")
def signals() -> np.ndarray:
    return coupled_noise(0, N_SAMPLES, N_REGIONS, N_TIMES)


@pytest.fixture(scope="session")
def table():
    return catalogue()


@pytest.fixture(scope="session")
def result(signals):
    """Every implemented operator on the shared signals."""
    return compute(signals, "all")
