"""Readers: one file per format; each returns :class:`~sclcs.cohort.scans.Scans`."""
