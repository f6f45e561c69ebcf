import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled, zscore
from tslearn.metrics import itakura_mask, lcss as tslearn_lcss

from sclcs.spi.families import lcss


def table_by_definition(x, y, allowed):
    n = len(x)
    table = np.zeros((n + 1, n + 1))
    for s in range(1, n + 1):
        for t in range(1, n + 1):
            if not allowed[s - 1, t - 1]:
                continue
            if abs(x[s - 1] - y[t - 1]) <= 1.0:
                table[s, t] = 1 + table[s - 1, t - 1]
            else:
                table[s, t] = max(table[s, t - 1], table[s - 1, t])
    return table[n, n] / n


def band(name, n):
    if name == "lcss_constraint-itakura":
        return itakura_mask(n, n).astype(bool)
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return distance <= (1 if "sakoe" in name else n)


@pytest.mark.parametrize("n_times", [2, 3, 4, 41])
@pytest.mark.parametrize("name", lcss.MEMBERS)
def test_equals_the_table(name, n_times):
    signals = coupled(n_times=n_times)
    allowed = band(name, n_times)
    expected = pairs(signals, lambda x, y: table_by_definition(x, y, allowed))
    np.testing.assert_array_equal(run(lcss, signals)[name], expected)


def test_equals_tslearn():
    signals = zscore(np.round(2 * coupled(n_regions=4)) / 2)  # with ties
    constraints = {"": None, "_constraint-itakura": "itakura"}
    for suffix, constraint in constraints.items():
        expected = pairs(signals, lambda x, y, c=constraint: tslearn_lcss(x, y, 1.0, c))
        np.testing.assert_allclose(run(lcss, signals)[f"lcss{suffix}"], expected, rtol=1e-15)


def test_equal_rows_have_everything_in_common():
    signals = coupled(n_regions=2)
    signals[:, 1] = signals[:, 0]
    for similarity in run(lcss, signals).values():
        assert (similarity[:, 0, 1] == 1.0).all()
