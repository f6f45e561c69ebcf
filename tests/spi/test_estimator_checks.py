"""scikit-learn's own checks of estimators, on FCTransformer.

The checks feed tables (sample, feature), but a sample of ours is itself a table (time, region). The
transformer as it is says so in its tags, and gets the checks that concern the object. So that the
others are not lost, they run on :class:`OfRows`: the same transformer, which makes a scan of every
row first.
"""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from sclcs import FCTransformer

LENGTH = 23


class OfRows(FCTransformer):
    """Makes a scan (time, region) of every row of a table, a region per feature."""

    def fit(self, X, y=None):
        return super().fit(self._scans(X, reset=True), y)

    def transform(self, X):
        check_is_fitted(self)
        return super().transform(self._scans(X, reset=False))

    def _scans(self, X, reset):
        table = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_min_features=2 if reset else 1
        )
        times = np.arange(1, LENGTH + 1)[:, None]
        places = np.arange(table.shape[1])
        return [np.sin(times * (1 + places)) + np.tanh(row) * np.cos(times) for row in table]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = False
        return tags


@parametrize_with_checks([OfRows(vectorize=True)])  # none is expected to fail
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_most_checks_are_run():
    names = [check.func.__name__ for _, check in estimator_checks_generator(OfRows())]
    assert len(names) > 30
    assert {"check_methods_sample_order_invariance", "check_fit_idempotent"} <= set(names)


@pytest.mark.filterwarnings("ignore")
def test_as_it_is():
    for estimator, check in estimator_checks_generator(FCTransformer()):
        check(estimator)
