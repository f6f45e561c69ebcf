"""Operators whose numbers are the same, to the last digit, on every processor.

`.ci/run` runs this file with several BLAS kernels and once with code for a generic processor; the
digests are those of the first time. They change only with a new version of the family.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from spi_reference import committed_reference

from sclcs.spi import compute_batch as compute
from sclcs.spi.versions import FAMILY_VERSIONS

# By input: operators that magnify rounding (the lasso), or rank by it (neighbours among ties).
CASES = {
    "90x50": ["cov_GraphicalLasso", "prec_GraphicalLasso"],
    "drifts_6x150": ["cov_GraphicalLassoCV", "prec_GraphicalLassoCV"],
    "slow_ties_4x60": ["mgc", "mgcx_maxlag-1", "mgcx_maxlag-10"],
}
DIGESTS = {
    "cov_GraphicalLasso": "e35350a65fd4daed",
    "prec_GraphicalLasso": "bff8e7d2f35b35e0",
    "cov_GraphicalLassoCV": "5d7721381ef3983c",
    "prec_GraphicalLassoCV": "04f66ef85d3f16d2",
    "mgc": "dbfe6f6e935fb33b",
    "mgcx_maxlag-1": "29037066aafdb353",
    "mgcx_maxlag-10": "5707ce5bf4c5ca55",
}


@pytest.mark.parametrize(
    ("name", "identifier"), [(n, i) for n, found in CASES.items() for i in found]
)
def test_the_last_digit_is_the_same(name, identifier):
    values = compute(committed_reference(name).signals, identifier).to_numpy()
    assert np.isfinite(values).sum() == values.size - values.shape[-1]
    digest = hashlib.sha256(np.nan_to_num(values, nan=0.0).tobytes()).hexdigest()[:16]
    assert digest == DIGESTS[identifier]


def test_these_are_the_digits_of_these_versions():
    assert {name: FAMILY_VERSIONS[name] for name in ("covariance", "dependence")} == {
        "covariance": 3,
        "dependence": 4,
    }


def test_units_do_not_matter_where_the_lasso_magnifies_rounding():
    signals = committed_reference("drifts_6x150").signals
    scale = np.array([0.3, 7.0, 1e3, 2e-4, 1.1, 13.0])[:, None]
    operators = ["prec_GraphicalLasso", "prec_GraphicalLassoCV"]
    once, other = (compute(x, operators).to_numpy() for x in (signals, signals * scale + scale))
    np.testing.assert_array_equal(once, other)
