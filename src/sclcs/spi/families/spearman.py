"""Spearman's rank correlation (``spearmanr``, ``spearmanr-sq``).

Pearson's correlation of the ranks; tied values share the mean of their ranks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from scipy.stats import rankdata

from sclcs.spi.numerics.compiling import Array
from sclcs.spi.own import FamilyContext
from sclcs.spi.squared import Form, both_forms, in_forms

__all__ = ["MEMBERS", "compute"]


MEMBERS: Mapping[str, Form] = both_forms("spearmanr")


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute Spearman's rank correlation of all pairs of rows.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        Only the order within a row matters.
    members : collection of str
        Identifiers, keys of `MEMBERS`.
    context : FamilyContext
        Not needed here: the ranks are as large as the signals.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    rho = np.stack([_rank_correlation(sample) for sample in signals])
    return in_forms(rho, members, MEMBERS)


def _rank_correlation(rows: Array) -> Array:
    ranks = rankdata(rows, axis=-1)
    ranks -= 0.5 * (rows.shape[-1] + 1)  # the mean rank, with ties as without
    norm = np.linalg.norm(ranks, axis=-1)
    rho: Array = np.clip(ranks @ ranks.T / (norm[:, None] * norm[None, :]), -1.0, 1.0)
    return rho
