"""What a very large cohort would cost, from the measured laws of the package."""

from __future__ import annotations

from markdown_table import table

from sclcs.spi import cost_law, family_members, resolve
from sclcs.stats import ranking_bytes
from sclcs.store import block_size_for

CORES = 1000
#: Scans, regions, time points; docs/scale.md says so in words.
COHORTS = {
    "ABIDE-like": (1_000, 100, 200),
    "HCP-like": (4_000, 400, 1200),
    "UK Biobank": (50_000, 400, 490),
}
SETS = ("panel", "paper-fast", "all")
HOUR, TERABYTE = 3600.0, 1e12
DOLLARS = 0.03  # per CPU hour, about what clouds ask for a core of a spot machine


def scale_table() -> str:
    """Return time, disk, files and memory of three cohorts and three sets of operators."""
    rows = [
        (name, spis, *_figures(spis, *shape)) for name, shape in COHORTS.items() for spis in SETS
    ]
    header = ["cohort", "operators", "CPU hours", f"hours on {CORES} cores", "longest task"]
    more = ["disk", "files", "memory of a ranking", f"dollars at {DOLLARS} per CPU hour"]
    return table([*header, *more], rows)


def _figures(spis: str, samples: int, regions: int, timepoints: int) -> tuple[str, ...]:
    members = family_members(resolve(spis))
    per_sample = {
        family: _seconds(family, len(names), regions, timepoints)
        for family, names in members.items()
    }
    blocks = {
        family: min(samples, block_size_for(family, regions, timepoints)) for family in members
    }
    cpu = samples * sum(per_sample.values()) / HOUR
    longest = max(blocks[family] * seconds for family, seconds in per_sample.items()) / HOUR
    disk = samples * regions**2 * 4 * sum(map(len, members.values())) / TERABYTE
    files = len(members) + sum(-(-samples // block) for block in blocks.values())
    memory = ranking_bytes(samples, regions) / 1e9
    return (
        f"{cpu:,.1f}" if cpu < 10 else f"{cpu:,.0f}",
        f"{max(cpu / CORES, longest):,.2f}",
        f"{longest:.1f} h" if longest >= 0.1 else f"{60 * longest:.1f} min",
        f"{disk:,.2f} TB",
        f"{files:,}",
        f"{memory:,.2g} GB",
        f"{cpu * DOLLARS:,.0f}",
    )


def _seconds(family: str, n_members: int, regions: int, timepoints: int) -> float:
    whole = len(family_members(resolve("all"))[family])
    return cost_law(family).seconds_at(regions, timepoints) * n_members / whole
