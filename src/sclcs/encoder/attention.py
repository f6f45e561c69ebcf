"""Attention maps without a loop over heads and without copies between products.

Queries and keys of all heads come from one batched product whose result is already laid
out as (query or key, head, sample, region, dim), so that the scores of all heads and
samples are one more batched product, and fusing heads is one matrix-vector product.
"""

# mypy: disable-error-code="no-untyped-call,misc,no-any-return"
from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = [
    "Workspace",
    "attend",
    "attend_backward",
    "fuse",
    "fused_logits_map",
    "head_maps",
    "project_heads",
]


def project_heads(inputs: Tensor, weight: Tensor) -> Tensor:
    """Apply the projection of every head to every region.

    Parameters
    ----------
    inputs : Tensor, shape (sample, region, feature)
        Contiguous.
    weight : Tensor, shape (projection, feature, dim)
        One matrix per projection (queries of all heads, then keys of all heads).

    Returns
    -------
    Tensor, shape (projection, sample * region, dim)
    """
    tokens = inputs.reshape(-1, inputs.shape[-1])
    return torch.bmm(tokens.expand(len(weight), *tokens.shape), weight)


def _queries_and_keys(projected: Tensor, n_regions: int) -> Tensor:
    n_projections, _, dim = projected.shape
    return projected.view(2, n_projections // 2, -1, n_regions, dim).flatten(1, 2)


def head_maps(inputs: Tensor, weight: Tensor) -> Tensor:
    """Return the softmax map of every head, shape (head, sample, region, region)."""
    n_samples, n_regions, _ = inputs.shape
    queries, keys = _queries_and_keys(project_heads(inputs, weight), n_regions)
    scores = torch.bmm(queries, keys.transpose(1, 2))
    return torch.softmax(scores, -1).view(-1, n_samples, n_regions, n_regions)


class Workspace:
    """Working memory that is used again by the next block of samples.

    Fresh memory every time costs as much as a matrix product, because the system must
    clear its pages first.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Return memory of that shape; its content is whatever was left there."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < size or buffer.device != like.device:
            buffer = self._buffers[name] = torch.empty(size, dtype=like.dtype, device=like.device)
        return buffer[:size].view(shape)


def attend(inputs: Tensor, weight: Tensor, workspace: Workspace) -> tuple[Tensor, Tensor]:
    """Return queries and keys (2, head * sample, region, dim) and the heads' softmax maps.

    Both lie in the workspace. To be called without gradients.
    """
    n_samples, n_regions, n_features = inputs.shape
    n_projections, _, dim = weight.shape
    tokens = inputs.reshape(-1, n_features)
    projected = workspace.take("projected", (n_projections, len(tokens), dim), weight)
    torch.bmm(tokens.expand(n_projections, *tokens.shape), weight, out=projected)
    qk = projected.view(2, n_projections // 2 * n_samples, n_regions, dim)
    maps = workspace.take("maps", (qk.shape[1], n_regions, n_regions), weight)
    torch.bmm(qk[0], qk[1].transpose(1, 2), out=maps)
    torch.softmax(maps, -1, out=maps)
    return qk, maps


def fuse(maps: Tensor, mixture: Tensor, n_samples: int, out: Tensor) -> Tensor:
    """Mix the heads' maps (head * sample, region, region) into one per sample."""
    torch.mv(maps.view(len(mixture), -1).t(), mixture, out=out.view(-1))
    return out.view(n_samples, *maps.shape[1:])


def attend_backward(
    inputs: Tensor, qk: Tensor, maps: Tensor, grad: Tensor, workspace: Workspace
) -> tuple[Tensor, Tensor]:
    """Return the gradients of the projections and of the mixture for a block of samples.

    The gradient of head h's projections still lacks the factor mixture[h].
    """
    n_samples, n_regions, n_features = inputs.shape
    n_heads = len(maps) // n_samples
    rows = maps.view(n_heads, n_samples * n_regions, n_regions)
    # Softmax: dS = P * (dP - sum_j dP P), with dP = mixture_h * grad. The factor mixture_h
    # is left to the caller, who puts it on the much smaller gradient of the weights.
    scores = workspace.take("grad_scores", tuple(rows.shape), rows)
    torch.mul(rows, grad.reshape(1, -1, n_regions), out=scores)
    inner = scores.sum(-1, keepdim=True)
    scores.addcmul_(rows, inner, value=-1)
    scores = scores.view_as(maps)
    grad_qk = workspace.take("grad_projected", tuple(qk.shape), qk)
    torch.bmm(scores, qk[1], out=grad_qk[0])
    torch.bmm(scores.transpose(1, 2), qk[0], out=grad_qk[1])
    tokens = inputs.reshape(-1, n_features)
    grad_weight = torch.bmm(
        tokens.t().expand(2 * n_heads, n_features, len(tokens)),
        grad_qk.view(2 * n_heads, len(tokens), -1),
    )
    return grad_weight, inner.sum((1, 2))


def fused_logits_map(inputs: Tensor, weight: Tensor, mixture: Tensor) -> Tensor:
    """Return the mixture of the heads' bare products of queries and keys.

    Without a softmax the mixture moves into the queries, and the sum over heads is part of
    one product of width head * dim.
    """
    n_heads, n_features, dim = len(mixture), weight.shape[1], weight.shape[2]
    halves = weight.view(2, n_heads, n_features, dim)
    mixed = torch.cat([halves[:1] * mixture.view(1, -1, 1, 1), halves[1:]])
    flat = mixed.permute(2, 0, 1, 3).reshape(n_features, 2 * n_heads * dim)
    queries, keys = (inputs @ flat).split(n_heads * dim, dim=-1)
    return torch.bmm(queries, keys.transpose(1, 2))
