"""CPU seconds and memory of a guided core-set, beyond the panel's own computation.

    python benchmarks/bench_guided.py [SUBJECTS] [OPERATORS]

The default is the paper's size, 904 x 5 windows of 33 regions, and a panel of 30 operators. Their
matrices are made up (a part of the subject, a part of the group, noise), one operator at a time
as a store gives them; making them is not counted. Certificate included.
Targets: 2 % of the samples in under 2 minutes on 2 cores, memory under 4 GB.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pandas as pd

REGIONS = 33
WINDOWS = 5


def main() -> None:
    subjects = int(sys.argv[1]) if len(sys.argv) > 1 else 904
    operators = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    from sclcs.selection import select

    cohort = make_cohort(subjects)
    source = MadeUp(cohort, operators)
    select(cohort, "guided", 0.02, 0, task="diagnosis", fc=source, panel=source.operators[:8])
    print(f"{len(cohort)} samples, {operators} operators, 2 %")
    print(f"{'task':<12}{'CPU s beyond the panel':>24}{'peak GB':>10}")
    for task in ("diagnosis", "subject"):
        source.seconds = 0.0
        began = time.process_time()
        core = select(cohort, "guided", 0.02, 0, task=task, fc=source, panel=source.operators)
        seconds = time.process_time() - began - source.seconds
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"{task:<12}{seconds:>24.1f}{peak:>10.2f}   {len(core)} samples")


def make_cohort(subjects):
    """Return a cohort whose signals are never looked at."""
    from sclcs import Cohort

    random = np.random.default_rng(0)
    of = np.repeat(np.arange(subjects), WINDOWS)
    samples = pd.DataFrame(
        {
            "subject": [f"s{number:05d}" for number in of],
            "window": np.tile(np.arange(WINDOWS), subjects),
            "diagnosis": np.where(of % 2, "patient", "control"),
            "site": [f"site {number}" for number in random.integers(0, 17, subjects)[of]],
        },
        index=pd.Index([f"s{a:05d}_w{b}" for b, a in enumerate(of)], name="sample_id"),
    )
    signals = random.standard_normal((len(samples), REGIONS, 10), dtype=np.float32)
    return Cohort(signals, samples, [f"r{number}" for number in range(REGIONS)], 2.0)


class MadeUp:
    """Matrices of operators that see subjects and groups more or less clearly."""

    n_timepoints = None

    def __init__(self, cohort, operators):
        from sclcs.spi import catalogue

        cheap = catalogue().sort_values("pyspi_seconds").drop_duplicates("rank_group")
        families = cheap.groupby("family").cumcount()
        self.operators = list(cheap.index[np.argsort(families, kind="stable")][:operators])
        self.samples, self.sample_ids = cohort.samples, cohort.sample_ids
        self.regions, self.fingerprint = cohort.regions, cohort.fingerprint
        self.seconds = 0.0

    def matrices(self, spi, rows=None):
        began = time.process_time()
        random = np.random.default_rng(self.operators.index(spi))
        subjects, codes = np.unique(self.samples["subject"], return_inverse=True)
        shape = (REGIONS, REGIONS)
        values = random.standard_normal((len(codes), *shape), dtype=np.float32)
        values *= random.uniform(1, 3)
        values += random.standard_normal((len(subjects), *shape), dtype=np.float32)[codes]
        patients = (self.samples["diagnosis"] == "patient").to_numpy()
        values[patients] += np.float32(random.uniform(0, 0.3)) * random.standard_normal(
            shape, dtype=np.float32
        )
        values[:, range(REGIONS), range(REGIONS)] = np.nan
        self.seconds += time.process_time() - began
        return values if rows is None else values[rows]

    def reason(self, spi):  # noqa: ARG002
        return ""

    def version(self, spi):  # noqa: ARG002
        return "1.1"


if __name__ == "__main__":
    main()
