"""What the blend and the reading of scans refuse, each with a sentence."""

import numpy as np
import pytest

from sclcs import simulate_cohort
from sclcs._core.errors import InputError
from sclcs.decision.operator_features import read_scans
from sclcs.spi import compute_batch as compute

RNG = np.random.default_rng(2)
SCANS = [RNG.normal(size=(40, 5)) for _ in range(4)]


@pytest.fixture(scope="module")
def matrices():
    return compute(np.stack([scan.T for scan in SCANS]), ["pearson"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("scans.npz", "Expected a list of arrays"),
        ([], "at least one scan, found 0 scans"),
        ([SCANS[0], RNG.normal(size=(40, 6))], "axes look swapped"),
        ([SCANS[0][:, 0]], "every scan as an array"),
        ([np.where(SCANS[0] > 2, np.nan, SCANS[0]) * np.nan], "NaN or infinite"),
    ],
)
def test_what_are_no_scans_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        read_scans(given)


def test_matrices_have_four_axes_and_belong_to_the_scans(matrices):
    assert read_scans(matrices).count == len(SCANS)
    with pytest.raises(InputError, match="spi, scan, source, target"):
        read_scans(matrices[0])
    with pytest.raises(InputError, match="matrices of 3 scans, found 4"):
        read_scans(SCANS[:3], matrices)


def test_a_cohort_is_read_as_its_scans():
    cohort = simulate_cohort(3, 1, 5, length=40, stride=40, seed=1)
    scans = read_scans(cohort)
    assert (scans.count, scans.n_regions) == (3, 5)
    np.testing.assert_array_equal(scans.series[1], cohort.signals[1].T)
