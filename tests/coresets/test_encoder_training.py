import itertools
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from encoder_cohorts import make_cohort

from sclcs._core import InputError, MissingDependencyError, UnreadableFileError
from sclcs.cohort import Cohort
from sclcs.coresets import encoder as encoder_module, training as training_module
from sclcs.coresets.attention import AttentionEncoder
from sclcs.coresets.encoder import TrainedEncoder, train_encoder, trained_encoder
from sclcs.coresets.encoder_training import EncoderTraining
from sclcs.coresets.training import TrainingDivergedError

PRESETS = ["paper", "official", "mha", "mha-published"]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_seed_gives_the_same_bits(trainable, quick, preset):
    state = torch.random.get_rng_state()
    one = train_encoder(trainable, preset, seed=5, **quick)
    assert torch.equal(torch.random.get_rng_state(), state)  # torch's own generator is untouched
    other = train_encoder(trainable, preset, seed=5, **quick)
    third = train_encoder(trainable, preset, seed=6, **quick)
    assert np.array_equal(one.scores, other.scores)
    assert one.history.equals(other.history)
    assert not np.array_equal(one.scores, third.scores)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_order_of_samples_does_not_matter(trainable, quick, preset, rng):
    shuffled = trainable.take(rng.permutation(len(trainable)))
    one = train_encoder(trainable, preset, **quick)
    other = train_encoder(shuffled, preset, **quick)
    place = dict(zip(other.sample_ids, other.scores, strict=True))
    assert [place[name] for name in one.sample_ids] == one.scores.tolist()


def test_the_table_of_epochs(trainable, quick):
    run = train_encoder(trainable, **quick)
    heads = [f"head_{h}" for h in range(3)]
    assert list(run.history) == ["epoch", "loss", "perturbation", *heads]
    assert run.history["epoch"].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(run.history[heads].sum(axis=1), 1, rtol=1e-6)
    assert run.scores.mean() == pytest.approx(run.history["perturbation"].mean())
    assert run.info["device"] == "cpu"


def test_uniform_fusion_stays_uniform(trainable, quick):
    run = train_encoder(trainable, "mha", **quick)
    np.testing.assert_allclose(run.history.filter(like="head_"), 1 / 3)


def test_training_lowers_the_loss(trainable):
    run = train_encoder(trainable, heads=3, dim=4, epochs=60, batch_subjects=9, learning_rate=0.01)
    losses = run.history["loss"]
    assert losses.tail(5).mean() < losses.head(5).mean() - 0.5


def stored_sequence(cohort, run, monkeypatch, **options):
    """Train again, keep the maps of all samples after every epoch, and return them."""
    kept = []
    original = EncoderTraining.train_epoch

    def keep(training):
        if not kept:
            kept.append(training.model(training.inputs)[1].detach().clone())
        original(training)
        kept.append(training.model(training.inputs)[1].detach().clone())

    monkeypatch.setattr(EncoderTraining, "train_epoch", keep)
    train_encoder(cohort, run.settings, seed=run.seed, **options)
    order = np.argsort(cohort.sample_ids)
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    return torch.stack(kept)[:, place].numpy().astype(np.float64)


@pytest.mark.parametrize("power", [1, 2])
def test_streaming_is_the_stored_sequence(trainable, quick, monkeypatch, power):
    run = train_encoder(trainable, power=power, keep_curves=True, **quick)
    maps = stored_sequence(trainable, run, monkeypatch)
    steps = np.linalg.norm(np.diff(maps, axis=0), axis=(2, 3)) ** power
    np.testing.assert_allclose(run.curves, steps.T, rtol=1e-3)
    np.testing.assert_allclose(run.scores, steps.mean(axis=0), rtol=1e-3)


def test_burn_in_and_end_choose_epochs(trainable, quick):
    whole = train_encoder(trainable, keep_curves=True, **quick)
    part = train_encoder(trainable, burn_in=1, last_scored_epoch=3, **quick)
    np.testing.assert_allclose(part.scores, whole.curves[:, 1:3].mean(axis=1), rtol=1e-6)


