"""Choose the right functional-connectivity operator for an fMRI cohort.

The names below are loaded when they are first used, so that ``import sclcs`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sclcs.benchmark.ranking import Ranking
    from sclcs.cohort.cohort import Cohort
    from sclcs.cohort.coreset import CoreSet
    from sclcs.cohort.scans import Scan, Scans
    from sclcs.cohort.simulation import simulate_cohort
    from sclcs.spi.transformer import FCTransformer
    from sclcs.two_stage import run

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

_HOMES = {
    "Cohort": "sclcs.cohort.cohort",
    "CoreSet": "sclcs.cohort.coreset",
    "FCTransformer": "sclcs.spi.transformer",
    "Ranking": "sclcs.benchmark.ranking",
    "Scan": "sclcs.cohort.scans",
    "Scans": "sclcs.cohort.scans",
    "run": "sclcs.two_stage",
    "simulate_cohort": "sclcs.cohort.simulation",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module 'sclcs' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
