"""Things to run end to end: the demo, and every table and figure of the paper beside ours."""

from sclcs.experiments.measure import run_all, run_experiment
from sclcs.experiments.options import Options
from sclcs.experiments.paper import paper_table
from sclcs.experiments.registry import EXPERIMENTS, Experiment

__all__ = ["EXPERIMENTS", "Experiment", "Options", "paper_table", "run_all", "run_experiment"]
