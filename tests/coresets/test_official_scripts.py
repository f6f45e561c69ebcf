"""The preset ``official`` beside the authors' own scripts.

``official.npz`` was made by the code of https://github.com/lzhan94swu/SCLCS (commit 7f7cd2b); how,
and what it holds, is said in ``tools/make_official_reference.py``.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from sclcs.coresets import stable_pool
from sclcs.coresets.attention import AttentionEncoder
from sclcs.coresets.encoder import encoder_settings
from sclcs.coresets.encoder_training import EncoderTraining, LoggedMaps
from sclcs.coresets.training import standardised

BETA = 0.2


@pytest.fixture(scope="module")
def made():
    with np.load(Path(__file__).with_name("official.npz")) as file:
        return {name: file[name] for name in file.files}


class TheirBatches:
    """The batches that their sampler drew, epoch by epoch."""

    def __init__(self, made):
        self._batches, self._subjects = made["batches"], made["subjects"]

    def batches(self, _batch_subjects, _seed, epoch):
        for rows in self._batches[epoch - 1]:
            yield rows, self._subjects[rows]


def start_weights(made, heads):
    """Return their first weights under our names; a linear layer of torch keeps (out, in)."""

    def linear(name):
        return made[f"start/{name}.weight"].T, made[f"start/{name}.bias"]

    found = {
        "input_scale": made["start/block.norm1.weight"],
        "input_shift": made["start/block.norm1.bias"],
        "fusion_logits": made["start/block.attn.alpha"],
        "mlp_norm_scale": made["start/block.norm2.weight"],
        "mlp_norm_shift": made["start/block.norm2.bias"],
    }
    for ours, theirs in (
        ("value", "attn.v_proj"),
        ("output", "attn.out_proj"),
        ("mlp_in", "mlp.0"),
        ("mlp_out", "mlp.3"),
    ):
        found[f"{ours}_weight"], found[f"{ours}_bias"] = linear(f"block.{theirs}")
    both = [[linear(f"block.attn.{one}_projs.{h}") for h in range(heads)] for one in "qk"]
    for place, part in enumerate(("weight", "bias")):
        found[f"query_key_{part}"] = np.stack([np.stack([h[place] for h in half]) for half in both])
    return {name: np.ascontiguousarray(values) for name, values in found.items()}


@pytest.fixture(scope="module")
def training(made):
    """Our training, from their weights and with their batches, before its first epoch."""
    n_samples, _, length = made["signals"].shape
    heads, width = len(made["start/block.attn.alpha"]), len(made["start/block.norm2.weight"])
    settings = encoder_settings(
        "official", heads=heads, dim=width, epochs=len(made["batches"]), dropout=0
    )
    model = AttentionEncoder(settings, length, seed=0)
    model.restore(start_weights(made, heads))
    ready = torch.from_numpy(standardised(made["signals"], settings.input_norm))
    inputs = torch.cat([ready, torch.ones(*ready.shape[:2], 1)], dim=2)
    tracker = LoggedMaps(inputs, settings, keep_curves=False)
    assert settings.tracking == "logged"
    assert len(inputs) == n_samples
    return EncoderTraining(model, inputs, TheirBatches(made), tracker, seed=0)


def test_the_layer_the_loss_and_the_scores_are_those_of_the_scripts(made, training):
    with torch.no_grad():
        maps = training.model(training.inputs)[1].numpy()
    np.testing.assert_allclose(maps, made["maps"], atol=2e-4)
    training.run(training.settings.epochs, None, "", 1)
    losses = [row["loss"] for row in training.history]
    np.testing.assert_allclose(losses, made["loss"], rtol=1e-4)
    scores = training.tracker.scores
    assert (np.isfinite(scores) == np.isfinite(made["scores"])).all()
    finite = np.isfinite(scores)
    np.testing.assert_allclose(scores[finite], made["scores"][finite], rtol=2e-4)
    assert (np.argsort(scores) == np.argsort(made["scores"])).all()
    np.testing.assert_allclose(
        training.model.export()["fusion_logits"], made["end/alpha"], atol=1e-5
    )


def test_the_stable_pool_and_its_weights_are_those_of_the_scripts(made):
    pool = stable_pool(made["scores"], beta=BETA)
    assert pool.rows.tolist() == made["kept"].tolist()
    np.testing.assert_allclose(pool.weights, made["weights"], rtol=1e-10)
