"""Preprocessing x operator: the same scans twice, and scans with their mean signal taken out."""

import numpy as np
import pandas as pd
import pytest

from paper import run_experiment
from paper.multiverse import find_preprocessings, without_mean_signal
from paper.options import Options
from paper.setup import Setup
from sclcs import simulate_cohort
from sclcs._core.errors import InputError


def test_the_mean_signal_is_gone_from_every_region():
    cohort = simulate_cohort(3, 2, 5, length=30, stride=30, seed=2)
    mean = np.asarray(cohort.signals, dtype=float).mean(axis=1)
    mean = mean - mean.mean(axis=1, keepdims=True)
    left = np.asarray(without_mean_signal(cohort).signals, dtype=float)
    explained = np.einsum("srt,st->sr", left, mean) / np.linalg.norm(mean, axis=1)[:, None]
    assert np.abs(explained).max() < 1e-4 * np.linalg.norm(left, axis=2).min()
    assert np.corrcoef(left[1, 0], np.asarray(cohort.signals)[1, 0])[0, 1] > 0.2


def test_other_scans_are_refused(tmp_path):
    cohort = simulate_cohort(4, 2, 5, length=30, stride=30, seed=2)
    other = cohort.take(list(cohort.sample_ids[1:])).save(tmp_path / "other.zarr")
    setup = Setup(cohort, tmp_path / "fc", Options.make(toy=True, beside=[str(other)]))
    with pytest.raises(InputError, match=r"same samples.*8 of the cohort, 7 there.*windows"):
        find_preprocessings(setup)


@pytest.mark.slow
def test_the_same_scans_twice_agree_in_everything(toy_cohort, tmp_path):
    same = toy_cohort.save(tmp_path / "same.zarr")
    options = {"tasks": ("subject",), "ratios": (0.3,), "repeats": 1, "beside": [str(same)]}
    run_experiment(
        "multiverse", toy_cohort, tmp_path / "out", fc=tmp_path / "fc", toy=True, **options
    )
    summary = pd.read_csv(tmp_path / "out" / "summary.csv").set_index("what")
    row = summary.loc["rankings"]
    assert row["kendall"] == 1
    assert row["regret"] == 0
    assert row["winner_stays"] == 1
    assert row["in_both_sets"] == row["first_set"] == row["second_set"]
    assert row["operator_share"] == pytest.approx(1)
    estimate = summary.loc["estimates"]
    assert estimate["kendall"] == pytest.approx(1)
    assert estimate["regret_0"] == 0
