import numpy as np
import pytest
import torch

from sclcs import simulate_cohort
from sclcs._core import InputError, UnknownNameError, UnreadableFileError, read_seal, write_seal
from sclcs.coresets.classifier import (
    TRACES,
    ClassifierSettings,
    TrainedClassifier,
    train_classifier,
)
from sclcs.coresets.classifier_training import (
    ClassifierTraining,
    DynamicsRecorder,
    ResidualClassifier,
    batches,
    final_entropy,
)
from sclcs.coresets.training import TrainingDivergedError


@pytest.fixture(scope="module")
def people():
    """39 samples: 13 subjects x 3 windows, 5 regions, 22 time points."""
    return simulate_cohort(13, 3, 5, length=22, stride=11, seed=1)


@pytest.mark.parametrize(("n_classes", "expected"), [(2, 117_538), (904, 233_896)])
def test_size_of_the_default_network(n_classes, expected):
    network = ResidualClassifier(33, n_classes)
    assert sum(weight.numel() for weight in network.parameters()) == expected


@pytest.mark.parametrize("length", [70, 9, 5])
def test_shapes(length):
    network = ResidualClassifier(33, 7)
    logits, features = network(torch.randn(4, 33, length))
    assert logits.shape == (4, 7)
    assert features.shape == (4, 128)


def test_lengths_inside_the_network():
    network = ResidualClassifier(33, 2)
    hidden = network.stem(torch.randn(2, 33, 70))
    shapes = [tuple(hidden.shape[1:])]
    for block in network.blocks:
        hidden = block(hidden)
        shapes.append(tuple(hidden.shape[1:]))
    assert shapes == [(32, 70), (32, 70), (64, 35), (128, 18)]


def test_initial_weights_depend_on_the_seed_only():
    state = torch.get_rng_state()
    first, again = ResidualClassifier(6, 3, seed=4), ResidualClassifier(6, 3, seed=4)
    other = ResidualClassifier(6, 3, seed=5)
    assert torch.equal(torch.get_rng_state(), state)
    pairs = zip(first.parameters(), again.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(first.output.weight, other.output.weight)
    spread = torch.cat([w.flatten() for n, w in first.named_parameters() if n == "stem.0.weight"])
    assert spread.std().item() == pytest.approx((2 / (32 * 7)) ** 0.5, rel=0.1)  # fan out


@pytest.mark.parametrize(("n", "size"), [(39, 16), (33, 16), (17, 16), (5, 16), (1, 16)])
def test_every_sample_is_in_one_batch(n, size):
    parts = batches(n, size, seed=0, epoch=3)
    assert sorted(torch.cat(parts).tolist()) == list(range(n))
    assert all(len(part) > 1 for part in parts) or n == 1


def plain_numbers(logits, truth):
    """The recorded numbers of one sample, from their definitions."""
    probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    others = np.delete(np.arange(len(logits)), truth)
    target = np.eye(len(logits))[truth]
    return {
        "true_probability": probabilities[truth],
        "other_probability": probabilities[others].max(),
        "error_norm": np.linalg.norm(probabilities - target),
        "margin": logits[truth] - logits[others].max(),
    }


def test_the_recorder_keeps_what_the_definitions_say(rng):
    logits = rng.normal(scale=3, size=(11, 4)).astype(np.float32)
    truth = rng.integers(0, 4, size=11)
    recorder = DynamicsRecorder(torch.from_numpy(truth), ClassifierSettings(epochs=3))
    values = torch.from_numpy(logits)
    for rows in (torch.arange(6), torch.arange(6, 11)):
        part = values[rows]
        recorder.add(rows, 1, part, part.log_softmax(1), torch.ones(len(rows), 128))
    traces = recorder.traces()
    for row in range(11):
        expected = plain_numbers(logits[row].astype(float), truth[row])
        for name in TRACES:
            assert traces[name][row, 1] == pytest.approx(expected[name], rel=1e-4, abs=1e-6)
    assert np.isnan(traces["margin"][:, [0, 2]]).all()


def test_entropy_in_double_precision():
    logits = np.array([[0, 0], [40, 0], [0, np.log(3)]], dtype=np.float32)
    expected = [np.log(2), 0.0, -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))]
    np.testing.assert_allclose(final_entropy(logits), expected, atol=1e-8)


def test_training_learns_and_records_every_sample(people):
    run = train_classifier(people, epochs=12, seed=1)
    assert run.margin.shape == (39, 12)
    assert run.history["loss"].iloc[-1] < run.history["loss"].iloc[0]
    assert run.history["accuracy"].iloc[-1] > 0.8
    for name in TRACES:
        assert np.isfinite(getattr(run, name)).all()
    np.testing.assert_allclose(run.correct.mean(axis=0), run.history["accuracy"])
    assert run.features.any(axis=1).all()
    assert run.info["classes"] == 13
    assert run.settings.kept_feature_epoch == 10
    assert "39 samples" in repr(run)


