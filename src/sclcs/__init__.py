"""Choose the right functional-connectivity operator for an fMRI cohort.

The names below are loaded when they are first used, so that ``import sclcs`` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sclcs._core.lazy import lazy_names

if TYPE_CHECKING:
    from sclcs.cohort.cohort import Cohort
    from sclcs.cohort.coreset import CoreSet
    from sclcs.cohort.scans import Scan, Scans
    from sclcs.cohort.simulation import simulate_cohort
    from sclcs.coresets import select
    from sclcs.decision.blend import Blend
    from sclcs.runs import run
    from sclcs.spi.transformer import FCTransformer
    from sclcs.stats.concordance import balance, compare
    from sclcs.stats.ranking_table import Ranking

__version__ = "0.1.0.dev0"
__all__ = [
    "Blend",
    "Cohort",
    "CoreSet",
    "FCTransformer",
    "Ranking",
    "Scan",
    "Scans",
    "__version__",
    "balance",
    "compare",
    "run",
    "select",
    "simulate_cohort",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Blend": "sclcs.decision.blend",
        "Cohort": "sclcs.cohort.cohort",
        "CoreSet": "sclcs.cohort.coreset",
        "FCTransformer": "sclcs.spi.transformer",
        "Ranking": "sclcs.stats.ranking_table",
        "Scan": "sclcs.cohort.scans",
        "Scans": "sclcs.cohort.scans",
        "balance": "sclcs.stats",
        "compare": "sclcs.stats",
        "plot": "sclcs.report",
        "run": "sclcs.runs",
        "select": "sclcs.coresets",
        "simulate_cohort": "sclcs.cohort.simulation",
    },
    ["__version__"],
    rooms=["cohort", "coresets", "pyspi", "report", "spi", "stats", "store"],
)
