"""How sure scores are: joint draws of all operators' scores, from halves of the subjects.

The plain bootstrap counts some subjects twice. For statistics made of pairs of subjects that
is too wide: with a small effect, most of their variance belongs to pairs, and the bootstrap
gives up to three times as much (docs/statistics.md shows it). Two complementary halves A and
B give the right one. With U the score of all subjects,

    variance of (U_A - U_B) / 2        =  V + P
    variance of (U_A + U_B) / 2 - U    =      P

where V is the variance of U and P the part of it that belongs to pairs, so V is their
difference; P is never more than half of the first (McCarthy 1969 on half-samples; Efron & Stein
1981 on the bias of such estimates).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sclcs.core.seeds import generator

__all__ = ["joint_draws", "score_covariance"]

Floats = NDArray[np.float64]
LARGEST_PAIR_PART = 0.5
SMALL = 1e-10


def score_covariance(point: Floats, halves: Floats) -> Floats:
    """Estimate the covariance of the operators' scores over draws of subjects.

    Parameters
    ----------
    point : array, shape (operator,)
        Scores on all subjects, all finite.
    halves : array, shape (operator, 2 * split)
        Scores on halves; columns 2i and 2i + 1 are the two halves of split i.

    Returns
    -------
    array, shape (operator, operator)
        Positive semi-definite.
    """
    one, other = halves[:, ::2], halves[:, 1::2]
    apart = (one - other) / 2
    together = (one + other) / 2 - point[:, None]
    together = together - together.mean(axis=1, keepdims=True)  # a score may grow with the sample
    n_splits = apart.shape[1]
    whole = apart @ apart.T / n_splits
    values, vectors = np.linalg.eigh(whole)
    kept = values > SMALL * max(float(values[-1]), 0.0)
    if not kept.any():
        return np.zeros_like(whole)
    root = vectors[:, kept] * np.sqrt(values[kept])
    whitened = (vectors[:, kept] / np.sqrt(values[kept])).T @ together
    part, directions = np.linalg.eigh(whitened @ whitened.T / max(n_splits - 1, 1))
    left = directions * np.sqrt(1.0 - np.clip(part, 0.0, LARGEST_PAIR_PART))
    factor = root @ left
    return np.asarray(factor @ factor.T)


def joint_draws(point: Floats, halves: Floats, n_draws: int, seed: int = 0) -> Floats:
    """Draw scores as they would come out with other subjects, all operators together.

    Parameters
    ----------
    point : array, shape (operator,)
        NaN for operators without a score.
    halves : array, shape (operator, 2 * split)
        See :func:`score_covariance`. Splits in which a half has no score are left out.
    n_draws : int
    seed : int

    Returns
    -------
    array, shape (operator, n_draws)
        Normal around the scores; NaN for operators without one.
    """
    drawn = np.full((len(point), n_draws), np.nan)
    known = np.isfinite(point)
    usable = _whole_splits(halves[known])
    if not known.any() or usable.sum() < 4:
        return drawn
    covariance = score_covariance(point[known], halves[known][:, usable])
    values, vectors = np.linalg.eigh(covariance)
    normal = generator(seed, "redraws").standard_normal((int(known.sum()), n_draws))
    # The symmetric root: signs and order of eigenvectors, which processors choose, do not matter.
    noise = (vectors * np.sqrt(np.maximum(values, 0.0))) @ (vectors.T @ normal)
    drawn[known] = point[known][:, None] + noise
    return drawn


def _whole_splits(halves: Floats) -> NDArray[np.bool_]:
    """Say which columns belong to splits in which every operator has both scores."""
    if not halves.size:
        return np.zeros(halves.shape[1], dtype=bool)
    return np.isfinite(halves).all(axis=0).reshape(-1, 2).all(axis=1).repeat(2)
