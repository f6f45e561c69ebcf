import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled

from sclcs.spi.families import barycenter

STATISTICS = {
    "bary_euclidean_mean": lambda b: b.mean(),
    "bary_euclidean_max": lambda b: b.max(),
    "bary-sq_euclidean_mean": lambda b: (b**2).mean(),
    "bary-sq_euclidean_max": lambda b: (b**2).max(),
}


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("n_times", [2, 41])
def test_equals_the_definition(name, n_times):
    signals = coupled(n_times=n_times)
    expected = pairs(signals, lambda x, y: STATISTICS[name]((x + y) / 2))
    np.testing.assert_allclose(run(barycenter, signals)[name], expected, atol=1e-14)


def test_the_mean_is_exactly_zero_instead_of_noise():
    matrix = run(barycenter, coupled())["bary_euclidean_mean"]
    assert (matrix[~np.isnan(matrix)] == 0.0).all()


def test_mean_square_is_a_function_of_the_correlation():
    signals = coupled()
    n_times = signals.shape[-1]
    expected = pairs(
        signals, lambda x, y: (n_times - 1) / n_times * (1 + np.corrcoef(x, y)[0, 1]) / 2
    )
    np.testing.assert_allclose(run(barycenter, signals)["bary-sq_euclidean_mean"], expected)
