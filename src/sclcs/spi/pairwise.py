"""Operators whose value of two regions depends on the signals of these two alone.

To the last bit: computed on a few of the regions they give the very numbers that they give on
all of them. So the regions of one sample can be computed in parts, by processes that know
nothing of each other. Other operators may be of pairs, too, but share sums whose rounding depends
on who else is there, or draw random numbers by the place of a region.

The families here are the expensive ones; ``tests/spi/test_pairwise.py`` holds each of their
operators to it.
"""

from __future__ import annotations

from sclcs.spi.catalogue import operator_facts

__all__ = ["is_pairwise"]

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


def is_pairwise(operator: str) -> bool:
    """Return whether an operator may be computed on some regions at a time.

    Examples
    --------
    >>> is_pairwise("mi_kraskov_NN-4"), is_pairwise("prec_OAS")
    (True, False)
    """
    facts = operator_facts().get(operator)
    return facts is not None and facts.family in FAMILIES and operator not in EXCEPT