def test_nothing_moves_without_learning(trainable, quick):
    assert (train_encoder(trainable, learning_rate=0.0, **quick).scores == 0).all()


def test_logged_mode_compares_draws_of_the_same_sample(trainable, quick, monkeypatch):
    log = {}
    original = AttentionEncoder.forward

    def forward(model, inputs, dropout=None):
        embeddings, maps = original(model, inputs, dropout)
        for values, one in zip(inputs, maps.detach(), strict=True):
            log.setdefault(values.numpy().tobytes(), []).append(one.numpy().copy())
        return embeddings, maps

    monkeypatch.setattr(AttentionEncoder, "forward", forward)
    run = train_encoder(trainable, "official", **quick | {"epochs": 3})
    monkeypatch.undo()
    expected = sorted(
        np.mean([np.linalg.norm(b - a) for a, b in itertools.pairwise(maps)])
        for maps in log.values()
        if len(maps) > 1
    )
    finite = run.scores[np.isfinite(run.scores)]
    np.testing.assert_allclose(np.sort(finite), expected, rtol=1e-4)
    drawn_less = np.isinf(run.scores).sum()
    assert drawn_less == len(trainable) - len(expected)
    assert drawn_less > 0  # 2 of 3 windows per epoch, 3 epochs: some come up once


@pytest.mark.parametrize("preset", PRESETS)
def test_a_resumed_training_ends_with_the_same_bits(
    trainable, quick, preset, tmp_path, monkeypatch
):
    whole = train_encoder(trainable, preset, keep_curves=True, **quick)
    checkpoint = tmp_path / "deep" / "checkpoint.pt"
    options = {"checkpoint": checkpoint, "checkpoint_every": 1, "keep_curves": True}
    original = training_module.write_checkpoint

    def then_fail(path, content):
        original(path, content)
        if content["epoch"] == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(training_module, "write_checkpoint", then_fail)
    with pytest.raises(KeyboardInterrupt):
        train_encoder(trainable, preset, **options, **quick)
    monkeypatch.undo()
    resumed = train_encoder(trainable, preset, **options, **quick)
    assert np.array_equal(whole.scores, resumed.scores)
    assert np.array_equal(whole.curves, resumed.curves, equal_nan=True)
    assert whole.history.equals(resumed.history)
    last = quick["epochs"]
    for name, weight in whole.snapshots[last].items():
        assert np.array_equal(weight, resumed.snapshots[last][name])


