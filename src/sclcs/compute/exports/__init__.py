"""Matrices in formats that other tools read: one file per format, one row in the registry."""

from sclcs.compute.exports.export import FORMATS, Export, export_matrices

__all__ = ["FORMATS", "Export", "export_matrices"]
