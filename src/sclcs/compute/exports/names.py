"""File names of exported matrices: BIDS labels that cannot collide or leave their folder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd

from sclcs.core.identity import text_digest
from sclcs.spi.catalogue import our_operators
from sclcs.spi.own_operators import own_operators

__all__ = ["SampleName", "bids_labels", "measure_label", "sample_names"]

_OTHER = re.compile(r"[^A-Za-z0-9]")
_HASH_DIGITS = 8
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


def bids_labels(texts: Iterable[object]) -> dict[str, str]:
    """Turn names into labels of letters and digits only, a different one for each.

    Parameters
    ----------
    texts : iterable
        Names as they are in the cohort, repeated or not.

    Returns
    -------
    dict of str to str
        By name. Where leaving characters out would make two names alike (upper and lower case
        counting as the same), nothing would be left, or a name is very long, the label keeps a
        hash of the name.

    Examples
    --------
    >>> bids_labels(["sub-01", "NYU_0051"])
    {'sub-01': '01', 'NYU_0051': 'NYU0051'}
    >>> len(set(bids_labels(["a-b", "a_b", "../ab"]).values()))
    3
    """
    names = dict.fromkeys(str(text) for text in texts)
    plain = {name: _OTHER.sub("", name.removeprefix("sub-").removeprefix("ses-")) for name in names}
    often = Counter(label.casefold() for label in plain.values())
    return {
        name: label
        if often[label.casefold()] == 1 and 0 < len(label) <= LONGEST_LABEL
        else f"{label[:LONGEST_LABEL]}x{text_digest(name, _HASH_DIGITS)}"
        for name, label in plain.items()
    }


@cache
def _measure_labels() -> dict[str, str]:
    return bids_labels(our_operators())


def measure_label(operator: str) -> str:
    """Return the label of an operator, for example ``covEmpiricalCovariance``."""
    ours = _measure_labels()
    return ours[operator] if operator in ours else f"own{bids_labels(own_operators())[operator]}"


def sample_names(samples: pd.DataFrame, *, mean: bool = False) -> list[SampleName]:
    """Name the files of samples by subject, session, task, run and window, as far as known.

    Parameters
    ----------
    samples : DataFrame
        One row of facts per sample.
    mean : bool
        Whether a row is the mean of a subject's samples: its name says so (``desc-mean``).

    Returns
    -------
    list of SampleName
        No two alike, even where upper and lower case are the same.
    """
    known = [(column, key) for column, key in ENTITIES if column in samples]
    labels = {
        column: bids_labels(value for value in samples[column] if not _absent(value))
        for column, _ in known
    }
    names = [
        [
            (key, labels[column][str(row[column])])
            for column, key in known
            if not _absent(row[column])
        ]
        for row in samples.to_dict(orient="records")
    ]
    return [
        _name([*entities, ("desc", "mean")] if mean else entities, identifier, alone)
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


def _undescribed(entities: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(key, label) for key, label in entities if key != "desc"]


def _name(entities: list[tuple[str, str]], identifier: object, alone: bool) -> SampleName:
    stem = (
        _joined(entities)
        if alone
        else f"{_joined(_undescribed(entities))}_desc-x{text_digest(str(identifier), _HASH_DIGITS)}"
    )
    folders = [f"{key}-{label}" for key, label in entities if key in {"sub", "ses"}]
    return SampleName("/".join([*folders, "func"]), stem)
