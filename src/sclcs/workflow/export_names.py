"""File names of exported matrices: BIDS labels that cannot collide or leave their folder."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd

from sclcs.spi.catalogue import operator_facts

__all__ = ["SampleName", "bids_label", "measure_label", "sample_names"]

_OTHER = re.compile(r"[^A-Za-z0-9]")
_HASH_LENGTH = 8
LONGEST_LABEL = 64
# Columns of the sample table and the entity they become, in the order of BIDS names.
ENTITIES = (
    ("subject", "sub"),
    ("session", "ses"),
    ("task", "task"),
    ("run", "run"),
    ("window", "window"),
)


@dataclass(frozen=True)
class SampleName:
    """Where a sample's matrices go.

    Parameters
    ----------
    folder : str
        Below the root, for example ``sub-01/ses-2/func``.
    stem : str
        Beginning of its file names, for example ``sub-01_ses-2_window-0``.
    """

    folder: str
    stem: str


def bids_label(text: object) -> str:
    """Return a label of letters and digits only; what had to be changed keeps a hash of itself.

    Examples
    --------
    >>> bids_label("NYU0051")
    'NYU0051'
    >>> bids_label("../etc") == bids_label("etc")
    False
    """
    original = str(text)
    original = original.removeprefix("sub-").removeprefix("ses-")
    label = _OTHER.sub("", original)
    if label == original and 0 < len(label) <= LONGEST_LABEL:
        return label
    return f"{label[:LONGEST_LABEL]}x{_digest(str(text))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]


@cache
def _measure_labels() -> dict[str, str]:
    plain = {name: _OTHER.sub("", name) for name in operator_facts()}
    often = Counter(label.casefold() for label in plain.values())
    return {
        name: label if often[label.casefold()] == 1 else f"{label}x{_digest(name)}"
        for name, label in plain.items()
    }


def measure_label(operator: str) -> str:
    """Return the label of an operator, for example ``covEmpiricalCovariance``."""
    return _measure_labels()[operator]


def sample_names(samples: pd.DataFrame) -> list[SampleName]:
    """Name the files of samples by subject, session, task, run and window, as far as known.

    Parameters
    ----------
    samples : DataFrame
        One row of facts per sample.

    Returns
    -------
    list of SampleName
        No two alike, even where upper and lower case are the same.
    """
    known = [(column, key) for column, key in ENTITIES if column in samples]
    names = [
        [(key, bids_label(row[column])) for column, key in known if not _absent(row[column])]
        for row in samples.to_dict(orient="records")
    ]
    return [
        _name(entities, identifier, alone)
        for entities, identifier, alone in zip(
            names, samples.index, _unique([_joined(name) for name in names]), strict=True
        )
    ]


def _absent(value: object) -> bool:
    return value is None or value == "" or bool(pd.isna(value))  # type: ignore[call-overload]


def _unique(stems: Sequence[str]) -> list[bool]:
    often = Counter(stem.casefold() for stem in stems)
    return [often[stem.casefold()] == 1 for stem in stems]


def _joined(entities: Sequence[tuple[str, str]]) -> str:
    return "_".join(f"{key}-{label}" for key, label in entities)


def _name(entities: list[tuple[str, str]], identifier: object, alone: bool) -> SampleName:
    stem = _joined(entities) if alone else f"{_joined(entities)}_desc-x{_digest(str(identifier))}"
    folders = [f"{key}-{label}" for key, label in entities if key in {"sub", "ses"}]
    return SampleName("/".join([*folders, "func"]), stem)
