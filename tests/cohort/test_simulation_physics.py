"""What happens in a simulated scanner: haemodynamics, pass band, noise, states, motion."""

import numpy as np
import pytest
from calibration import (
    connectivity,
    lag_one_autocorrelation,
    measure_windows,
)

from sclcs import Cohort, simulate_cohort
from sclcs._core import generator
from sclcs.cohort.simulated_signals import Effects, Scanner, haemodynamic_response, state_sequence

STILL = {"noise": 0.0, "motion_share": 0.0, "session": 0.0, "state": 0.0}


def whole_scan_connectivity(cohort: Cohort) -> np.ndarray:
    return connectivity(np.asarray(cohort.signals))


def test_haemodynamic_response_peaks_at_five_seconds():
    response = haemodynamic_response(0.5)
    assert np.argmax(response) * 0.5 == 5.0
    assert response.min() < 0  # the undershoot


def test_states_dwell():
    states = state_sequence(200_000, 4, 25.0, generator(0, "test"))
    changes = np.count_nonzero(np.diff(states))
    assert 200_000 / changes == pytest.approx(25, rel=0.05)
    np.testing.assert_allclose(np.bincount(states) / len(states), 0.25, atol=0.02)


@pytest.mark.parametrize("tr", [0.8, 2.0])
def test_pass_band(tr):
    cohort = simulate_cohort(5, 1, 4, length=1000, tr=tr)
    power = np.abs(np.fft.rfft(np.asarray(cohort.signals) * np.hanning(1000))) ** 2
    frequencies = np.fft.rfftfreq(1000, tr)
    inside = (frequencies > 0.009) & (frequencies < 0.101)
    assert power[..., inside].sum() / power.sum() > 0.98


def test_noise_lowers_connectivity_by_its_share():
    clean, noisy = (
        np.tanh(whole_scan_connectivity(simulate_cohort(40, 1, 8, length=400, **quiet))).mean()
        for quiet in (STILL, STILL | {"noise": 0.5})
    )
    assert noisy / clean == pytest.approx(0.5, abs=0.05)


def test_unit_variance_before_amplitudes():
    signals = simulate_cohort(40, 1, 8, length=400, amplitude=0, motion_share=0).signals
    assert np.var(signals, axis=-1).mean() == pytest.approx(1, abs=0.05)


def test_colour_raises_the_autocorrelation():
    white, red = (
        lag_one_autocorrelation(
            simulate_cohort(10, 1, 5, length=300, colour=colour, noise=0.9, high_hz=0.25).signals
        )
        for colour in (0.0, 0.8)
    )
    assert red > white + 0.2


def test_motion_is_in_the_share_of_scans_asked_for():
    scanner = Scanner(200, 2.0, Effects(motion_share=0.3))
    moved = [scanner.motion(generator(n, "test")).trace is not None for n in range(1000)]
    assert np.mean(moved) == pytest.approx(0.3, abs=0.05)


def test_motion_artefacts_are_shared_by_regions():
    effects = {"motion_share": 1.0, "motion_size": 30.0, "amplitude": 0.0}
    still = simulate_cohort(30, 1, 8, length=200, motion_share=0.0, amplitude=0.0)
    moved = simulate_cohort(30, 1, 8, length=200, **effects)
    assert whole_scan_connectivity(moved).mean() > whole_scan_connectivity(still).mean() + 0.2
    assert moved.labels("motion").min() >= still.labels("motion").min()
    assert moved.labels("motion").mean() > still.labels("motion").mean()


def test_states_make_windows_of_a_scan_differ():
    calm, restless = (
        measure_windows(simulate_cohort(40, 5, 12, state=state, dwell_seconds=60))
        for state in (0.0, 0.6)
    )
    assert restless["within_far"] < calm["within_far"] - 0.05
