"""The core-set: which samples of a cohort to keep, in what order, and why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    UnknownNameError,
    UnreadableFileError,
    card,
    checked,
    checked_record,
    name_first,
    read_sidecar,
    require_existing,
    unguard_cell,
    versions,
    write_with_sidecar,
)
from sclcs.cohort.storage import earlier_fingerprints
from sclcs.cohort.tables import read_table_file, table_to_csv

if TYPE_CHECKING:
    from sclcs.cohort.cohort import Cohort

KIND = "core-set"
SHOWN = 5  # samples in a notebook

Numbers = Sequence[float] | NDArray[np.float64]


@checked_record
@dataclass(frozen=True, eq=False)
class CoreSet:
    """Samples chosen from a cohort.

    Parameters
    ----------
    sample_ids : sequence of str
        The chosen samples, best first where the method has an order. Unique, not empty.
    method : str
        Name of the selection method.
    parameters : mapping, optional
        Everything the method was given. JSON values only.
    seed : int, optional
        Seed of the draw, if there was one.
    score : sequence of float, optional
        The method's score of each chosen sample.
    weight : sequence of float, optional
        How many samples of the cohort each chosen one stands for; positive. None means
        that all count the same.
    subjects : sequence of str, optional
        The subject of each sample, kept for readers of ``core.csv``.
    fingerprint : str, optional
        :attr:`Cohort.fingerprint` of the cohort the samples were chosen from.

    Examples
    --------
    >>> core = CoreSet(["s3", "s1"], method="random", seed=0)
    >>> len(core)
    2
    """

    sample_ids: Sequence[str]
    method: str = "given"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    score: Numbers | None = None
    weight: Numbers | None = None
    subjects: Sequence[str] | None = None
    fingerprint: str | None = None

    @property
    def follows_target(self) -> bool:
        """Whether it was chosen by labels and connectivity together (by a classifier).

        Operators can be put in order on such a core-set; their scores there are no effects.
        """
        return bool(self.parameters.get("follows_target", False))

    def __post_init__(self) -> None:
        ids = [str(name) for name in self.sample_ids]
        if not ids:
            raise InputError("A core-set needs at least one sample, but it is empty.")
        repeated = pd.Index(ids)[pd.Index(ids).duplicated()].unique()
        if len(repeated):
            raise InputError(
                f"The samples of a core-set must be unique, but these are repeated: "
                f"{name_first(repeated)}; use weights to count a sample more than once."
            )
        if self.subjects is not None and len(self.subjects) != len(ids):
            raise InputError(f"{len(ids)} samples need as many subjects, not {len(self.subjects)}.")
        object.__setattr__(self, "sample_ids", ids)
        object.__setattr__(self, "parameters", dict(self.parameters))
        object.__setattr__(self, "score", _numbers(self.score, len(ids), "score"))
        object.__setattr__(self, "weight", _numbers(self.weight, len(ids), "weight"))
        if self.weight is not None:
            _check_weights(np.asarray(self.weight), ids)

    def __len__(self) -> int:
        return len(self.sample_ids)

    def __repr__(self) -> str:
        weighted = ", weighted" if self.weight is not None else ""
        return f"CoreSet({len(self)} samples, method {self.method!r}{weighted})"

    def _repr_html_(self) -> str:
        about = {"method": self.method, "seed": self.seed, "weighted": self.weight is not None}
        shown = self.table.head(SHOWN)
        more = [f"and {len(self) - SHOWN} more samples"] if len(self) > SHOWN else []
        rows = shown.itertuples(index=False)
        return card(f"Core-set of {len(self)} samples", about, list(shown.columns), rows, more)

    @property
    def table(self) -> pd.DataFrame:
        """The columns of ``core.csv``: sample_id, subject, score, weight."""
        blank = np.full(len(self), np.nan)
        subjects = [None] * len(self) if self.subjects is None else list(self.subjects)
        return pd.DataFrame(
            {
                "sample_id": self.sample_ids,
                "subject": pd.Series(subjects, dtype=object),
                "score": blank if self.score is None else self.score,
                "weight": np.ones(len(self)) if self.weight is None else self.weight,
            }
        )

    def rows(self, known: Iterable[str]) -> NDArray[np.int64]:
        """Return the row number of every sample among the ids of a cohort or store."""
        names = pd.Index(np.array(list(known), dtype=object))
        rows = names.get_indexer(pd.Index(np.array(self.sample_ids, dtype=object)))
        unknown = [name for name, row in zip(self.sample_ids, rows, strict=True) if row < 0]
        if unknown:
            raise UnknownNameError(
                f"Every sample of the core-set must be in the cohort, but {len(unknown)} of "
                f"{len(self)} are not: {name_first(unknown)}; was it chosen from another cohort?"
            )
        return np.asarray(rows, dtype=np.int64)

    def require_cohort(self, fingerprint: str, provenance: Mapping[str, Any]) -> None:
        """Raise if it was chosen from another cohort; labels added since do not matter."""
        known = {fingerprint, *earlier_fingerprints(provenance)}
        if self.fingerprint is None or self.fingerprint in known:
            return
        raise InputError(
            f"The core-set was chosen from another cohort (fingerprint {self.fingerprint[:8]}, "
            f"this one has {fingerprint[:8]}). Choose it again (`sclcs select`); to take its ids "
            "as they are, remove the .json file beside it (Python: CoreSet(core.sample_ids))."
        )

    def bound_to(self, cohort: Cohort) -> CoreSet:
        """Return the core-set with the subjects and the fingerprint of its cohort filled in."""
        rows = self.rows(cohort.sample_ids)
        subjects = [str(subject) for subject in cohort.samples["subject"].iloc[rows]]
        return replace(self, subjects=subjects, fingerprint=cohort.fingerprint)

    @checked
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write ``core.csv`` and its JSON sidecar; :meth:`open` reads them back.

        Parameters
        ----------
        path : path-like
            A CSV file that does not exist yet; the sidecar is beside it, ending in ``.json``.
        """
        about = {
            "method": self.method,
            "parameters": self.parameters,
            "seed": self.seed,
            "samples": len(self),
            "scored": self.score is not None,
            "weighted": self.weight is not None,
            "cohort_fingerprint": self.fingerprint,
            "versions": versions(),
        }
        content = table_to_csv(self.table.set_index("sample_id"), guarded=True)
        return write_with_sidecar(path, content, KIND, about)

    @classmethod
    @checked
    def open(cls, path: str | os.PathLike[str]) -> CoreSet:
        """Read a core-set written by :meth:`save`, or any CSV with a column ``sample_id``."""
        path = require_existing(path, "core-set (a CSV file)")
        about = read_sidecar(path, KIND) or {}
        columns = read_table_file(path)
        if "sample_id" not in columns:
            raise UnreadableFileError(
                f"A core-set needs the column sample_id, but {path} has {name_first(columns, 10)}."
            )
        if about:  # written by us: strings like formulas are marked
            strings = [name for name in ("sample_id", "subject") if name in columns]
            columns |= {name: [unguard_cell(cell) for cell in columns[name]] for name in strings}
        return cls(
            columns["sample_id"],
            method=str(about.get("method", "given")),
            parameters=about.get("parameters", {}),
            seed=about.get("seed"),
            score=_column(path, columns, "score") if about.get("scored", True) else None,
            weight=_column(path, columns, "weight") if about.get("weighted", True) else None,
            subjects=columns.get("subject"),
            fingerprint=about.get("cohort_fingerprint"),
        )


def _numbers(values: Numbers | None, expected: int, name: str) -> NDArray[np.float64] | None:
    if values is None:
        return None
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Expected numbers for {name} of a core-set: {error}.") from error
    if numbers.shape != (expected,):
        raise InputError(
            f"{expected} samples need as many values of {name}, got shape {numbers.shape}."
        )
    return numbers


def _check_weights(weights: NDArray[np.float64], ids: Sequence[str]) -> None:
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(bad):
        offenders = name_first(f"{ids[i]} ({weights[i]:g})" for i in bad.tolist())
        raise InputError(
            f"Weights must be finite and positive, but found {offenders}; "
            "leave samples without weight out of the core-set."
        )


def _column(path: Path, columns: Mapping[str, list[str]], name: str) -> list[float] | None:
    cells = columns.get(name, [])
    if not any(cells):
        return None
    try:
        return [float(cell) if cell else float("nan") for cell in cells]
    except ValueError as error:
        raise UnreadableFileError(f"The column {name} of {path} must hold numbers: {error}.") from (
            error
        )
