"""The simulator's defaults stay close to the real cohort they were calibrated on.

Targets and the simulator's spread over ten seeds are in ``calibration.json``, made by
``python tools/calibrate_simulator.py abide_dos160_dmn33.npz --write``. A tolerance is the gap that
calibration left plus three times that spread, rounded up, so that it holds for any seed.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from calibration import (
    calibration,
    connectivity,
    decodability,
    identification_rate,
    lag_one_autocorrelation,
    measure_scans,
    measure_simulated_scans,
    measure_simulated_windows,
    measure_windows,
)

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.simulate import simulate_cohort
from sclcs.cohort.simulated_signals import Effects

TOLERANCE = {
    "windows": {
        "lag_one": 0.005,
        "mean_connectivity": 0.025,
        "spread_over_pairs": 0.010,
        "spread_over_subjects": 0.015,
        "within": 0.010,
        "within_apart": 0.012,
        "within_far": 0.020,
        "between": 0.016,
        "identification": 0.09,
    },
    "scans": {"identification": 0.045, "diagnosis": 0.045, "site": 0.045},
}
MEASURE = {"windows": measure_simulated_windows, "scans": measure_simulated_scans}


def measured(setting: str, seed: int) -> dict[str, float]:
    return MEASURE[setting](calibration()[setting]["sites"], Effects(), seed)


def assert_close_to_targets(setting: str, found: dict[str, float]) -> None:
    targets = calibration()[setting]["targets"]
    assert set(found) == set(targets) == set(TOLERANCE[setting])
    far = {
        name: (round(value, 3), targets[name])
        for name, value in found.items()
        if abs(value - targets[name]) > TOLERANCE[setting][name]
    }
    assert not far, f"measured and target of {setting}: {far}"


def test_windows_look_real():
    assert_close_to_targets("windows", measured("windows", seed=0))


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["windows", "scans"])
def test_another_seed_looks_real(setting):
    assert_close_to_targets(setting, measured(setting, seed=1))


def test_tolerances_are_no_wider_than_the_spread_asks():
    for setting, tolerances in TOLERANCE.items():
        record = calibration()[setting]
        for name, tolerance in tolerances.items():
            spread = record["simulated"]["spread"][name]
            gap = abs(record["simulated"]["mean"][name] - record["targets"][name])
            assert gap + 2.5 * spread <= tolerance <= gap + 3 * spread + 0.01, (setting, name)


@pytest.mark.slow
def test_targets_are_those_of_the_real_cohort(real_cohort_file):
    path = Path(__file__).parents[2] / "tools" / "calibrate_simulator.py"
    spec = importlib.util.spec_from_file_location("calibrate_simulator", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    real = tool.RealCohort(real_cohort_file)
    record = calibration()
    assert real.layout == record["scans"]["sites"]
    assert dict(real.sites_of_long_scans) == record["windows"]["sites"]
    assert measure_windows(real.windows()) == pytest.approx(record["windows"]["targets"], abs=1e-3)
    found = measure_scans(real.scans, real.diagnosis, real.site)
    assert found == pytest.approx(record["scans"]["targets"], abs=5e-3)
    # The data's README says 86 %, 0.60 and 0.25, by a protocol it does not give.
    assert found == pytest.approx(
        {"identification": 0.86, "diagnosis": 0.6, "site": 0.25}, abs=0.03
    )


class TestStatistics:
    def test_lag_one(self):
        wave = np.sin(2 * np.pi * np.arange(4000) / 20)
        assert lag_one_autocorrelation(wave[None]) == pytest.approx(np.cos(np.pi / 10), abs=1e-3)

    def test_connectivity_is_fisher_z_of_the_upper_triangle(self, rng):
        signals = rng.normal(size=(3, 4, 50))
        rows, columns = np.triu_indices(4, 1)
        expected = [np.arctanh(np.corrcoef(one)[rows, columns]) for one in signals]
        np.testing.assert_allclose(connectivity(signals), expected)

    def test_connectivity_of_equal_regions_is_finite(self, rng):
        signals = np.repeat(rng.normal(size=(1, 50)), 2, axis=0)
        assert np.isfinite(connectivity(signals)).all()

    def test_identification(self, rng):
        first = rng.normal(size=(5, 30))
        assert identification_rate(first, first + 0.01) == 1.0
        swapped = first[[1, 0, 2, 3, 4]]
        assert identification_rate(first, swapped) == pytest.approx(3 / 5)

    def test_decodability_of_noise_and_of_a_clear_class(self, rng):
        labels = ["a"] * 60 + ["b"] * 60
        features = rng.normal(size=(120, 20))
        assert decodability(features, labels) == pytest.approx(0.5, abs=0.12)
        features[60:] += 3
        assert decodability(features, labels) > 0.98

    def test_similarities_match_pair_by_pair_spearman(self):
        from scipy.stats import spearmanr

        cohort: Cohort = simulate_cohort(4, 3, 6, length=40, stride=20)
        similarity = spearmanr(connectivity(np.asarray(cohort.signals)), axis=1).statistic
        subject = cohort.samples["subject"].to_numpy()
        window = cohort.samples["window"].to_numpy()
        same = subject[:, None] == subject[None, :]
        gap = np.abs(window[:, None] - window[None, :])
        found = measure_windows(cohort)
        assert found["within"] == pytest.approx(similarity[same & (gap > 0)].mean())
        assert found["within_apart"] == pytest.approx(similarity[same & (gap == 2)].mean())
        assert found["within_far"] == pytest.approx(found["within_apart"])
        assert found["between"] == pytest.approx(similarity[~same].mean())
