import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled
from scipy.spatial import distance as scipy_distance

from sclcs.spi.families import distance


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # scipy, opposite rows
@pytest.mark.parametrize("metric", [m.metric for m in distance.MEMBERS.values()])
@pytest.mark.parametrize("n_times", [2, 3, 41])
def test_equals_scipy(metric, n_times):
    signals = coupled(n_times=n_times)
    expected = pairs(signals, getattr(scipy_distance, metric))
    np.testing.assert_allclose(run(distance, signals)[f"pdist_{metric}"], expected, atol=1e-12)


def test_opposite_rows_are_infinitely_far_in_bray_curtis():
    signals = coupled(n_regions=2)
    signals[:, 1] = -signals[:, 0]
    assert np.isposinf(run(distance, signals)["pdist_braycurtis"][:, 0, 1]).all()


def test_canberra_counts_two_zeros_as_equal():
    signals = np.array([[[-1.0, 0.0, 1.0], [1.0, 0.0, -1.0]]])
    assert run(distance, signals)["pdist_canberra"][0, 0, 1] == 2.0
