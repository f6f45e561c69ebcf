from math import factorial

import numpy as np
from family_oracles import pairs, run
from family_signals import coupled, zscore

from sclcs.spi.families import interdependence


def by_definition(x, y):
    def features(z):
        return [np.exp(-(z**2) / 2) * z**p / np.sqrt(factorial(p)) for p in range(6)]

    return np.abs(np.corrcoef(features(x), features(y))[:6, 6:]).max()


def test_equals_the_definition():
    signals = coupled()
    expected = pairs(signals, by_definition)
    np.testing.assert_allclose(run(interdependence, signals)["ids"], expected, atol=1e-13)


def test_sees_a_dependence_that_correlation_does_not():
    x = np.linspace(-2.0, 2.0, 60)
    signals = zscore(np.stack([x, x**2])[None])
    assert abs(np.corrcoef(signals[0])[0, 1]) < 1e-12
    assert run(interdependence, signals)["ids"][0, 0, 1] > 0.95


def test_constant_features_count_for_nothing():
    """On two values of equal size the even features are constant: no NaN, no noise."""
    signals = coupled(n_samples=1, n_regions=3, n_times=40)
    signals[0, 0] = zscore(np.tile([1.0, -1.0], 20))
    score = run(interdependence, signals)["ids"][0]
    sign = np.sign(signals[0, 0])
    features = [np.exp(-(signals[0, 1] ** 2) / 2) * signals[0, 1] ** p for p in range(6)]
    expected = max(abs(np.corrcoef(sign, feature)[0, 1]) for feature in features)
    np.testing.assert_allclose(score[0, 1], expected, rtol=1e-12)
