import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from sclcs.coresets.encoder.model import (
    AttentionEncoder,
    BlockMaps,
    Crew,
    crew_of,
    fused_logits_map,
    fused_softmax_map,
    head_maps,
)
from sclcs.coresets.encoder.settings import PRESETS, encoder_settings
from sclcs.coresets.encoder.training import standardised

SAMPLES, REGIONS, LENGTH = 19, 6, 11  # more samples than a block


def inputs_of(signals, norm="layernorm"):
    ready = torch.from_numpy(standardised(signals, norm))
    return torch.cat([ready, torch.ones(*ready.shape[:2], 1)], dim=2)


@pytest.fixture
def signals(rng):
    return rng.normal(3, 2, size=(SAMPLES, REGIONS, LENGTH)).astype(np.float32)


def perturbed(model):
    """Move every weight away from its start, so that scale, shift and mixture matter."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator), alpha=0.3)
    return model


def per_head_loop(model, signals):
    """The forward pass of METHOD 5.2, head by head, with torch's own layers."""
    settings = model.settings
    x = torch.from_numpy(signals).double()
    if settings.input_norm == "layernorm":
        w, b = model.input_scale.double(), model.input_shift.double()
        x = functional.layer_norm(x, x.shape[-1:], w, b, eps=0)
    elif settings.input_norm == "zscore":
        x = functional.layer_norm(x, x.shape[-1:], eps=0)
    width = settings.dim if settings.scale == "sqrt_dim" else x.shape[-1]
    maps = []
    for h in range(settings.heads):
        q = x @ model.query_key_weight[0, h].double()
        k = x @ model.query_key_weight[1, h].double()
        if settings.qk_bias:
            q, k = q + model.query_key_bias[0, h].double(), k + model.query_key_bias[1, h].double()
        scores = q @ k.transpose(1, 2) / math.sqrt(width)
        maps.append(scores.softmax(-1) if settings.attention == "softmax" else scores)
    if settings.fusion == "learned":
        alpha = model.fusion_logits.double().softmax(0)
    else:
        alpha = torch.full((settings.heads,), 1 / settings.heads, dtype=torch.float64)
    fused = sum(a * m for a, m in zip(alpha, maps, strict=True))
    if settings.values == "per-head":
        parts = [
            maps[h] @ (x @ model.value_weight[h].double() + model.value_bias[h].double())
            for h in range(settings.heads)
        ]
        context = torch.cat(parts, dim=-1)
    else:
        context = fused @ (x @ model.value_weight.double() + model.value_bias.double())
    z = context @ model.output_weight.double() + model.output_bias.double()
    if settings.mlp:
        scale, shift = model.mlp_norm_scale.double(), model.mlp_norm_shift.double()
        n = functional.layer_norm(z, z.shape[-1:], scale, shift)
        hidden = functional.gelu(n @ model.mlp_in_weight.double() + model.mlp_in_bias.double())
        z = z + hidden @ model.mlp_out_weight.double() + model.mlp_out_bias.double()
    return (z.mean(1) if settings.pooling == "mean" else z.amax(1)), fused


