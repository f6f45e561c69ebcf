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

__all__ = [
    "ablation",
    "balance",
    "convergence",
    "cost",
    "density",
    "dynamics",
    "estimation",
    "guided",
    "labels",
    "main",
    "operators",
    "sound",
    "soundness",
    "universal",
    "windows",
]
