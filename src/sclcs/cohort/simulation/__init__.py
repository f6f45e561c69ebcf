"""Simulated cohorts with known effects, calibrated on real data."""