def test_a_short_training_is_the_beginning_of_a_long_one(trainable, quick, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    train_encoder(trainable, checkpoint=checkpoint, **quick)
    longer = quick | {"epochs": 6}
    extended = train_encoder(trainable, checkpoint=checkpoint, **longer)
    at_once = train_encoder(trainable, **longer)
    assert np.array_equal(extended.scores, at_once.scores)
    assert set(extended.snapshots) == set(at_once.snapshots)


def test_checkpoints_of_other_trainings_are_refused(trainable, quick, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    train_encoder(trainable, checkpoint=checkpoint, **quick)
    with pytest.raises(InputError, match="belongs to another cohort, seed or settings"):
        train_encoder(trainable, seed=1, checkpoint=checkpoint, **quick)
    with pytest.raises(InputError, match="at epoch 4, past the 2 epochs"):
        train_encoder(trainable, checkpoint=checkpoint, **quick | {"epochs": 2})
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    with pytest.raises(UnreadableFileError, match="remove it to start again"):
        train_encoder(trainable, checkpoint=checkpoint, **quick)


@pytest.mark.parametrize("preset", ["paper", "official"])
def test_arrays_on_disk_give_the_same_bits(trainable, quick, preset, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mapped, memmap = [], np.memmap
    monkeypatch.setattr(np, "memmap", lambda *a, **k: mapped.append(k["shape"]) or memmap(*a, **k))
    in_memory = train_encoder(trainable, preset, **quick)
    assert mapped == []
    on_disk = train_encoder(trainable, preset, memory_gb=0, **quick)
    assert np.array_equal(in_memory.scores, on_disk.scores)
    assert mapped == [(23, 6, 18), (23, 6, 6)]  # signals and maps
    assert list(tmp_path.iterdir()) == []  # temporary files are gone


def test_a_stored_cohort_gives_the_same_bits(trainable, quick, tmp_path):
    trainable.save(tmp_path / "cohort.zarr")
    stored = train_encoder(Cohort.open(tmp_path / "cohort.zarr"), **quick)
    assert np.array_equal(stored.scores, train_encoder(trainable, **quick).scores)


def test_a_run_survives_its_folder(trainable, quick, tmp_path):
    run = train_encoder(trainable, "official", keep_curves=True, **quick | {"epochs": 2})
    assert np.isinf(run.scores).any()
    again = TrainedEncoder.open(run.save(tmp_path / "run"))
    assert np.array_equal(run.scores, again.scores)
    assert np.array_equal(run.curves, again.curves, equal_nan=True)
    assert run.history.equals(again.history)
    assert (again.settings, again.seed) == (run.settings, run.seed)
    assert list(again.sample_ids) == list(run.sample_ids)
    chosen = ["s1_w2", "u0_w0"]
    assert np.array_equal(run.maps(trainable, chosen, 2), again.maps(trainable, chosen, 2))
    assert not list((tmp_path / "run").glob("*.pkl"))


def test_a_damaged_run_is_an_error(trainable, quick, tmp_path):
    folder = train_encoder(trainable, **quick).save(tmp_path / "run")
    (folder / "epochs.csv").unlink()
    with pytest.raises(UnreadableFileError, match=r"epochs\.csv gone .* Remove it and train again"):
        TrainedEncoder.open(folder)


def test_kept_weights_give_the_maps_of_their_epoch(trainable, quick, monkeypatch):
    run = train_encoder(trainable, **quick)
    assert set(run.snapshots) == {0, 1, 2, 4}
    maps = stored_sequence(trainable, run, monkeypatch)
    for epoch in run.snapshots:
        np.testing.assert_allclose(
            run.maps(trainable, run.sample_ids, epoch), maps[epoch], rtol=1e-4, atol=1e-6
        )
    with pytest.raises(InputError, match="kept at the epochs 0, 1, 2, 4, not at 3"):
        run.maps(trainable, ["s0_w0"], 3)


def test_samples_without_a_pair_are_scored(trainable, quick):
    run = train_encoder(trainable, **quick)
    assert run.scores[run.sample_ids.index("u0_w0")] > 0


def test_a_batch_of_singles_is_passed_over(quick):
    cohort = make_cohort({"a": 2, **{f"b{i}": 1 for i in range(7)}})
    run = train_encoder(cohort, **quick | {"batch_subjects": 2, "epochs": 2})
    assert np.isfinite(run.scores).all()
    assert np.isfinite(run.history["loss"]).all()


def test_divergence_is_said(trainable, quick):
    with pytest.raises(TrainingDivergedError, match="lower learning_rate"):
        train_encoder(trainable, "official", **quick | {"learning_rate": 1e30})


def test_non_finite_signals_are_named(trainable, quick):
    broken = trainable.load()
    broken.signals = np.array(broken.signals)
    broken.signals[3, 2, 1] = np.inf
    with pytest.raises(InputError, match=r"must be finite.*s1_w0"):
        train_encoder(broken, **quick)


def test_bad_devices_and_intervals(trainable, quick):
    with pytest.raises(InputError, match="auto, cpu or an available CUDA device"):
        train_encoder(trainable, device="abacus", **quick)
    with pytest.raises(InputError, match="checkpoint_every"):
        train_encoder(trainable, checkpoint_every=0, **quick)


def test_without_torch_the_extra_is_named(trainable, quick, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingDependencyError, match=r"sclcs\[torch\]"):
        train_encoder(trainable, **quick)


@pytest.fixture
def trainings(monkeypatch):
    """Count trainings."""
    calls = []
    original = encoder_module.train_encoder

    def counted(*arguments, **options):
        calls.append(options)
        return original(*arguments, **options)

    monkeypatch.setattr(encoder_module, "train_encoder", counted)
    return calls


def test_a_hit_trains_nothing(trainable, quick, tmp_path, trainings):
    first = trained_encoder(trainable, cache=tmp_path, **quick)
    second = trained_encoder(trainable, cache=tmp_path, **quick)
    assert len(trainings) == 1
    assert np.array_equal(first.scores, second.scores)
    (entry,) = (tmp_path / "encoder").iterdir()  # the checkpoint is gone
    assert entry.name.startswith(f"{trainable.fingerprint[:8]}-custom-4epochs-seed0-")


def test_presets_can_be_read_off_the_name(trainable, tmp_path):
    trained_encoder(trainable, "mha", epochs=1, seed=3, cache=tmp_path)
    (entry,) = (tmp_path / "encoder").iterdir()
    assert "-mha-1epochs-seed3-" in entry.name


@pytest.mark.parametrize("change", [{"seed": 1}, {"heads": 2}, {"temperature": 0.2}])
def test_another_seed_or_setting_is_another_entry(trainable, quick, tmp_path, trainings, change):
    trained_encoder(trainable, cache=tmp_path, **quick)
    trained_encoder(trainable, cache=tmp_path, **quick | change)
    assert len(trainings) == 2


def test_another_cohort_is_another_entry(trainable, quick, tmp_path, trainings):
    trained_encoder(trainable, cache=tmp_path, **quick)
    trained_encoder(trainable.take(range(20)), cache=tmp_path, **quick)
    assert len(trainings) == 2


def test_the_cache_can_be_off(trainable, quick, tmp_path, trainings, monkeypatch):
    monkeypatch.setenv("SCLCS_CACHE", str(tmp_path))
    trained_encoder(trainable, cache=False, **quick)
    assert list(tmp_path.iterdir()) == []


SELECT = """
import sys
from sclcs import simulate_cohort, select
cohort = simulate_cohort(12, 3, 6, length=40, seed=1)
core = select(cohort, "sclcs", 0.3, epochs=400, heads=4, dim=8, cache=sys.argv[1])
print(core.score.tolist())
"""


@pytest.mark.slow
def test_a_killed_process_is_resumed_with_the_same_bits(tmp_path):
    def start(cache):
        return subprocess.Popen([sys.executable, "-c", SELECT, str(cache)], stdout=subprocess.PIPE)

    whole = start(tmp_path / "whole").communicate(timeout=300)[0]
    killed = start(tmp_path / "killed")
    while not list((tmp_path / "killed").glob("encoder/*.checkpoint")):
        assert killed.poll() is None
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    (checkpoint,) = (tmp_path / "killed" / "encoder").glob("*.checkpoint")
    assert 0 < torch.load(checkpoint, weights_only=True)["epoch"] < 400
    assert start(tmp_path / "killed").communicate(timeout=300)[0] == whole
    assert not checkpoint.exists()


@pytest.mark.parametrize("harm", ["gone", "edited"])
def test_a_damaged_entry_is_named_and_made_again(harm, trainable, quick, tmp_path, caplog):
    first = trained_encoder(trainable, cache=tmp_path, **quick)
    (entry,) = (tmp_path / "encoder").iterdir()
    scores = entry / "scores.csv"
    if harm == "gone":
        scores.unlink()
    else:
        scores.write_text(scores.read_text().replace("1", "2"))
    with pytest.raises(UnreadableFileError, match=entry.name):
        TrainedEncoder.open(entry)
    again = trained_encoder(trainable, cache=tmp_path, **quick)
    np.testing.assert_array_equal(again.scores, first.scores)
    assert "Training again" in caplog.text
    np.testing.assert_array_equal(TrainedEncoder.open(entry).scores, first.scores)
