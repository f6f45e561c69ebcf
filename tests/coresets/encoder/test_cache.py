import numpy as np
import pytest

from sclcs._core.errors import UnreadableFileError
from sclcs.coresets.encoder import TrainedEncoder, train as cache_module, trained_encoder
from sclcs.coresets.encoder.train import cache_folder


@pytest.fixture
def trainings(monkeypatch):
    """Count trainings."""
    calls = []
    original = cache_module.train_encoder

    def counted(*arguments, **options):
        calls.append(options)
        return original(*arguments, **options)

    monkeypatch.setattr(cache_module, "train_encoder", counted)
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


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.setenv("SCLCS_CACHE", str(tmp_path / "env"))
    assert cache_folder() == tmp_path / "env"
    assert cache_folder(tmp_path / "arg") == tmp_path / "arg"
    monkeypatch.delenv("SCLCS_CACHE")
    assert cache_folder().name == "sclcs"


def test_an_interrupted_training_leaves_a_checkpoint_and_no_entry(
    trainable, quick, tmp_path, monkeypatch
):
    from sclcs.coresets.encoder.training import Training

    original = Training.train_epoch

    def fail_late(training):
        if training.epoch == 12:
            raise KeyboardInterrupt
        original(training)

    long = quick | {"epochs": 14}
    monkeypatch.setattr(Training, "train_epoch", fail_late)
    with pytest.raises(KeyboardInterrupt):
        trained_encoder(trainable, cache=tmp_path, **long)
    (left,) = (tmp_path / "encoder").iterdir()
    assert left.suffix == ".checkpoint"
    monkeypatch.undo()
    resumed = trained_encoder(trainable, cache=tmp_path, **long)
    assert np.array_equal(resumed.scores, trained_encoder(trainable, cache=False, **long).scores)
    assert [path.is_dir() for path in (tmp_path / "encoder").iterdir()] == [True]


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
