"""The version of rankings.

Raised by whoever makes :func:`sclcs.stats.rank` give other numbers from the same matrices
(pairs, draws, intervals, ties). A score whose formula changes raises its own version.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    SCORE_DECIMALS,
    SINGLE_PRECISION,
    InputError,
    UnreadableFileError,
    card,
    checked,
    guard_cell,
    read_sidecar,
    read_text_input,
    require_existing,
    sidecar_path,
    unguard_cell,
    write_with_sidecar,
)

__all__ = [
    "COLUMNS",
    "RANKING_VERSION",
    "Ranking",
    "descending_ranks",
    "entries",
    "equivalence_groups",
    "share_scores",
]


RANKING_VERSION = 9


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def descending_ranks(scores: Floats) -> Floats:
    """Rank along the first axis, 1 for the highest score, ties averaged.

    Parameters
    ----------
    scores : array, shape (operator,) or (operator, draw)
        Rounded to 1e-9 first. Operators without a score (NaN) are jointly last.

    Returns
    -------
    array
        Of the same shape.
    """
    from scipy.stats import rankdata

    rounded = np.round(scores, SCORE_DECIMALS)
    rounded = np.where(np.isnan(rounded), -np.inf, rounded)
    return np.asarray(rankdata(-rounded, axis=0), dtype=np.float64)


def equivalence_groups(operators: Sequence[str]) -> list[str]:
    """Name the group of operators that order the entries of every matrix in the same way.

    Parameters
    ----------
    operators : sequence of str

    Returns
    -------
    list of str
        The catalogue's group where at least two of the operators belong to it, else empty.
    """
    from sclcs.spi import catalogue

    groups = catalogue()["rank_group"].to_dict()
    named = [str(groups.get(name, "")) for name in operators]
    return [group if named.count(group) > 1 else "" for group in named]


def entries(groups: Sequence[str], scores: Floats) -> Integers:
    """Give the distinct entries of a ranking numbers: equivalent operators that tie are one.

    Parameters
    ----------
    groups : sequence of str
        From :func:`equivalence_groups`.
    scores : array, shape (operator,)
        After :func:`share_scores`; members of a group that differ for real stay apart.

    Returns
    -------
    array of int, shape (operator,)
        From 0, in the order of the operators.
    """
    numbers: dict[object, int] = {}
    keys: list[object] = [
        (group, round(float(score), SCORE_DECIMALS)) if group and np.isfinite(score) else place
        for place, (group, score) in enumerate(zip(groups, scores, strict=True))
    ]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def share_scores(scores: Floats, groups: Sequence[str]) -> Floats:
    """Give the operators of a group one score, if theirs differ by rounding only.

    Equivalent operators have the same ranks inside every matrix until the matrices are
    rounded to single precision, which ties some entries of one operator and not of another.

    Parameters
    ----------
    scores : array, shape (operator,) or (operator, draw)
    groups : sequence of str
        The group of each operator; empty for none.

    Returns
    -------
    array
        Of the same shape.
    """
    shared = np.array(scores, dtype=np.float64)
    names = np.asarray(groups, dtype=object)
    scored = np.isfinite(shared).reshape(len(names), -1).any(axis=1)
    for name in dict.fromkeys(group for group in groups if group):
        members = np.flatnonzero((names == name) & scored)
        if len(members) < 2:
            continue
        values = shared[members]
        mean = values.mean(axis=0)
        close = np.ptp(values, axis=0) <= SINGLE_PRECISION * np.maximum(1.0, np.abs(mean))
        shared[members] = np.where(close, mean, values)
    return shared


KIND = "ranking"
SHOWN = 10  # operators in a notebook
COLUMNS = (
    "spi",
    "name",
    "score",
    "low",
    "high",
    "rank",
    "rank_low",
    "rank_high",
    "p",
    "best_set",
    "equivalents",
    "source",
    "n_samples",
    "status",
    "reason",
    "rank_group",
    "p_single",
    "best_p",
    "scatter",
    "scatter_p",
    "scatter_class",
)
_TEXT = (
    "spi",
    "name",
    "equivalents",
    "source",
    "status",
    "reason",
    "rank_group",
    "scatter_class",
)


class Ranking:
    """Operators in the order of their score.

    Parameters
    ----------
    table : DataFrame
        One row per operator, best first: ``spi`` and its ``name``; ``score`` with its interval
        ``low`` to ``high``; ``rank`` (1 is best; equivalent operators count as one) with its
        interval ``rank_low`` to ``rank_high``; ``p``, the family-wise p of seeing the target at
        all (``p_single`` without the correction); ``best_set``, whether the data cannot tell it
        from the best (``best_p`` is the p of that); ``equivalents``, other operators with the
        same score by construction, with blanks between them; ``source`` of the score (exact,
        estimated or core-set); ``n_samples`` that were used; ``status`` (ok, not-finite, constant,
        undefined) with the ``reason``; ``rank_group``, the operators that rank alike by
        construction; for labels ``scatter``, the variance of the most scattered class
        (``scatter_class``) by that of the least, with its family-wise p ``scatter_p``.
        Operators without a score are listed last and have no rank.
    task, score : str
        What was asked, and how it was scored.
    coreset : mapping, optional
        Method, size and seed of the core-set; None for all samples.
    provenance : mapping, optional
        Everything needed to make the ranking again. JSON values only.
    findings : mapping, optional
        What may be said about all operators together, see
        :func:`sclcs.stats.findings.find`. JSON values only.

    Examples
    --------
    >>> cohort = sclcs.simulate_cohort(8, 2, 5, length=40, stride=40, seed=1)
    >>> found = sclcs.stats.rank(cohort, "subject", ["kendalltau", "pec"], permutations=0)
    >>> best = found.table.sort_values("score", ascending=False).iloc[0]
    >>> int(best["rank"])
    1
    """

    @checked
    def __init__(  # noqa: PLR0917 - the fields of a record
        self,
        table: pd.DataFrame,
        task: str,
        score: str,
        coreset: Mapping[str, Any] | None = None,
        provenance: Mapping[str, Any] | None = None,
        findings: Mapping[str, Any] | None = None,
    ) -> None:
        missing = [name for name in COLUMNS if name not in table.columns]
        if missing:
            raise InputError(f"A ranking needs the columns {COLUMNS}; {missing} are not there.")
        order = table["rank"].rank(method="min", na_option="bottom")
        self.table = (
            table.assign(_order=order)
            .sort_values(["_order", "spi"], kind="stable")
            .drop(columns="_order")
            .reset_index(drop=True)[list(COLUMNS)]
        )
        self.task = task
        self.score = score
        self.coreset = None if coreset is None else dict(coreset)
        self.provenance = dict(provenance or {})
        self.findings = dict(findings or {})

    def __repr__(self) -> str:
        where = "all samples" if self.coreset is None else f"{self.coreset['samples']} samples"
        order = ", order only" if self.ranks_only else ""
        return f"Ranking({len(self)} operators, task {self.task!r}, {self.score}, {where}{order})"

    def _repr_html_(self) -> str:
        from sclcs.stats.verdict import entry_name

        where = "all samples" if self.coreset is None else f"{self.coreset['samples']} samples"
        header = ["rank", "operator", "score", "low", "high", "best set"]
        rows = [
            (row["rank"], entry_name(row), row["score"], row["low"], row["high"], row["best_set"])
            for row in self.groups.head(SHOWN).to_dict(orient="records")
        ]
        facts = {"task": self.task, "score": self.score, "on": where}
        said = self.answer if self.findings else []
        return card(f"Ranking of {len(self)} operators", facts, header, rows, said)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def scores(self) -> pd.Series:
        """The scores by operator; NaN for those without."""
        return self.table.set_index("spi")["score"]

    @property
    def best(self) -> str:
        """The operator with the highest score, under the name people know best."""
        self.expect_scores()
        return str(self.groups["spi"].iloc[0])

    def plot(self, **options: Any) -> Any:  # noqa: ANN401 - matplotlib's axes
        """Draw the best operators with their intervals, see :func:`sclcs.plot.ranking`."""
        import sclcs  # pictures are a room further on

        return sclcs.plot.ranking(self, **options)

    def expect_scores(self) -> None:
        """Raise if no operator has a score; the reason says which set is degenerate."""
        if not self.table["score"].notna().any():
            reasons = self.table["reason"].tolist()
            raise InputError(f"No operator can be ranked. {''.join(reasons[:1])}".strip())

    @property
    def ranks_only(self) -> bool:
        """Whether scores and intervals are no effects, because the choice of samples enlarged them.

        So it is on a core-set that was chosen by labels and connectivity together (by a
        classifier): it says something about the order of operators, and nothing about the size of
        effects.
        """
        return self.coreset is not None and bool(self.coreset.get("follows_target"))

    @property
    def groups(self) -> pd.DataFrame:
        """The table with equivalent operators as one row, under the name people know best.

        The column ``also`` lists the other operators of the row.
        """
        from sclcs.spi import KNOWN_BEST

        table, unknown = self.table, len(KNOWN_BEST)
        groups: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for row, (spi, alike) in enumerate(zip(table["spi"], table["equivalents"], strict=True)):
            known = KNOWN_BEST.get(spi, unknown)
            groups.setdefault(tuple(sorted((spi, *alike.split()))), []).append((known, row))
        chosen = [min(rows)[1] for rows in groups.values()]
        found = table.loc[chosen].reset_index(drop=True)
        others = [
            [name for name in names if name != first]
            for names, first in zip(groups, found["spi"], strict=True)
        ]
        found["also"] = pd.Series(others, dtype=object)
        return found

    def naming(self, equivalents: Mapping[str, Sequence[str]]) -> Ranking:
        """Return the ranking with equivalents that were not ranked, because they need not be.

        Parameters
        ----------
        equivalents : mapping of str to sequence of str
            By operator: those that have the same score by construction.

        Returns
        -------
        Ranking
        """
        known = zip(self.table["spi"], self.table["equivalents"], strict=True)
        named = [" ".join(equivalents.get(spi, before.split())) for spi, before in known]
        table = self.table.assign(equivalents=named)
        return Ranking(table, self.task, self.score, self.coreset, self.provenance, self.findings)

    @property
    def best_set(self) -> pd.DataFrame:
        """The answer: the operators that the data cannot tell from the best one.

        Rows of :attr:`groups`, best score first. Empty if subjects were not redrawn.
        """
        groups = self.groups
        return groups[groups["best_set"]].reset_index(drop=True)

    @property
    def answer(self) -> list[str]:
        """What may be said, in sentences; see :func:`sclcs.stats.verdict.sentences`."""
        from sclcs.stats.verdict import sentences

        return sentences(self)

    @checked
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write ``ranking.csv`` and its JSON sidecar; :meth:`open` reads them back.

        Parameters
        ----------
        path : path-like
            A CSV file that does not exist yet; the sidecar is beside it, ending in ``.json``.

        Returns
        -------
        Path
            The CSV file.
        """
        return write_with_sidecar(
            path,
            _guarded(self.table).to_csv(index=False),
            KIND,
            {
                "task": self.task,
                "score": self.score,
                "coreset": self.coreset,
                "findings": self.findings,
                "provenance": self.provenance,
            },
        )

    @classmethod
    @checked
    def open(cls, path: str | os.PathLike[str]) -> Ranking:
        """Read a ranking written by :meth:`save`."""
        path = require_existing(path, "ranking (a CSV file)")
        facts = read_sidecar(path, KIND)
        if facts is None:
            raise UnreadableFileError(
                f"Expected the sidecar {sidecar_path(path)} beside {path}, but it is not there; "
                "keep the two files together."
            )
        try:
            names = ("task", "score", "coreset", "provenance", "findings")
            return cls(_read_table(path), *(facts[name] for name in names))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise UnreadableFileError(
                f"Expected a ranking at {path}, but it cannot be read ({error}); make it again."
            ) from error


def _guarded(table: pd.DataFrame) -> pd.DataFrame:
    """Mark texts that a spreadsheet would take for formulas: names of classes are the user's."""
    texts = {name: [guard_cell(cell) for cell in table[name]] for name in _TEXT}
    return table.assign(**texts)


def _read_table(path: Path) -> pd.DataFrame:
    """Read the CSV; pandas' own numbers may be off by the last digit, Python's are not."""
    text = io.StringIO(read_text_input(path, "a ranking"))
    table = pd.read_csv(text, dtype=str, keep_default_na=False)
    for name in table.columns:
        if name == "n_samples":
            table[name] = [int(cell) for cell in table[name]]
        elif name == "best_set":
            table[name] = [{"True": True, "False": False}[cell] for cell in table[name]]
        elif name in _TEXT:
            table[name] = [unguard_cell(cell) for cell in table[name]]
        else:
            table[name] = [float(cell) if cell else float("nan") for cell in table[name]]
    return table