VARIANTS = {name: {} for name in PRESETS} | {
    "zscore": {"input_norm": "zscore"},
    "raw": {"input_norm": "none"},
    "max": {"pooling": "max"},
    "sqrt_in": {"scale": "sqrt_in", "qk_bias": True},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_model_is_the_loop_over_heads(variant, signals):
    preset = variant if variant in PRESETS else "paper"
    settings = encoder_settings(preset, heads=3, dim=4, **VARIANTS[variant])
    model = perturbed(AttentionEncoder(settings, LENGTH, seed=0))
    inputs = inputs_of(signals, settings.input_norm)
    embeddings, maps = model(inputs)
    expected_embeddings, expected_maps = per_head_loop(model, signals)
    torch.testing.assert_close(maps.double(), expected_maps, rtol=2e-4, atol=2e-4)
    torch.testing.assert_close(embeddings.double(), expected_embeddings, rtol=5e-4, atol=5e-4)
    blocks = [BlockMaps(model)(part).clone() for part in inputs.split(5)]
    torch.testing.assert_close(torch.cat(blocks), maps, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("preset", "count"), [("official", 84_604), ("paper", 75_164)])
def test_parameter_counts(preset, count):
    # paper: 2*16*70*32 + (70*32 + 32) + 16 + (32*32 + 32) + 2*70
    model = AttentionEncoder(PRESETS[preset], 70, seed=0)
    assert sum(weight.numel() for weight in model.parameters()) == count


def test_the_start_is_uniform_fusion_and_row_stochastic_maps(signals):
    model = AttentionEncoder(PRESETS["paper"], LENGTH, seed=0)
    torch.testing.assert_close(model.head_weights, torch.full((16,), 1 / 16))
    _, maps = perturbed(model)(inputs_of(signals))
    torch.testing.assert_close(maps.sum(-1), torch.ones(SAMPLES, REGIONS))
    assert maps.min() >= 0


def test_gradients_of_the_fused_map_are_autograds(signals):
    inputs = inputs_of(signals)
    generator = torch.Generator().manual_seed(5)
    weight = torch.randn(6, LENGTH + 1, 4, generator=generator) * 0.4
    mixture = torch.tensor([0.5, 0.3, 0.2])
    target = torch.randn(SAMPLES, REGIONS, REGIONS, generator=generator)
    found, expected = [], []
    for function, gradients in (
        (fused_softmax_map, found),
        (lambda x, w, m: torch.einsum("hbij,h->bij", head_maps(x, w), m), expected),
    ):
        w, m = weight.clone().requires_grad_(), mixture.clone().requires_grad_()
        (function(inputs, w, m) * target).sum().backward()
        gradients.extend([w.grad, m.grad])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_logits_are_the_mixture_of_products(signals):
    inputs = inputs_of(signals)
    weight = torch.randn(6, LENGTH + 1, 4, generator=torch.Generator().manual_seed(2))
    mixture = torch.tensor([0.5, 0.3, 0.2])
    expected = sum(
        mixture[h] * (inputs @ weight[h]) @ (inputs @ weight[3 + h]).transpose(1, 2)
        for h in range(3)
    )
    torch.testing.assert_close(
        fused_logits_map(inputs, weight, mixture), expected, rtol=1e-4, atol=1e-4
    )


def test_workers_change_no_bit_and_torch_keeps_its_threads(signals):
    model = perturbed(AttentionEncoder(encoder_settings("paper", heads=3, dim=4), LENGTH, 0))
    inputs = inputs_of(np.repeat(signals, 4, axis=0))
    before = torch.get_num_threads()
    outcomes = []
    for workers in (1, 3):
        with crew_of(workers) as model.crew:
            model.zero_grad()
            embeddings, maps = model(inputs)
            embeddings.square().sum().backward()
            outcomes.append((maps.clone(), model.query_key_weight.grad.clone()))
    assert torch.get_num_threads() == before
    assert all(torch.equal(a, b) for a, b in zip(*outcomes, strict=True))


def test_crew_keeps_the_order_of_items():
    with crew_of(3) as crew:
        assert crew.map(lambda item: item * item, range(20)) == [i * i for i in range(20)]
    assert Crew().map(str, [3, 1]) == ["3", "1"]


def test_dropout_needs_a_generator_and_leaves_maps_alone(signals):
    model = AttentionEncoder(encoder_settings("official", heads=3, dim=4, dropout=0.5), LENGTH, 0)
    inputs = inputs_of(signals)
    steady, maps = model(inputs)
    dropped, same_maps = model(inputs, torch.Generator().manual_seed(1))
    again, _ = model(inputs, torch.Generator().manual_seed(1))
    assert torch.equal(maps, same_maps)
    assert torch.equal(dropped, again)
    assert not torch.allclose(dropped, steady)


def test_architectures_share_the_start_of_common_weights():
    one = AttentionEncoder(PRESETS["paper"], LENGTH, seed=4).export()
    other = AttentionEncoder(PRESETS["mha"], LENGTH, seed=4).export()
    assert all(np.array_equal(one[name], other[name]) for name in other)
    assert set(one) - set(other) == {"fusion_logits"}


def test_the_unit_of_signals_does_not_matter(signals):
    np.testing.assert_allclose(
        standardised(signals, "layernorm"), standardised(signals * 1e-4, "layernorm"), atol=1e-4
    )
    constant = np.ones((2, 3, 5), dtype=np.float32)
    assert (standardised(constant, "zscore") == 0).all()