def test_same_seed_same_bits_in_any_order(people, rng):
    order = rng.permutation(len(people))
    first = train_classifier(people, epochs=3, seed=2)
    second = train_classifier(people.take(order), epochs=3, seed=2)
    np.testing.assert_array_equal(first.margin[order], second.margin)
    np.testing.assert_array_equal(first.entropy[order], second.entropy)
    np.testing.assert_array_equal(first.features[order], second.features)
    np.testing.assert_array_equal(first.classes[order], second.classes)
    assert not np.array_equal(train_classifier(people, epochs=3, seed=3).margin, first.margin)


@pytest.mark.parametrize(
    "changes",
    [
        {"record": "eval"},
        {"task": "diagnosis"},
        {"input_norm": "none"},
        {"batch_size": 19},
        {"feature_epoch": 0},
    ],
)
def test_every_switch_changes_the_result(people, changes):
    usual = train_classifier(people, epochs=3)
    other = train_classifier(people, epochs=3, **changes)
    name = "features" if "feature_epoch" in changes else "margin"
    assert np.isfinite(getattr(other, name)).all()
    last = getattr(other, name)[:, -1], getattr(usual, name)[:, -1]
    assert not np.array_equal(*last)


def test_recording_does_not_change_training(people):
    during, after = (train_classifier(people, epochs=3, record=r) for r in ("train", "eval"))
    np.testing.assert_array_equal(during.history["loss"], after.history["loss"])
    np.testing.assert_array_equal(during.entropy, after.entropy)


def test_a_saved_run_is_the_same(people, tmp_path):
    run = train_classifier(people, epochs=2)
    known = TrainedClassifier.open(run.save(tmp_path / "run"))
    assert known.settings == run.settings
    assert known.sample_ids == run.sample_ids
    for name in (*TRACES, "entropy", "features", "classes"):
        np.testing.assert_array_equal(getattr(known, name), getattr(run, name))
    np.testing.assert_array_equal(known.history.to_numpy(), run.history.to_numpy())
    (tmp_path / "run" / "dynamics.npz").write_bytes(b"broken")
    with pytest.raises(UnreadableFileError, match="incomplete or damaged"):
        TrainedClassifier.open(tmp_path / "run")


def test_the_cache_is_used(people, tmp_path):
    first = train_classifier(people, epochs=1, cache=tmp_path)
    (entry,) = (tmp_path / "classifier").iterdir()
    seal = read_seal(entry)
    (entry / "epochs.csv").write_text("epoch,loss\r\n0,123.5\r\n")
    write_seal(entry, seal.files, seal.metadata)  # as if it had been trained so
    assert train_classifier(people, epochs=1, cache=tmp_path).history["loss"][0] == 123.5
    assert train_classifier(people, epochs=1, cache=False).history["loss"][0] != 123.5
    train_classifier(people, epochs=1, seed=1, cache=tmp_path)
    assert len(list((tmp_path / "classifier").iterdir())) == 2
    assert first.fingerprint == people.fingerprint


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "epochs"),
        ({"batch_size": 1}, "batch_size"),
        ({"record": "both"}, "record"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"feature_epoch": 7, "epochs": 5}, "feature_epoch"),
        ({"task": "colour"}, "colour"),
        ({"task": "motion"}, "measurements"),
    ],
)
def test_mistakes_are_named(people, changes, message):
    with pytest.raises(InputError, match=message):
        train_classifier(people, **changes)


def test_labels_that_cannot_be_learned(people, cohort):
    with pytest.raises(UnknownNameError, match="epoch"):
        train_classifier(people, epoch=3)
    one_class = people.where(diagnosis="HC")
    with pytest.raises(InputError, match="at least 2 classes"):
        train_classifier(one_class, task="diagnosis", epochs=1)
    with pytest.raises(InputError, match="missing for s5, s6"):
        train_classifier(cohort, task="age", epochs=1)


def test_divergence_is_named(people):
    with pytest.raises(TrainingDivergedError, match="learning_rate"):
        train_classifier(people, epochs=4, learning_rate=1e30)


@pytest.mark.parametrize("changes", [{}, {"record": "eval"}])
def test_an_interrupted_training_ends_with_the_same_bits(people, changes, tmp_path, monkeypatch):
    whole = train_classifier(people, epochs=13, **changes)
    train_epoch = ClassifierTraining.train_epoch
    seen = []

    def interrupted(training):
        epoch = training.epoch - 1
        seen.append(epoch)
        if seen.count(epoch) == 1 and epoch == 11:
            raise KeyboardInterrupt
        train_epoch(training)

    monkeypatch.setattr(ClassifierTraining, "train_epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_classifier(people, epochs=13, cache=tmp_path, **changes)
    assert [path.suffix for path in (tmp_path / "classifier").iterdir()] == [".checkpoint"]
    resumed = train_classifier(people, epochs=13, cache=tmp_path, **changes)
    assert seen == [*range(12), 10, 11, 12]
    for name in (*TRACES, "entropy", "features"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    np.testing.assert_array_equal(resumed.history.to_numpy(), whole.history.to_numpy())
    assert [path.suffix for path in (tmp_path / "classifier").iterdir()] == [""]
