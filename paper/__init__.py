"""The paper's tables and figures made again, ours beside the paper's, and our own studies.

Run from a checkout: ``python -m paper`` lists them, ``python -m paper table2 --cohort C``
makes one. Not part of the installed package.
"""

from importlib import import_module

from paper.options import Options
from paper.run import run_all, run_experiment
from paper.setup import EXPERIMENTS, Experiment
from paper.tables import paper_table

__all__ = ["EXPERIMENTS", "Experiment", "Options", "paper_table", "run_all", "run_experiment"]

#: Importing one puts it on the list: the paper's, in this order, then ours.
_MODULES = (
    "table2", "table7", "table4", "figure8", "figure3", "table10", "table9", "table11",
    "table6", "ablation", "headline", "soundness", "estimation", "kinds",
)  # fmt: skip
for _name in _MODULES:
    import_module(f"paper.{_name}")
