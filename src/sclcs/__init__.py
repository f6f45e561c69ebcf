"""Choose the right functional-connectivity operator for an fMRI cohort.

The names below are loaded when they are first used, so that ``import sclcs`` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sclcs.core.front_door import lazy_names

if TYPE_CHECKING:
    from sclcs.benchmark.ranking import Ranking
    from sclcs.cohort.cohort import Cohort
    from sclcs.cohort.coreset import CoreSet
    from sclcs.cohort.scans import Scan, Scans
    from sclcs.cohort.simulation import simulate_cohort
    from sclcs.runs import run
    from sclcs.spi.transformer import FCTransformer

__version__ = "0.1.0.dev0"
__all__ = [
    "Cohort",
    "CoreSet",
    "FCTransformer",
    "Ranking",
    "Scan",
    "Scans",
    "__version__",
    "run",
    "simulate_cohort",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Cohort": "sclcs.cohort.cohort",
        "CoreSet": "sclcs.cohort.coreset",
        "FCTransformer": "sclcs.spi.transformer",
        "Ranking": "sclcs.benchmark.ranking",
        "Scan": "sclcs.cohort.scans",
        "Scans": "sclcs.cohort.scans",
        "run": "sclcs.runs",
        "simulate_cohort": "sclcs.cohort.simulation",
    },
    ["__version__"],
    rooms=["benchmark", "cohort", "compute", "plot", "pyspi", "report", "selection", "spi"],
)
