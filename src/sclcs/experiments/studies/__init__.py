"""The experiments: the paper's eleven, then ours. Importing registers them, in this order."""

# ruff: noqa: I001 (the order is the order of the list)
from sclcs.experiments.studies import main
from sclcs.experiments.studies import labels
from sclcs.experiments.studies import density
from sclcs.experiments.studies import universal
from sclcs.experiments.studies import convergence
from sclcs.experiments.studies import dynamics
from sclcs.experiments.studies import balance
from sclcs.experiments.studies import operators
from sclcs.experiments.studies import windows
from sclcs.experiments.studies import cost
from sclcs.experiments.studies import ablation
from sclcs.experiments.studies import guided
from sclcs.experiments.studies import estimation
from sclcs.experiments.studies import soundness
from sclcs.experiments.studies import sound
from sclcs.experiments.studies import multiverse
from sclcs.experiments.studies import kinds
from sclcs.experiments.studies import newcomers

__all__ = [
    "ablation",
    "balance",
    "convergence",
    "cost",
    "density",
    "dynamics",
    "estimation",
    "guided",
    "kinds",
    "labels",
    "main",
    "multiverse",
    "newcomers",
    "operators",
    "sound",
    "soundness",
    "universal",
    "windows",
]
