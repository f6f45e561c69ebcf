"""How the cost of each family grows: one row per family, measured by a benchmark.

The rows live in ``tables/cost_laws.csv``; ``benchmarks/bench_scaling.py`` writes them.
Seconds differ from machine to machine, exponents hardly do: what a family costs on one size is
measured where it is needed, and carried to other sizes by the law.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import pandas as pd

from sclcs._core import InputError
from sclcs.spi.operators import catalogue

__all__ = [
    "REFERENCE_REGIONS",
    "REFERENCE_TIMEPOINTS",
    "CostLaw",
    "OperatorCost",
    "cost_law",
    "cost_laws",
    "operator_cost",
    "operator_costs",
    "seconds_per_sample",
]


REFERENCE_REGIONS, REFERENCE_TIMEPOINTS = 33, 70


@dataclass(frozen=True)
class CostLaw:
    """Seconds of a family as ``seconds * (N / 33) ** a * (T / 70) ** b``.

    Parameters
    ----------
    family : str
        The family.
    exponent_regions, exponent_timepoints : float
        The exponents a and b.
    seconds : float
        CPU seconds of all its members on one sample of 33 regions and 70 time points, on the
        machine of the benchmark.
    measured : bool
        Whether there is a row for the family, or these are the usual values.
    """

    family: str
    exponent_regions: float
    exponent_timepoints: float
    seconds: float
    measured: bool = True

    def growth(self, start: tuple[int, int], end: tuple[int, int]) -> float:
        """Return by how much the cost grows from one size (regions, time points) to another."""
        if min(*start, *end) < 1:
            raise InputError(
                "Expected sizes (regions, time points) of at least 1, got "
                f"{tuple(start)} and {tuple(end)}."
            )
        regions = (end[0] / start[0]) ** self.exponent_regions
        return float(regions * (end[1] / start[1]) ** self.exponent_timepoints)

    def seconds_at(self, regions: int, timepoints: int) -> float:
        """Return the seconds per sample of that size, on the machine of the benchmark."""
        reference = (REFERENCE_REGIONS, REFERENCE_TIMEPOINTS)
        return self.seconds * self.growth(reference, (regions, timepoints))


@cache
def cost_laws() -> Mapping[str, CostLaw]:
    """Return the laws of all families that the benchmark measured, by family."""
    with (files("sclcs.spi") / "tables" / "cost_laws.csv").open(encoding="utf-8") as stream:
        table = pd.read_csv(stream, index_col="family", dtype={"family": str})
    return MappingProxyType(
        {
            str(family): CostLaw(
                str(family),
                exponent_regions=float(row["exponent_regions"]),
                exponent_timepoints=float(row["exponent_timepoints"]),
                seconds=float(row["seconds"]),
            )
            for family, row in table.iterrows()
        }
    )


def cost_law(family: str) -> CostLaw:
    """Return the law of a family.

    Parameters
    ----------
    family : str
        A family of the catalogue.

    Returns
    -------
    CostLaw
        Of a family that was never measured: pairs of regions, proportional to time, a tenth of
        a second. What it really costs is then known only at the size where it is tried.

    Examples
    --------
    >>> law = cost_law("kendall")
    >>> round(law.growth((33, 70), (33, 70)), 3)
    1.0
    """
    return cost_laws().get(family, CostLaw(family, 2.0, 1.0, 0.1, measured=False))


@dataclass(frozen=True)
class OperatorCost:
    """CPU seconds on one sample.

    Parameters
    ----------
    family : str
        Operators of one family share intermediate results.
    alone : float
        If no other operator of its family is computed with it.
    own : float
        What it adds if others of its family are computed with it.
    """

    family: str
    alone: float
    own: float


@cache
def operator_costs() -> Mapping[str, OperatorCost]:
    """Return the table: all operators on a sample of 33 regions and 70 time points."""
    with (files("sclcs.spi") / "tables" / "operator_costs.csv").open(encoding="utf-8") as stream:
        table = pd.read_csv(stream, index_col="identifier")
    families = catalogue()["family"].to_dict()
    return MappingProxyType(
        {
            str(name): OperatorCost(str(families[name]), float(row["alone"]), float(row["own"]))
            for name, row in table.iterrows()
            if name in families
        }
    )


def operator_cost(name: str, regions: int, timepoints: int) -> OperatorCost:
    """Return what an operator costs on one sample of some size.

    Parameters
    ----------
    name : str
        Of the catalogue, or the user's own, which is taken for as expensive as its family.
    regions, timepoints : int

    Returns
    -------
    OperatorCost
        On the machine of the table.
    """
    known = operator_costs().get(name)
    if known is None:
        family = str(catalogue()["family"].to_dict().get(name, name))
        seconds = cost_law(family).seconds
        known = OperatorCost(family, seconds, seconds)
    start = (REFERENCE_REGIONS, REFERENCE_TIMEPOINTS)
    growth = cost_law(known.family).growth(start, (regions, timepoints))
    return OperatorCost(known.family, known.alone * growth, known.own * growth)


def seconds_per_sample(costs: Iterable[OperatorCost]) -> float:
    """Return what operators cost together: what families share counts once.

    Examples
    --------
    >>> one = OperatorCost("a", alone=3.0, own=1.0)
    >>> seconds_per_sample([one, one, OperatorCost("b", alone=5.0, own=5.0)])
    9.0
    """
    shared: dict[str, float] = {}
    own = 0.0
    for cost in costs:
        own += cost.own
        shared[cost.family] = max(shared.get(cost.family, 0.0), cost.alone - cost.own)
    return own + sum(shared.values())
