"""The demo: the whole flow on a simulated cohort small enough to check the answer.

The core-set's ranking is compared with the ranking on everybody, which a real cohort would not
allow: that is what a core-set is for.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sclcs.benchmark import Ranking, consistency, rank
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.cohort.describe import describe_cohort
from sclcs.cohort.simulation import simulate_cohort
from sclcs.core.files import atomic_directory, write_json
from sclcs.report.cohort_figure import save_cohort_figure
from sclcs.report.ranking_figure import draw_ranking
from sclcs.report.style import save_figure
from sclcs.selection import select
from sclcs.workflow.compute import compute_store

__all__ = ["DemoResult", "run_demo"]

SUBJECTS = 60
RATIO = 0.1
METHOD = "pairs"  # needs no training; `sclcs select --list` shows the others
OPERATORS = "paper-fast"
DRAWS = 200
BEST = 3


@dataclass(frozen=True)
class DemoResult:
    """What the demo found, and where it is.

    Parameters
    ----------
    folder : Path
        Holds ``cohort.zarr``, ``fc``, ``core.csv``, ``ranking.csv`` (from the core-set),
        ``ranking_everybody.csv``, ``agreement.json`` and pictures.
    cohort : dict
        What :func:`~sclcs.cohort.describe.describe_cohort` says.
    best : list of dict
        The best operators by the core-set: ``spi``, ``score``, ``low``, ``high``.
    agreement : dict
        Consistency of the core-set's ranking with the ranking on everybody.
    """

    folder: Path
    cohort: dict[str, Any]
    best: list[dict[str, Any]]
    agreement: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "folder": str(self.folder),
            "cohort": self.cohort,
            "best": self.best,
            "agreement": self.agreement,
        }


def run_demo(out: str | os.PathLike[str], *, seed: int = 0) -> DemoResult:
    """Simulate a cohort, pick a core-set, compute and rank operators, check the answer.

    Parameters
    ----------
    out : path-like
        A new folder for the results.
    seed : int
        Same seed, same results.

    Returns
    -------
    DemoResult
    """
    with atomic_directory(out) as folder:
        simulate_cohort(SUBJECTS, seed=seed).save(folder / "cohort.zarr")
        cohort = Cohort.open(folder / "cohort.zarr")
        save_cohort_figure(cohort, folder / "cohort.png")
        core = select(cohort, METHOD, ratio=RATIO, seed=seed)
        core.save(folder / "core.csv")
        jobs = min(2, os.cpu_count() or 1)
        store = compute_store(folder / "cohort.zarr", folder / "fc", OPERATORS, jobs=jobs)
        everybody = _rank(store, None, seed, folder / "ranking_everybody.csv")
        ranking = _rank(store, core, seed, folder / "ranking.csv")
        save_figure(draw_ranking(ranking), folder / "ranking.png")
        agreement = consistency(everybody, ranking)
        write_json(folder / "agreement.json", agreement)
    rows = ranking.table.head(BEST).to_dict(orient="records")
    best = [{name: row[name] for name in ("spi", "score", "low", "high")} for row in rows]
    return DemoResult(Path(out), describe_cohort(cohort), best, agreement)


def _rank(store: Any, core: CoreSet | None, seed: int, path: Path) -> Ranking:  # noqa: ANN401
    ranking = rank(store, "subject", coreset=core, bootstrap=DRAWS, seed=seed)
    ranking.save(path)
    return ranking
