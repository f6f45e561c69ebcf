"""Make the table of the operators' geometry that ships with the package.

    python tools/make_geometry.py

Writes src/sclcs/decision/geometry.npz from simulated cohorts only: nobody's data is in it. It
takes about a minute and a half of CPU time after compilation.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sclcs import simulate_cohort
from sclcs._core import show_progress
from sclcs.decision import Geometry, measure_geometry
from sclcs.spi import compute_batch as compute, family_members, resolve
from sclcs.stats import make_kernel

TABLE = Path(__file__).parents[1] / "src" / "sclcs" / "estimation" / "geometry.npz"
#: Subjects, regions and time points of the cohorts; the table is their mean.
COHORTS = ((24, 20, 70), (24, 14, 110), (24, 17, 90))


def main() -> None:
    """Simulate, compute every operator, average, write."""
    parts = [of_cohort(*size, seed=seed) for seed, size in enumerate(COHORTS)]
    operators = [name for name in resolve("all") if all(name in p.operators for p in parts)]
    chosen = [part.take(operators) for part in parts]
    np.savez_compressed(
        TABLE,
        operators=np.array(operators),
        similarity=np.mean([part.similarity for part in chosen], axis=0).astype(np.float16),
        level=np.mean([part.level for part in chosen], axis=0).astype(np.float32),
        spread=np.mean([part.spread for part in chosen], axis=0).astype(np.float32),
    )


def of_cohort(subjects: int, regions: int, timepoints: int, *, seed: int) -> Geometry:
    """Return the geometry of all operators on one simulated cohort, one sample per subject."""
    cohort = simulate_cohort(subjects, 1, regions, length=timepoints, seed=seed)
    signals = np.asarray(cohort.signals, dtype=np.float64)
    names, kernels = [], []
    for members in family_members(resolve("all")).values():
        matrices = compute(signals, list(members))
        for name, values in zip(members, matrices.to_numpy(), strict=True):
            kernel = make_kernel(values.astype(np.float32))
            if kernel.usable.all():
                names.append(name)
                kernels.append(kernel.similarity)
    return measure_geometry(names, kernels, np.arange(subjects, dtype=np.int64))


if __name__ == "__main__":
    with show_progress():
        main()
