import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled

from sclcs.spi.families import arclength


def by_definition(x, y):
    lengths = []
    for row in (x, y):
        steps = [np.hypot(1.0, row[s] - row[s - 1]) for s in range(1, len(row))]
        lengths.append([sum(steps[: m + 1]) for m in range(len(steps))])
    return np.sqrt(np.mean((np.array(lengths[0]) - lengths[1]) ** 2))


@pytest.mark.parametrize("n_times", [2, 3, 41])
def test_equals_the_definition(n_times):
    signals = coupled(n_times=n_times)
    expected = pairs(signals, by_definition)
    np.testing.assert_allclose(run(arclength, signals)["gwtau"], expected, atol=1e-12)


def test_time_reversal_of_a_row_matters_but_its_sign_does_not():
    signals = coupled()
    flipped = run(arclength, -signals)["gwtau"]
    np.testing.assert_allclose(flipped, run(arclength, signals)["gwtau"])
