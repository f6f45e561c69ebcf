import numpy as np
import pytest
import scipy.signal
from family_oracles import pairs, run
from family_signals import coupled

from sclcs.spi.families import envelope


def five_smooth_at_least(n):
    while True:
        rest = n
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 1


def analytic(x):
    return scipy.signal.hilbert(x, five_smooth_at_least(len(x)))[: len(x)]


def by_definition(parameters):
    def squash(values):
        return np.log(values**2) if parameters.log else values

    def one_way(zx, zy):
        part = np.abs((zx * zy.conj() / np.abs(zy)).imag)
        return np.corrcoef(squash(part), squash(np.abs(zy)))[0, 1]

    def function(x, y):
        zx, zy = analytic(x), analytic(y)
        if not parameters.orthogonal:
            return np.corrcoef(squash(np.abs(zx)), squash(np.abs(zy)))[0, 1]
        both = np.array([one_way(zx, zy), one_way(zy, zx)])
        return (np.abs(both) if parameters.absolute else both).mean()

    return function


@pytest.mark.parametrize("name", envelope.MEMBERS)
@pytest.mark.parametrize("n_times", [7, 41, 45, 70])  # padded to 8, 45 (odd), 45, 72
def test_equals_the_definition(name, n_times):
    signals = coupled(n_times=n_times)
    expected = pairs(signals, by_definition(envelope.MEMBERS[name]))
    np.testing.assert_allclose(run(envelope, signals)[name], expected, atol=1e-11)
