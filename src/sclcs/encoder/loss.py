"""The contrastive loss: windows of one subject close, windows of others far."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from sclcs.encoder.settings import Denominator

__all__ = ["BatchGeometry", "contrastive_loss"]


@dataclass(frozen=True)
class BatchGeometry:
    """What a batch's embeddings look like on the sphere.

    Parameters
    ----------
    n_pairs : int
        Ordered positive pairs.
    alignment : float
        Mean squared distance of positive pairs; 0 is perfect.
    uniformity : float
        Log of the mean of exp(-2 distance^2) over pairs of different subjects; lower is
        more spread out.
    """

    n_pairs: int
    alignment: float
    uniformity: float


def contrastive_loss(
    embeddings: Tensor,
    subjects: Tensor,
    *,
    temperature: float = 0.1,
    denominator: Denominator = "negatives",
) -> tuple[Tensor, BatchGeometry]:
    """Compare each positive pair with the samples of other subjects in the batch.

    Parameters
    ----------
    embeddings : Tensor, shape (sample, dim)
        One row per sample; only the direction counts.
    subjects : Tensor of int, shape (sample,)
        Which samples belong together.
    temperature : float
        Divides the cosine similarities.
    denominator : {"negatives", "negatives+self", "infonce"}
        What the exponentials are summed over: samples of other subjects; those and the
        anchor itself; those and the positive.

    Returns
    -------
    loss : Tensor
        Mean over ordered positive pairs. The form ``negatives`` may be below zero.
    geometry : BatchGeometry
        Alignment and uniformity of the batch.
    """
    directions = normalize(embeddings, dim=1)
    cosines = directions @ directions.t()
    scores = cosines / temperature
    same = subjects[:, None] == subjects[None, :]
    itself = torch.eye(len(subjects), dtype=torch.bool, device=same.device)
    anchors, positives = torch.nonzero(same & ~itself, as_tuple=True)
    compared = (~same | itself) if denominator == "negatives+self" else ~same
    rest = torch.logsumexp(scores.masked_fill(~compared, -torch.inf), dim=1)[anchors]
    attracted = scores[anchors, positives]
    if denominator == "infonce":
        rest = torch.logaddexp(rest, attracted)
    loss = (rest - attracted).mean()
    return loss, _geometry(cosines.detach(), same, anchors, positives)


def _geometry(cosines: Tensor, same: Tensor, anchors: Tensor, positives: Tensor) -> BatchGeometry:
    # On the unit sphere the squared distance is 2 - 2 cos.
    alignment = (2 - 2 * cosines[anchors, positives]).mean()
    spread = (4 * cosines - 4).masked_fill(same, -torch.inf)
    uniformity = torch.logsumexp(spread.flatten(), 0) - torch.log((~same).sum())
    return BatchGeometry(len(anchors), float(alignment), float(uniformity))
