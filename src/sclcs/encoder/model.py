"""The encoder: regions attend to each other, heads are fused, the sample gets one embedding."""

# mypy: disable-error-code="misc"
from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sclcs.core.seeds import child_seed
from sclcs.encoder.attention import (
    attend,
    fuse,
    fused_logits_map,
    head_maps,
    project_heads,
)
from sclcs.encoder.crew import Crew
from sclcs.encoder.fused_map import fused_softmax_map
from sclcs.encoder.settings import EncoderSettings

__all__ = ["AttentionEncoder", "BlockMaps"]


class AttentionEncoder(nn.Module):
    """One block of multi-head attention over regions.

    The learnable scale and shift of the input are folded into the projections: inputs are
    standardised once for the whole training, with a last feature that is always one, and
    every projection has a last row that carries shift and bias.

    Parameters
    ----------
    settings : EncoderSettings
        The architecture.
    n_timepoints : int
        Length of a window.
    seed : int
        Of the initial weights. Each weight has its own generator, so that two architectures
        with a common part start from the same numbers there.
    """

    query_key_weight: Tensor
    output_weight: Tensor
    output_bias: Tensor
    mlp_in_weight: Tensor
    mlp_in_bias: Tensor
    mlp_out_weight: Tensor
    mlp_out_bias: Tensor

    def __init__(self, settings: EncoderSettings, n_timepoints: int, seed: int) -> None:
        super().__init__()
        self.settings = settings
        self.n_timepoints = n_timepoints
        self._seed = seed
        self.crew = Crew()
        heads, dim = settings.heads, settings.dim
        if settings.input_norm == "layernorm":
            self.input_scale = nn.Parameter(torch.ones(n_timepoints))
            self.input_shift = nn.Parameter(torch.zeros(n_timepoints))
        self._add_linear("query_key", (2, heads), n_timepoints, dim, bias=settings.qk_bias)
        if settings.fusion == "learned":
            self.fusion_logits = nn.Parameter(torch.zeros(heads))
        per_head = settings.values == "per-head"
        self._add_linear("value", (heads,) if per_head else (), n_timepoints, dim)
        self._add_linear("output", (), heads * dim if per_head else dim, dim)
        if settings.mlp:
            self.mlp_norm_scale = nn.Parameter(torch.ones(dim))
            self.mlp_norm_shift = nn.Parameter(torch.zeros(dim))
            self._add_linear("mlp_in", (), dim, settings.mlp_ratio * dim)
            self._add_linear("mlp_out", (), settings.mlp_ratio * dim, dim)

    def _add_linear(
        self, name: str, lead: tuple[int, ...], n_in: int, n_out: int, *, bias: bool = True
    ) -> None:
        # The range that torch.nn.Linear uses.
        bound = 1 / math.sqrt(n_in)
        shapes = {"weight": (*lead, n_in, n_out), "bias": (*lead, n_out)}
        for part in ("weight", "bias") if bias else ("weight",):
            full_name = f"{name}_{part}"
            rng = torch.Generator().manual_seed(child_seed(self._seed, "encoder", full_name))
            start = torch.empty(shapes[part]).uniform_(-bound, bound, generator=rng)
            self.register_parameter(full_name, nn.Parameter(start))

    @property
    def head_weights(self) -> Tensor:
        """The mixture of the heads; sums to one."""
        if self.settings.fusion == "learned":
            return torch.softmax(self.fusion_logits, 0)
        heads = self.settings.heads
        return torch.full((heads,), 1 / heads, device=self.output_weight.device)

    def _folded(self, name: str) -> Tensor:
        """Return a projection (..., time point + 1, out) with scale, shift and bias folded in."""
        weight: Tensor = getattr(self, f"{name}_weight")
        bias: Tensor | None = getattr(self, f"{name}_bias", None)
        last = torch.zeros_like(weight[..., 0, :]) if bias is None else bias
        if self.settings.input_norm == "layernorm":
            last = last + self.input_shift @ weight
            weight = self.input_scale[:, None] * weight
        return torch.cat([weight, last.unsqueeze(-2)], dim=-2)

    def query_key_weights(self) -> Tensor:
        """Return the projections (2 * head, time point + 1, dim), queries already scaled."""
        width = self.settings.dim if self.settings.scale == "sqrt_dim" else self.n_timepoints
        folded = self._folded("query_key")
        scaled = torch.cat([folded[:1] / math.sqrt(width), folded[1:]])
        return scaled.flatten(0, 1)

    def forward(
        self, inputs: Tensor, dropout: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Encode samples.

        Parameters
        ----------
        inputs : Tensor, shape (sample, region, time point + 1)
            From :func:`~sclcs.encoder.inputs.prepare_inputs`.
        dropout : torch.Generator, optional
            Drops units at random; none are dropped without it.

        Returns
        -------
        embeddings : Tensor, shape (sample, dim)
        maps : Tensor, shape (sample, region, region)
        """
        weights = self.query_key_weights()
        if self.settings.values == "per-head":
            heads = head_maps(inputs, weights)
            maps = heads.mean(0)
            context = self._context_per_head(inputs, heads)
        else:
            if self.settings.attention == "softmax":
                maps = fused_softmax_map(inputs, weights, self.head_weights, self.crew)
            else:
                maps = fused_logits_map(inputs, weights, self.head_weights)
            context = torch.bmm(maps, inputs @ self._folded("value"))
        regions = context @ self.output_weight + self.output_bias
        if self.settings.mlp:
            regions = regions + self._mlp(regions, dropout)
        pooled = regions.mean(1) if self.settings.pooling == "mean" else regions.amax(1)
        return pooled, maps

    def _context_per_head(self, inputs: Tensor, heads: Tensor) -> Tensor:
        n_heads, n_samples, n_regions, _ = heads.shape
        values = project_heads(inputs, self._folded("value"))
        context = heads @ values.view(n_heads, n_samples, n_regions, -1)
        return context.permute(1, 2, 0, 3).flatten(2)

    def _mlp(self, regions: Tensor, dropout: torch.Generator | None) -> Tensor:
        scaled = functional.layer_norm(
            regions, regions.shape[-1:], self.mlp_norm_scale, self.mlp_norm_shift
        )
        hidden = functional.gelu(scaled @ self.mlp_in_weight + self.mlp_in_bias)
        hidden = self._drop(hidden, dropout)
        return self._drop(hidden @ self.mlp_out_weight + self.mlp_out_bias, dropout)

    def _drop(self, units: Tensor, dropout: torch.Generator | None) -> Tensor:
        share = self.settings.dropout
        if dropout is None or share == 0:
            return units
        kept = torch.rand(units.shape, generator=dropout, device=units.device) >= share
        return units * kept / (1 - share)

    def export(self) -> dict[str, NDArray[np.float32]]:
        """Return copies of the weights as arrays."""
        return {name: p.detach().cpu().numpy().copy() for name, p in self.named_parameters()}

    def restore(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Put back weights from :meth:`export`."""
        self.load_state_dict({name: torch.from_numpy(w.copy()) for name, w in weights.items()})


class BlockMaps:
    """Attention maps of blocks of samples, without gradients.

    Parameters
    ----------
    model : AttentionEncoder
        Its weights are read once, now.
    """

    def __init__(self, model: AttentionEncoder) -> None:
        self._weights = model.query_key_weights().detach().contiguous()
        self._mixture = model.head_weights.detach()
        self._softmax = model.settings.attention == "softmax"
        self._crew = model.crew

    @torch.no_grad()
    def __call__(self, inputs: Tensor) -> Tensor:
        """Return the maps of some samples; valid until the same worker's next call."""
        if not self._softmax:
            return fused_logits_map(inputs, self._weights, self._mixture)
        n_samples, n_regions, _ = inputs.shape
        workspace = self._crew.workspace
        _, maps = attend(inputs, self._weights, workspace)
        fused = workspace.take("fused", (n_samples, n_regions, n_regions), inputs)
        return fuse(maps, self._mixture, n_samples, fused)
