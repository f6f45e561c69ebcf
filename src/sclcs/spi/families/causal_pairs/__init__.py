"""Scores of cause and effect for pairs of regions, as the Causal Discovery Toolbox defines them.

anm   dependence of a residual on its regressor, see `additive_noise`
cds   spread of conditional histograms, see `conditional_spread`
reci  error of regressing the column on the cube of the row, both scaled to 0 .. 1
igci  difference of the spacing entropies of the two regions
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

import numpy as np

from sclcs.numerics.arrays import Array
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.causal_pairs.additive_noise import additive_noise_scores
from sclcs.spi.families.causal_pairs.conditional_spread import conditional_spreads

__all__ = ["MEMBERS", "compute"]


def _cubic_errors(rows: Array) -> Array:
    """Return the mean squared errors; linear and square terms of the cubic fit are left out."""
    lowest = rows.min(axis=1, keepdims=True)
    scaled = (rows - lowest) / (rows.max(axis=1, keepdims=True) - lowest)
    cubes = scaled**3
    cubes -= cubes.mean(axis=1, keepdims=True)
    scaled -= scaled.mean(axis=1, keepdims=True)
    explained = (cubes @ scaled.T) ** 2 / (cubes**2).sum(axis=1, keepdims=True)
    errors: Array = ((scaled**2).sum(axis=1) - explained) / rows.shape[1]
    return errors


def _entropy_differences(rows: Array) -> Array:
    entropies = np.array([_spacing_entropy(row / row.std()) for row in rows])
    differences: Array = entropies[:, np.newaxis] - entropies
    return differences


def _spacing_entropy(row: Array) -> float:
    """Return the mean logarithm of the gaps between sorted values; ties have no gap.

    A constant that depends on the number of time points alone cancels in the difference.
    """
    gaps = np.diff(np.sort(row))
    return float(np.log(gaps[gaps > 0.0]).sum() / len(gaps))


MEMBERS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "anm": additive_noise_scores,
        "cds": conditional_spreads,
        "reci": _cubic_errors,
        "igci": _entropy_differences,
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute causal scores, row -> column.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Not needed: pairs are taken one after the other.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    return {name: np.stack([MEMBERS[name](rows) for rows in signals]) for name in members}
