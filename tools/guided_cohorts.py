"""The cohorts of the study of guided core-sets, and the fast set on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sclcs.benchmark import ArraySource
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.readers.arrays import read_arrays
from sclcs.cohort.simulation import simulate_cohort
from sclcs.core.progress import track
from sclcs.spi import compute, resolve

#: Length, stride and time points used of each cut of ABIDE.
CUTS = {
    "abide": (70, 35, 210),  # 307 scans x 5 windows, METHOD.md section 12
    "abide766": (145, 145, 145),  # 766 scans, one window each
    "abide766x2": (72, 73, 145),  # the same scans, two windows each: fingerprinting needs pairs
}
NAMES = (*CUTS, "simulated")
BLOCK = 128


def open_cohort(name: str, archive: Path | None) -> Cohort:
    """Cut ABIDE, or simulate a cohort of the shape of its 307 x 5 windows."""
    if name == "simulated":
        return simulate_cohort(307, 5, 33, length=70, stride=35, seed=7)
    if archive is None:
        raise SystemExit(f"The cohort {name} needs --archive, the ABIDE archive.")
    length, stride, used = CUTS[name]
    return read_arrays(archive).windows(length, stride, truncate=used, drop_first=1, on_bad="skip")


def matrices(cohort: Cohort, cache: Path | None) -> ArraySource:
    """Return the fast set on all samples, from the cache if it is there."""
    operators = resolve("paper-fast")
    if cache is not None and cache.exists():
        return ArraySource(np.load(cache, mmap_mode="r"), operators, cohort)
    shape = (len(operators), len(cohort), cohort.n_regions, cohort.n_regions)
    values = np.empty(shape, dtype=np.float32)
    for start in track(range(0, len(cohort), BLOCK), "fast set"):
        block = slice(start, start + BLOCK)
        signals = np.asarray(cohort.signals[block])
        computed = compute(signals, operators, sample_keys=cohort.sample_ids[block])
        values[:, block] = computed.to_numpy()
    if cache is not None:
        np.save(cache, values)
    return ArraySource(values, operators, cohort)
