import numpy as np
import pandas as pd
import pytest

from sclcs._core.errors import InputError
from sclcs.coresets.encoder import grid as grid_module, train_encoder
from sclcs.coresets.encoder.grid import agreement, grid_search, scores_after

GRID = {"dims": [3, 4], "heads": [2], "epochs": [2, 4], "batch_subjects": 9}


def test_every_combination_is_judged_and_every_run_kept(trainable, tmp_path):
    table = grid_search(trainable, tmp_path, **GRID)
    assert len(table) == 4
    assert set(zip(table["dim"], table["epochs"], strict=True)) == {(3, 2), (3, 4), (4, 2), (4, 4)}
    assert table["stability"].is_monotonic_decreasing
    assert table[["loss", "alignment", "uniformity", "settled"]].notna().all(axis=None)
    assert len(list((tmp_path / "runs").iterdir())) == 4  # two widths, two seeds
    stored = pd.read_csv(tmp_path / "grid.csv")
    pd.testing.assert_frame_equal(stored, table, check_dtype=False)


def test_runs_are_not_repeated(trainable, tmp_path, monkeypatch):
    first = grid_search(trainable, tmp_path, **GRID)
    monkeypatch.setattr(grid_module, "train_encoder", lambda *_, **__: pytest.fail("trained"))
    pd.testing.assert_frame_equal(grid_search(trainable, tmp_path, **GRID), first)
    with pytest.raises(InputError, match="other settings or another cohort"):
        grid_search(trainable.take(range(20)), tmp_path, **GRID)


@pytest.mark.parametrize("preset", ["paper", "official"])
def test_a_long_run_holds_the_scores_of_a_short_one(trainable, quick, preset):
    long = train_encoder(trainable, preset, keep_curves=True, **quick)
    short = train_encoder(trainable, preset, **quick | {"epochs": 3})
    np.testing.assert_allclose(scores_after(long, 3), short.scores, rtol=1e-6)


def test_agreement_ignores_samples_without_a_score():
    one = np.array([1.0, 2.0, 3.0, np.inf])
    assert agreement([one, np.array([10.0, 20.0, 30.0, 0.0])]) == pytest.approx(1)


def test_bad_grids(trainable, tmp_path, quick):
    with pytest.raises(InputError, match="two different seeds"):
        grid_search(trainable, tmp_path, seeds=[0, 0])
    with pytest.raises(InputError, match="curves kept"):
        scores_after(train_encoder(trainable, **quick), 2)
