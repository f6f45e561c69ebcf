"""What operators cost by themselves and beside others of their family.

The rows live in ``tables/operator_costs.csv``; ``tools/make_operator_costs.py`` measures
them. A table that ships, not a measurement of the day, so that a budget given as a share of the
full cost buys the same operators on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import pandas as pd

from sclcs.spi.catalogue import catalogue
from sclcs.spi.cost_laws import REFERENCE_REGIONS, REFERENCE_TIMEPOINTS, cost_law

__all__ = ["OperatorCost", "operator_cost", "operator_costs", "seconds_per_sample"]


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
