"""Interdependence score (``ids``): the largest correlation between features of two rows.

The features of a row are exp(-x^2 / 2) x^p / sqrt(p!), p = 0 ... 5: the first terms of the
expansion of a Gaussian kernel, so that a dependence of any smooth form shows in some pair of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sclcs.spi.numerics.compiling import Array
from sclcs.spi.own import FamilyContext

__all__ = ["MEMBERS", "InterdependenceParameters", "compute"]


@dataclass(frozen=True)
class InterdependenceParameters:
    """How many features.

    Parameters
    ----------
    n_features : int
        The powers 0 to ``n_features`` - 1.
    """

    n_features: int


MEMBERS: Mapping[str, InterdependenceParameters] = MappingProxyType(
    {"ids": InterdependenceParameters(n_features=6)}
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute the interdependence score of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Rows z-scored along time.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: correlations are taken one feature against one feature.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    return {
        name: np.stack([_largest_correlations(rows, MEMBERS[name].n_features) for rows in signals])
        for name in members
    }


def _largest_correlations(rows: Array, n_features: int) -> Array:
    features = _features(rows, n_features)
    largest = np.zeros((len(rows), len(rows)))
    for p in range(n_features):
        for q in range(p, n_features):
            correlation = np.abs(features[p] @ features[q].T)
            np.maximum(largest, correlation, out=largest)
            np.maximum(largest, correlation.T, out=largest)
    return largest


def _features(rows: Array, n_features: int) -> Array:
    """Return features of mean 0 and norm 1, (feature, region, time); 0 if they are constant.

    The factor 1 / sqrt(p!) does not change a correlation.
    """
    features = np.empty((n_features, *rows.shape))
    np.exp(-0.5 * rows * rows, out=features[0])
    for p in range(1, n_features):
        np.multiply(features[p - 1], rows, out=features[p])
    size = np.abs(features).max(axis=-1, keepdims=True)
    features -= features.mean(axis=-1, keepdims=True)
    norms = np.sqrt(np.einsum("prt,prt->pr", features, features))[..., None]
    varies = norms > np.finfo(np.float64).eps * rows.shape[-1] * size
    normalised: Array = np.divide(features, norms, out=np.zeros_like(features), where=varies)
    return normalised
