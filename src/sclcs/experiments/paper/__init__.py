"""The paper's numbers, transcribed from its tables; one CSV per table."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

from sclcs.core.arguments import checked
from sclcs.core.errors import UnknownNameError

__all__ = ["TABLES", "paper_table"]

#: File and the table of the paper that it holds.
TABLES = {
    "main": "the two main tables (fingerprinting, MDD diagnosis), nDCG in percent",
    "labels": "the two tables of the appendix on labels, nDCG in percent",
    "operators": "the table of slow-only and mixture operators, nDCG from 0 to 1",
    "windows": "the table of windows 50/45, nDCG from 0 to 1",
    "balance": "the table of site balance, L1 distance",
    "universal": "the table of Theorem 2, mean squared errors",
    "cost_selectors": "the table of the cost of selection methods, seconds",
    "cost_operators": "the time bins of 266 operators in the text of the appendix on cost",
    "sites": "the summary of the cohort by site",
}


@checked
def paper_table(name: str) -> pd.DataFrame:
    """Read one of the paper's tables.

    Parameters
    ----------
    name : str
        A key of :data:`TABLES`.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> len(paper_table("main"))
    216
    """
    if name not in TABLES:
        raise UnknownNameError(f"Unknown table {name!r}; the known ones are {', '.join(TABLES)}.")
    with (files(__name__) / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)
