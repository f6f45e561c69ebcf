"""Simulated cohorts with known effects, calibrated on real data."""

from sclcs.cohort.simulation.effects import Effects
from sclcs.cohort.simulation.simulate import simulate_cohort
from sclcs.cohort.simulation.truth import GroundTruth

__all__ = ["Effects", "GroundTruth", "simulate_cohort"]
