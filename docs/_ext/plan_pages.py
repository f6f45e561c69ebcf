"""Tables about predicted costs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from markdown_table import table

from sclcs.spi.costs import cost_laws

DOCS = Path(__file__).parents[1]
WHAT = {
    "cpu_seconds": ("CPU time, s", 1.0),
    "wall_seconds": ("wall time, s", 1.0),
    "memory_bytes": ("memory, MB", 1e6),
    "disk_bytes": ("disk, MB", 1e6),
}


def cost_laws_table() -> str:
    """Return how the cost of each family grows."""
    rows = [
        (
            law.family,
            f"{1000 * law.seconds:.3g}",
            f"$N^{{{law.exponent_regions:.1f}}}$",
            f"$T^{{{law.exponent_timepoints:.1f}}}$",
        )
        for law in sorted(cost_laws().values(), key=lambda law: -law.seconds)
    ]
    return table(["family", "CPU ms, one 33 x 70 sample", "regions", "time points"], rows)


def plan_check_table() -> str:
    """Return predicted and measured costs."""
    measured = pd.read_csv(DOCS / "results" / "plan_check.csv")
    rows = []
    for row in measured.to_dict(orient="records"):
        name, unit = WHAT[row["what"]]
        rows.append(
            (
                row["size"].replace("x", " x "),
                row["jobs"],
                name,
                f"{row['predicted'] / unit:.3g}",
                f"{row['measured'] / unit:.3g}",
                f"{row['predicted / measured']:.2f}",
                f"{row['carried / measured']:.2f}",
            )
        )
    header = ["samples x N x T", "jobs", "what", "predicted", "measured", "ratio", "carried"]
    return table(header, rows)
