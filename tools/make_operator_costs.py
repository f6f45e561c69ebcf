"""Measure what every operator costs alone, and what it adds when its family is computed anyway.

    python tools/make_operator_costs.py

Writes src/sclcs/spi/tables/operator_costs.csv. It takes about a minute after compilation, on one
idle processor. Seconds differ from machine to machine; how operators compare hardly does, and
budgets depend on that only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from sclcs import simulate_cohort
from sclcs.spi import compute_batch as compute, family_members, resolve, warm_up
from sclcs.spi.costs import REFERENCE_REGIONS, REFERENCE_TIMEPOINTS

TABLE = Path(__file__).parents[1] / "src" / "sclcs" / "spi" / "tables" / "operator_costs.csv"
MOST_SAMPLES = 16
SHORT, LONG = 0.02, 0.5  # seconds per sample; the shorter, the more samples are tried together
LARGEST_SHARED = 0.98  # of an operator's cost; the rest is its own whatever was measured


def main() -> None:
    """Measure and write the table."""
    cohort = simulate_cohort(
        MOST_SAMPLES, 1, REFERENCE_REGIONS, length=REFERENCE_TIMEPOINTS, seed=0
    )
    signals = np.asarray(cohort.signals, dtype=np.float64)
    operators = resolve("all")
    warm_up(operators, REFERENCE_TIMEPOINTS)
    rows = []
    for members in family_members(operators).values():
        rows += family_rows(signals, list(members))
    order = {name: place for place, name in enumerate(operators)}
    table = pd.DataFrame(rows, columns=["identifier", "alone", "own"])
    table = table.sort_values("identifier", key=lambda names: names.map(order))
    table.to_csv(TABLE, index=False, float_format="%.3g")


def family_rows(signals: np.ndarray, members: Sequence[str]) -> list[tuple[str, float, float]]:
    """Return operator, seconds alone and seconds that it adds to its family."""
    whole = seconds(signals, members)
    alone = {name: seconds(signals, [name]) for name in members}
    shared = 0.0
    if len(members) > 1:
        shared = max(0.0, (sum(alone.values()) - whole) / (len(members) - 1))
    return [(name, cost, cost - min(shared, LARGEST_SHARED * cost)) for name, cost in alone.items()]


def seconds(signals: np.ndarray, operators: Sequence[str]) -> float:
    """Return CPU seconds per sample."""
    found = _try(signals[:1], operators)
    for limit, count in ((LONG, 2), (SHORT, len(signals))):
        if found < limit:
            found = min(found, _try(signals[:count], operators))
    return found


def _try(signals: np.ndarray, operators: Sequence[str]) -> float:
    begun = time.process_time()
    compute(signals, list(operators))
    return (time.process_time() - begun) / len(signals)


if __name__ == "__main__":
    main()
