"""The attention encoder, without a loop over heads and without copies between products.

Queries and keys of all heads come from one batched product whose result is already laid
out as (query or key, head, sample, region, dim), so that the scores of all heads and
samples are one more batched product, and fusing heads is one matrix-vector product.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import normalize

from sclcs._core import child_seed
from sclcs.coresets.encoder import Denominator, EncoderSettings

# mypy: disable-error-code="no-untyped-call,misc,no-any-return"

Item = TypeVar("Item")
Result = TypeVar("Result")


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


class Workers:
    """Some threads with working memory of their own; one worker needs no thread."""

    def __init__(self, n_workers: int = 1) -> None:
        self._pool = ThreadPoolExecutor(n_workers) if n_workers > 1 else None
        self._local = threading.local()
        self._kept: dict[int, Workspace] = {}

    @property
    def workspace(self) -> Workspace:
        """The working memory of the worker that asks."""
        if not hasattr(self._local, "workspace"):
            self._local.workspace = Workspace()
        found: Workspace = self._local.workspace
        return found

    def kept(self, block: int) -> Workspace:
        """Return memory whose content stays until the same block of the next batch.

        The backward pass of a batch must come before the forward pass of the next.
        """
        return self._kept.setdefault(block, Workspace())

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Do the work for every item without gradients; results are in the items' order."""

        def quietly(item: Item) -> Result:
            with torch.no_grad():  # a new thread would record gradients
                return work(item)

        mapper = map if self._pool is None else self._pool.map
        return list(mapper(quietly, items))

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()


@contextmanager
def workers_on(device: torch.device) -> Iterator[Workers]:
    """Give as many workers as torch has threads (one beside a GPU), each with one thread."""
    threads = torch.get_num_threads()
    workers = Workers(threads if device.type == "cpu" else 1)
    torch.set_num_threads(1)
    try:
        yield workers
    finally:
        workers.close()
        torch.set_num_threads(threads)


#: Samples that one worker handles at a time; scores and projections of so many stay in the
#: second-level cache or near it. Part of the result's bits, so it does not adapt itself.
BLOCK = 16


def project_heads(inputs: Tensor, weight: Tensor) -> Tensor:
    """Apply projections (projection, feature, dim) to every region of (sample, region, feature)."""
    tokens = inputs.reshape(-1, inputs.shape[-1])
    return torch.bmm(tokens.expand(len(weight), *tokens.shape), weight)


def head_maps(inputs: Tensor, weight: Tensor) -> Tensor:
    """Return the softmax map of every head, shape (head, sample, region, region)."""
    n_samples, n_regions, _ = inputs.shape
    projected = project_heads(inputs, weight)
    queries, keys = projected.view(2, -1, n_regions, weight.shape[2])
    scores = torch.bmm(queries, keys.transpose(1, 2))
    return torch.softmax(scores, -1).view(-1, n_samples, n_regions, n_regions)


def attend(inputs: Tensor, weight: Tensor, workspace: Workspace) -> tuple[Tensor, Tensor]:
    """Return queries and keys (2, head * sample, region, dim) and the heads' softmax maps.

    The same as :func:`head_maps`, but in the workspace and without gradients.
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


def fused_softmax_map(
    inputs: Tensor, weight: Tensor, mixture: Tensor, workers: Workers | None = None
) -> Tensor:
    """Return the mixture of the heads' softmax maps.

    No gradient flows to the inputs (sample, region, feature), which are contiguous. Weights
    (2 * head, feature, dim) are query projections, already scaled, then key projections.
    """
    fused: Tensor = _FusedSoftmaxMap.apply(inputs, weight, mixture, workers or Workers())
    return fused


class _FusedSoftmaxMap(torch.autograd.Function):
    """Block by block; the backward pass makes two temporaries of a block, not five of all."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        inputs: Tensor,
        weight: Tensor,
        mixture: Tensor,
        workers: Workers,
    ) -> Tensor:
        n_regions = inputs.shape[1]
        fused = inputs.new_empty(len(inputs), n_regions, n_regions)

        def work(start: int) -> tuple[Tensor, Tensor, Tensor]:
            block = inputs[start : start + BLOCK]
            # What the backward pass needs must outlive the block.
            qk, maps = attend(block, weight, workers.kept(start))
            fuse(maps, mixture, len(block), fused[start : start + BLOCK])
            return block, qk, maps

        ctx.blocks = workers.map(work, range(0, len(inputs), BLOCK))
        ctx.workers = workers
        ctx.save_for_backward(mixture)
        return fused

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor, None]:  # noqa: ANN401
        (mixture,) = ctx.saved_tensors

        def work(number: int) -> tuple[Tensor, Tensor]:
            block, qk, maps = ctx.blocks[number]
            part = grad[number * BLOCK : (number + 1) * BLOCK]
            return attend_backward(block, qk, maps, part, ctx.workers.workspace)

        parts = ctx.workers.map(work, range(len(ctx.blocks)))
        grad_weight, grad_mixture = parts[0]
        for more_weight, more_mixture in parts[1:]:
            grad_weight += more_weight
            grad_mixture += more_mixture
        grad_weight.view(2, len(mixture), -1).mul_(mixture.view(1, -1, 1))
        return None, grad_weight, grad_mixture, None


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
        self.workers = Workers()
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
            From :func:`~sclcs.coresets.training.prepare_inputs`.
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
                maps = fused_softmax_map(inputs, weights, self.head_weights, self.workers)
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
    """Attention maps of blocks of samples, without gradients; weights are read once, now."""

    def __init__(self, model: AttentionEncoder) -> None:
        self._weights = model.query_key_weights().detach().contiguous()
        self._mixture = model.head_weights.detach()
        self._softmax = model.settings.attention == "softmax"
        self._workers = model.workers

    @torch.no_grad()
    def __call__(self, inputs: Tensor) -> Tensor:
        """Return the maps of some samples; valid until the same worker's next call."""
        if not self._softmax:
            return fused_logits_map(inputs, self._weights, self._mixture)
        n_samples, n_regions, _ = inputs.shape
        workspace = self._workers.workspace
        _, maps = attend(inputs, self._weights, workspace)
        fused = workspace.take("fused", (n_samples, n_regions, n_regions), inputs)
        return fuse(maps, self._mixture, n_samples, fused)


def contrastive_loss(
    embeddings: Tensor,
    subjects: Tensor,
    *,
    temperature: float = 0.1,
    denominator: Denominator = "negatives",
) -> Tensor:
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
    Tensor
        Mean over ordered positive pairs. The form ``negatives`` may be below zero.
    """
    directions = normalize(embeddings, dim=1)
    scores = directions @ directions.t() / temperature
    same = subjects[:, None] == subjects[None, :]
    itself = torch.eye(len(subjects), dtype=torch.bool, device=same.device)
    anchors, positives = torch.nonzero(same & ~itself, as_tuple=True)
    compared = (~same | itself) if denominator == "negatives+self" else ~same
    rest = torch.logsumexp(scores.masked_fill(~compared, -torch.inf), dim=1)[anchors]
    attracted = scores[anchors, positives]
    if denominator == "infonce":
        rest = torch.logaddexp(rest, attracted)
    return (rest - attracted).mean()
