import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled

from sclcs.spi.families import lcss


def table_by_definition(x, y):
    n = len(x)
    table = np.zeros((n + 1, n + 1))
    for s in range(1, n + 1):
        for t in range(1, n + 1):
            if abs(s - t) > 1:
                continue
            if abs(x[s - 1] - y[t - 1]) <= 1.0:
                table[s, t] = 1 + table[s - 1, t - 1]
            else:
                table[s, t] = max(table[s, t - 1], table[s - 1, t])
    return table[n, n] / n


@pytest.mark.parametrize("n_times", [2, 3, 4, 41])
def test_equals_the_table(n_times):
    signals = coupled(n_times=n_times)
    expected = pairs(signals, table_by_definition)
    np.testing.assert_array_equal(run(lcss, signals)["lcss_constraint-sakoe-chiba"], expected)


def test_equal_rows_have_everything_in_common():
    signals = coupled(n_regions=2)
    signals[:, 1] = signals[:, 0]
    assert (run(lcss, signals)["lcss_constraint-sakoe-chiba"][:, 0, 1] == 1.0).all()
