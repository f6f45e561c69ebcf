"""The fused softmax map of a batch as one differentiable operation."""

# mypy: disable-error-code="no-untyped-call,misc"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sclcs.encoder.attention import attend, attend_backward, fuse
from sclcs.encoder.crew import Crew

__all__ = ["BLOCK", "fused_softmax_map"]

#: Samples that one worker handles at a time; scores and projections of so many stay in the
#: second-level cache or near it. Part of the result's bits, so it does not adapt itself.
BLOCK = 16


def fused_softmax_map(
    inputs: Tensor, weight: Tensor, mixture: Tensor, crew: Crew | None = None
) -> Tensor:
    """Return the mixture of the heads' softmax maps.

    Parameters
    ----------
    inputs : Tensor, shape (sample, region, feature)
        Contiguous; no gradient flows to it.
    weight : Tensor, shape (2 * head, feature, dim)
        Query projections (already scaled), then key projections.
    mixture : Tensor, shape (head,)
        Weight of each head.
    crew : Crew, optional
        Who does the work.

    Returns
    -------
    Tensor, shape (sample, region, region)
    """
    fused: Tensor = _FusedSoftmaxMap.apply(inputs, weight, mixture, crew or Crew())
    return fused


class _FusedSoftmaxMap(torch.autograd.Function):
    """Block by block; the backward pass makes two temporaries of a block, not five of all."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        inputs: Tensor,
        weight: Tensor,
        mixture: Tensor,
        crew: Crew,
    ) -> Tensor:
        n_regions = inputs.shape[1]
        fused = inputs.new_empty(len(inputs), n_regions, n_regions)

        def work(start: int) -> tuple[Tensor, Tensor, Tensor]:
            block = inputs[start : start + BLOCK]
            # What the backward pass needs must outlive the block.
            qk, maps = attend(block, weight, crew.kept(start))
            fuse(maps, mixture, len(block), fused[start : start + BLOCK])
            return block, qk, maps

        ctx.blocks = crew.map(work, range(0, len(inputs), BLOCK))
        ctx.crew = crew
        ctx.save_for_backward(mixture)
        return fused

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor, None]:  # noqa: ANN401
        (mixture,) = ctx.saved_tensors

        def work(place: int) -> tuple[Tensor, Tensor]:
            block, qk, maps = ctx.blocks[place]
            part = grad[place * BLOCK : (place + 1) * BLOCK]
            return attend_backward(block, qk, maps, part, ctx.crew.workspace)

        parts = ctx.crew.map(work, range(len(ctx.blocks)))
        grad_weight, grad_mixture = parts[0]
        for more_weight, more_mixture in parts[1:]:
            grad_weight += more_weight
            grad_mixture += more_mixture
        grad_weight.view(2, len(mixture), -1).mul_(mixture.view(1, -1, 1))
        return None, grad_weight, grad_mixture, None
