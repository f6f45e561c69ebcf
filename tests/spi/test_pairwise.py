"""Operators of pairs give the same bits whichever other regions are there."""

import numpy as np
import pytest

from sclcs.spi.engine import compute_block, family_members
from sclcs.spi.operators import operator_facts
from sclcs.spi.signals import check_signals, sample_seeds

FAMILIES = frozenset(
    {
        "causal_pairs",
        "cointegration",
        "cross_mapping",
        "dependence",
        "elastic_barycenter",
        "lcss",
        "nearest_neighbour",
        "regression",
        "spectral_factor",
        "warping",
    }
)
EXCEPT = frozenset(
    {
        # One product of matrices for all pairs: BLAS rounds by their number.
        "dcorr",
        "dcorr_biased",
        "dcorrx_maxlag-1",
        "dcorrx_maxlag-10",
        "reci",
        # Draw by the place of a pair among all.
        "bary-sq_sgddtw_max",
        "bary-sq_sgddtw_mean",
        "bary_sgddtw_max",
        "bary_sgddtw_mean",
    }
)
CHOICES = [[0, 1, 4, 7], [2, 3, 5], [1, 8], [0, 2, 4, 6, 8, 10]]


def signals(n_regions=11, n_times=83):
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(2, n_regions, n_times))
    for time in range(1, n_times):
        noise[..., time] += 0.5 * noise[..., time - 1]
    mixing = np.eye(n_regions) + 0.3 * rng.normal(size=(n_regions, n_regions))
    return check_signals(mixing @ noise)


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_some_regions_have_the_numbers_of_all(family):
    batch = signals()
    seeds = sample_seeds(batch, 5)
    names = [name for name in family_members(operator_facts())[family] if name not in EXCEPT]
    assert names
    whole = compute_block(batch, names, sample_seeds=seeds)
    for regions in CHOICES:
        part = compute_block(batch[:, regions].copy(), names, sample_seeds=seeds)
        for name in names:
            expected = whole[name].matrices[:, regions][:, :, regions]
            assert part[name].matrices.tobytes() == expected.tobytes(), name
            assert np.isfinite(expected).any(), name


def test_exceptions_are_operators_of_these_families():
    assert {operator_facts()[name].family for name in EXCEPT} <= FAMILIES
