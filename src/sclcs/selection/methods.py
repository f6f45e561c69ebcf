"""Imports every method, in the order in which they are listed; importing registers them."""

# ruff: noqa: I001 (the order is the order of the list)
from sclcs.selection import uniform
from sclcs.selection import clusters
from sclcs.selection import dynamics
from sclcs.selection import strata
from sclcs.selection import boss
from sclcs.selection import design
from sclcs.selection import kcenter
from sclcs.selection import perturbation
from sclcs.selection.guided import method as guided
from sclcs.selection.guided import auto

__all__ = [
    "auto",
    "boss",
    "clusters",
    "design",
    "dynamics",
    "guided",
    "kcenter",
    "perturbation",
    "strata",
    "uniform",
]
