from . import pyspi
from .cohort import Cohort, CoreSet, Scan, Scans, load, simulate_cohort
from .coresets import select
from .decision import Blend
from .report import plot
from .runs import run
from .spi import FCTransformer, catalogue, compute, register
from .stats import Ranking, balance, compare, rank

__all__ = [
    "Blend",
    "Cohort",
    "CoreSet",
    "FCTransformer",
    "Ranking",
    "Scan",
    "Scans",
    "balance",
    "catalogue",
    "compare",
    "compute",
    "load",
    "plot",
    "pyspi",
    "rank",
    "register",
    "run",
    "select",
    "simulate_cohort",
]

__version__: str
