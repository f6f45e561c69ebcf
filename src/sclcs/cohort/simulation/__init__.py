"""Simulated cohorts with known effects, calibrated on real data."""

from sclcs.cohort.simulation.signals import Effects
from sclcs.cohort.simulation.simulate import GroundTruth, simulate_cohort

__all__ = [
    "Effects",
    "GroundTruth",
    "simulate_cohort",
]
