"""Cohorts: files in, signals (sample x region x time) and one row of facts per sample out."""
