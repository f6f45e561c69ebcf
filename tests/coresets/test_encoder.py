import math
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import torch
from encoder_cohorts import make_cohort
from hypothesis import given, settings, strategies as st
from torch.nn import functional

from sclcs._core import InputError, UnknownNameError
from sclcs.coresets.attention import (
    AttentionEncoder,
    BlockMaps,
    Workers,
    contrastive_loss,
    fused_logits_map,
    fused_softmax_map,
    head_maps,
    workers_on,
)
from sclcs.coresets.encoder import PRESETS, EncoderSettings, encoder_settings
from sclcs.coresets.encoder_training import find_pairs
from sclcs.coresets.training import standardised


@contextmanager
def working(threads):
    """Give so many workers."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with workers_on(torch.device("cpu")) as workers:
            yield workers
    finally:
        torch.set_num_threads(before)


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
    if model.settings.values == "per-head":  # noqa: PD011 (no frame)
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
    for count in (1, 3):
        with working(count) as model.workers:
            model.zero_grad()
            embeddings, maps = model(inputs)
            embeddings.square().sum().backward()
            outcomes.append((maps.clone(), model.query_key_weight.grad.clone()))
    assert torch.get_num_threads() == before
    assert all(torch.equal(a, b) for a, b in zip(*outcomes, strict=True))


def test_workers_keep_the_order_of_items():
    with working(3) as workers:
        assert workers.map(lambda item: item * item, range(20)) == [i * i for i in range(20)]
    assert Workers().map(str, [3, 1]) == ["3", "1"]


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


FORMS = ["negatives", "negatives+self", "infonce"]


def brute_force(embeddings, subjects, temperature, denominator):
    """METHOD 5.3 with nothing but loops."""
    unit = [z / np.linalg.norm(z) for z in embeddings]
    terms = []
    for i in range(len(unit)):
        others = [k for k in range(len(unit)) if subjects[k] != subjects[i]]
        for j in range(len(unit)):
            if j == i or subjects[j] != subjects[i]:
                continue
            compared = list(others)
            if denominator == "negatives+self":
                compared.append(i)
            if denominator == "infonce":
                compared.append(j)
            total = sum(np.exp(unit[i] @ unit[k] / temperature) for k in compared)
            terms.append(np.log(total) - unit[i] @ unit[j] / temperature)
    return float(np.mean(terms))


@st.composite
def batches(draw):
    subjects = draw(st.lists(st.integers(0, 3), min_size=3, max_size=9))
    subjects = [0, 0, 1, *subjects]  # at least one pair and one negative
    seed = draw(st.integers(0, 2**16))
    embeddings = np.random.default_rng(seed).normal(size=(len(subjects), 5))
    return embeddings, subjects, draw(st.sampled_from([0.1, 0.5, 1.0]))


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40)
@given(batch=batches())
def test_the_loss_is_the_loop(form, batch):
    embeddings, subjects, temperature = batch
    loss = contrastive_loss(
        torch.from_numpy(embeddings),
        torch.tensor(subjects),
        temperature=temperature,
        denominator=form,
    )
    expected = brute_force(embeddings, subjects, temperature, form)
    assert float(loss) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=40)
@given(batch=batches())
def test_the_published_form_is_not_negative_and_adds_the_self_term(batch):
    embeddings, subjects, _ = batch
    z, s = torch.from_numpy(embeddings), torch.tensor(subjects)
    published = float(contrastive_loss(z, s, denominator="negatives+self"))
    paper = float(contrastive_loss(z, s))
    assert published >= 0
    assert published >= paper


def pairs_of(cohort, allow_overlap=True):
    return find_pairs(cohort.samples, cohort.n_timepoints, allow_overlap=allow_overlap)


def epoch(cohort, pairs, epoch, batch_subjects=4, seed=0):
    """Return rows and subjects' names of all batches of an epoch."""
    names = cohort.samples["subject"].to_numpy()
    return [names[rows] for rows, _ in pairs.batches(batch_subjects, seed, epoch)]


def test_every_subject_gives_two_windows_or_its_only_one(trainable):
    pairs = pairs_of(trainable)
    for number in range(1, 6):
        names, counts = np.unique(
            np.concatenate(epoch(trainable, pairs, number)), return_counts=True
        )
        assert dict(zip(names, counts, strict=True)) == dict.fromkeys(
            trainable.samples["subject"].unique(), 2
        ) | {"u0": 1}


def test_a_batch_names_the_subject_of_each_row(trainable):
    subjects = np.unique(trainable.samples["subject"].to_numpy(dtype=str))
    for rows, numbers in pairs_of(trainable).batches(4, 0, 1):
        assert (trainable.samples["subject"].to_numpy()[rows] == subjects[numbers]).all()
        assert len(set(rows)) == len(rows)


