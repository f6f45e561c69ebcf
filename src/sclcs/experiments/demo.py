"""The demo: what the package can do, on a simulated cohort that takes seconds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.describe import describe_cohort
from sclcs.cohort.simulation import simulate_cohort
from sclcs.core.files import atomic_directory
from sclcs.report.cohort_figure import save_cohort_figure

__all__ = ["DemoResult", "run_demo"]

SUBJECTS = 120


@dataclass(frozen=True)
class DemoResult:
    """Where the demo's results are.

    Parameters
    ----------
    cohort_path, figure_path : Path
        The simulated cohort and its picture.
    description : dict
        What :func:`~sclcs.cohort.describe.describe_cohort` says of the cohort.
    """

    cohort_path: Path
    figure_path: Path
    description: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "cohort": str(self.cohort_path),
            "figure": str(self.figure_path),
            "description": self.description,
        }


def run_demo(out: str | os.PathLike[str], *, seed: int = 0) -> DemoResult:
    """Simulate a small cohort, describe it and draw it.

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
        save_cohort_figure(Cohort.open(folder / "cohort.zarr"), folder / "cohort.png")
    cohort_path = Path(out) / "cohort.zarr"
    description = describe_cohort(Cohort.open(cohort_path))
    return DemoResult(cohort_path, Path(out) / "cohort.png", description)
