"""What a very large cohort would cost, from the measured laws of the package."""

from __future__ import annotations

from markdown_table import table

from sclcs.benchmark.memory import ranking_bytes
from sclcs.spi import resolve
from sclcs.spi.catalogue import operator_facts
from sclcs.spi.cost_laws import cost_law
from sclcs.spi.fc_layout import block_size_for, blocks_per_shard_for
from sclcs.spi.runner import family_members

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
    block = block_size_for(regions)
    cpu = samples * sum(per_sample.values()) / HOUR
    longest = block * max(per_sample.values()) / HOUR
    names = [name for family in members.values() for name in family]
    halves = sum(1 if operator_facts()[name].symmetric else 2 for name in names)
    disk = samples * regions * (regions - 1) / 2 * 4 * halves / TERABYTE
    shard = block * blocks_per_shard_for(samples, regions, block)
    files = len(names) + -(-samples // shard) * (len(names) + len(members))
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
