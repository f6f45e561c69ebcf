"""Things to run end to end: the demo, and every table and figure of the paper beside ours."""

from sclcs.experiments.registry import EXPERIMENTS, Experiment
from sclcs.experiments.run import run_all, run_experiment

__all__ = ["EXPERIMENTS", "Experiment", "run_all", "run_experiment"]