def test_the_last_batch_never_has_a_single_subject(trainable):
    sizes = [len(set(names)) for names in epoch(trainable, pairs_of(trainable), 1)]
    assert sizes == [4, 5]  # 9 subjects in fours: the ninth would have no negatives


def test_draws_depend_on_seed_and_epoch_only(trainable):
    pairs = pairs_of(trainable)

    def drawn(seed, number):
        return np.concatenate([rows for rows, _ in pairs.batches(4, seed, number)]).tolist()

    assert drawn(0, 3) == drawn(0, 3)
    assert drawn(0, 3) != drawn(0, 4)
    assert drawn(0, 3) != drawn(1, 3)


def test_all_pairs_of_a_subject_come_up_equally_often():
    cohort = make_cohort({"a": 4, "b": 2})
    counts = {}
    for number in range(600):
        rows, numbers = next(iter(pairs_of(cohort).batches(8, 0, number)))
        pair = tuple(sorted(rows[numbers == 0]))
        counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 6
    assert min(counts.values()) > 60  # 100 expected, standard deviation 9


def test_overlapping_windows_can_be_forbidden(trainable):
    # windows of 17 points every 8: only the first and the fourth do not overlap
    cohort = make_cohort({"a": 4, "b": 4, "c": 2})
    pairs = pairs_of(cohort, allow_overlap=False)
    windows, starts = cohort.samples["window"].to_numpy(), cohort.samples["start"].to_numpy()
    for number in range(20):
        rows, numbers = next(iter(pairs.batches(8, 0, number)))
        for subject in (0, 1):
            both = rows[numbers == subject]
            assert abs(np.diff(starts[both])[0]) >= 17
            assert sorted(windows[both]) == [0, 3]
        assert (numbers == 2).sum() == 1  # its two windows overlap: it gives one


def test_windows_of_two_scans_never_overlap(trainable):
    cohort = make_cohort({"a": 2, "b": 2})
    table = cohort.samples.assign(scan=["x", "y", "x", "x"], start=0)
    pairs = find_pairs(table, 17, allow_overlap=False)
    _, numbers = next(iter(pairs.batches(4, 0, 1)))
    assert sorted(np.bincount(numbers)) == [1, 2]


@pytest.mark.parametrize(
    ("windows", "allow_overlap", "message"),
    [
        ({"a": 5}, True, r"at least 2 are needed, but the cohort has 1 \(a\)"),
        ({"a": 1, "b": 1}, True, "no subject has two; cut scans"),
        ({"a": 3, "b": 3}, False, "two that do not overlap; use a larger stride"),
    ],
)
def test_cohorts_that_cannot_be_trained_on(windows, allow_overlap, message):
    with pytest.raises(InputError, match=message):
        pairs_of(make_cohort(windows), allow_overlap)


def test_overlap_needs_to_know_where_windows_start():
    table = pd.DataFrame({"subject": ["a", "a", "b"], "window": [0, 1, 0]}, index=list("xyz"))
    with pytest.raises(InputError, match="needs the column start"):
        find_pairs(table, 10, allow_overlap=False)


def test_mha_changes_nothing_but_the_fusion():
    assert PRESETS["mha"] == encoder_settings("paper", fusion="uniform")


def test_an_unknown_setting_names_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"Unknown encoder setting hedas; .*heads, dim"):
        encoder_settings("paper", hedas=4)


def test_an_unknown_preset_names_the_known_ones():
    with pytest.raises(UnknownNameError, match="paper, official, mha, mha-published"):
        encoder_settings("papr")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attention", "hard"),
        ("scale", "none"),
        ("denominator", "all"),
        ("heads", 0),
        ("dim", 2.5),
        ("epochs", True),
        ("batch_subjects", 1),
        ("temperature", 0),
        ("dropout", 1.0),
        ("power", 3),
        ("learning_rate", -1),
        ("learning_rate", "fast"),
        ("burn_in", 200),
        ("last_scored_epoch", 201),
    ],
)
def test_an_impossible_value_is_named(name, value):
    with pytest.raises(InputError, match=name):
        EncoderSettings(**{name: value})


def test_per_head_values_need_the_rest_of_the_ablation():
    with pytest.raises(InputError, match="published ablation"):
        encoder_settings("paper", values="per-head")


def test_settings_survive_json():
    official = PRESETS["official"]
    assert EncoderSettings(**official.to_dict()) == official


def test_which_epochs_count():
    settings = EncoderSettings(epochs=10, burn_in=3, last_scored_epoch=8)
    assert [e for e in range(1, 11) if settings.counts(e)] == [4, 5, 6, 7, 8]
