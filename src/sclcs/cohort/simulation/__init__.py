"""Simulated cohorts with known effects, calibrated on real data."""

from sclcs.cohort.simulation.calibration import measure_simulated_scans, measure_simulated_windows
from sclcs.cohort.simulation.signals import Effects
from sclcs.cohort.simulation.simulate import GroundTruth, simulate_cohort

__all__ = [
    "Effects",
    "GroundTruth",
    "measure_simulated_scans",
    "measure_simulated_windows",
    "simulate_cohort",
]
