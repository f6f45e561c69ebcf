"""Targets: what a question is about. A person, a label, or a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import pandas as pd

from sclcs.cohort.table import FEW_VALUES, NEVER_QUANTITIES, label_column
from sclcs.core.arguments import checked_methods, checked_record
from sclcs.core.errors import InputError

__all__ = ["KINDS", "Kind", "Target", "TreatAs", "column_kind", "find_target", "treatment_of"]

Kind = Literal["subject", "classes", "number"]
KINDS: tuple[Kind, ...] = ("subject", "classes", "number")
Treatment = Literal["number", "classes"]
#: How columns of numbers are treated: ``"number"``, ``"age=number"``, several, or a mapping.
TreatAs = str | Sequence[str] | Mapping[str, str] | None
FEWEST_PER_CLASS = 5  # subjects per value, on average, below which values are not classes


@checked_methods
@checked_record
@dataclass(frozen=True)
class Target:
    """What an operator is asked to see.

    Parameters
    ----------
    name : str
        ``"subject"``, or a column of the samples.
    kind : {"subject", "classes", "number"}
        Fingerprinting; a label such as a diagnosis; or a quantity such as age.

    Examples
    --------
    >>> Target("age", "number")
    Target(name='age', kind='number')
    """

    name: str
    kind: Kind

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"A target is one of {', '.join(KINDS)}, not {self.kind!r}.")

    def values(self, samples: pd.DataFrame) -> pd.Series:
        """Return the target of every sample; missing where it is unknown."""
        if self.kind == "subject":
            return samples["subject"]
        column = label_column(samples, self.name)
        return pd.to_numeric(column) if self.kind == "number" else column.map(_text)

    def facts(self) -> dict[str, object]:
        """Return the target as JSON values."""
        return {"name": self.name, "kind": self.kind}


def _text(value: object) -> str | None:
    if value is None or value != value:  # noqa: PLR0124 - NaN is the only value unlike itself
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def treatment_of(name: str, treat_as: TreatAs) -> Treatment | None:
    """Return how the user wants a column to be treated; None if nothing was said.

    Parameters
    ----------
    name : str
        The column.
    treat_as : str, sequence of str, mapping or None
        ``"number"`` or ``"classes"`` for every column asked for; ``"age=number"`` (or a mapping)
        for one of them, which goes before.

    Returns
    -------
    {"number", "classes"} or None

    Examples
    --------
    >>> treatment_of("age", ["classes", "age=number"])
    'number'
    """
    if treat_as is None:
        return None
    parts: list[str]
    if isinstance(treat_as, Mapping):
        parts = [f"{column}={kind}" for column, kind in treat_as.items()]
    else:
        given = [treat_as] if isinstance(treat_as, str) else treat_as
        parts = [part.strip() for text in given for part in text.split(",") if part.strip()]
    found: Treatment | None = None
    for part in sorted(parts, key=lambda text: "=" in text):  # what names the column goes last
        column, _, kind = part.rpartition("=")
        if kind not in {"number", "classes"}:
            raise InputError(
                f"A column is treated as number or as classes, not as {kind!r}: --as number, or "
                "--as COLUMN=number for one of several."
            )
        if column.strip() in {"", name}:
            found = cast("Treatment", kind)
    return found


def find_target(samples: pd.DataFrame, target: str | Target, treat_as: TreatAs = None) -> Target:
    """Return the target of a name; whether it is a label or a number is told by the column.

    Text is a label. Numbers are a quantity if there are more than ten different ones or if they
    have decimals, and a label if there are two; in between the user is asked. A site is a
    label, whatever its code.

    Parameters
    ----------
    samples : DataFrame
        The facts of the samples.
    target : str or Target
        ``"subject"`` or the name of a column.
    treat_as : str, sequence of str or mapping, optional
        Settles it: ``"number"``, ``"classes"``, or ``"age=number"``.

    Returns
    -------
    Target
    """
    if isinstance(target, Target):
        target.values(samples)
        return target
    if target == "subject":
        return Target("subject", "subject")
    column = label_column(samples, target)
    kind = column_kind(column, target, treat_as)
    if kind == "classes" and treatment_of(target, treat_as) == "classes":
        _refuse_many_classes(target, column, samples["subject"])
    return Target(target, kind)


def column_kind(column: pd.Series, name: str, treat_as: TreatAs = None) -> Treatment:
    """Say whether a column holds classes or numbers; ask where it does not tell.

    Parameters
    ----------
    column : Series
    name : str
        As the user named it.
    treat_as : str, sequence of str or mapping, optional
        What the user said, see :func:`treatment_of`.

    Returns
    -------
    {"number", "classes"}
    """
    wanted = treatment_of(name, treat_as)
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    numeric = numeric and not pd.api.types.is_bool_dtype(column.dtype)
    if wanted == "number" and not numeric:
        raise InputError(
            f"{name} cannot be a number: it holds text such as {_first_text(column)!r}; leave "
            "the treatment out (or say --as COLUMN=number of the column that is meant), or give "
            "a column of numbers."
        )
    if not numeric:
        return "classes"
    return wanted or _usual_kind(name, column)


def _first_text(column: pd.Series) -> str:
    known = column.dropna()
    return str(known.iloc[0]) if len(known) else ""


def _usual_kind(name: str, column: pd.Series) -> Treatment:
    known = column.dropna().to_numpy(dtype=np.float64)
    distinct = len(np.unique(known))
    if distinct <= 2 or name in NEVER_QUANTITIES:
        return "classes"
    if distinct > FEW_VALUES or (known != np.round(known)).any():
        return "number"
    raise InputError(
        f"{name} has {distinct} different numbers ({_some_values(column)}): it may be a quantity "
        f"or a code of classes. Say which: --as {name}=number or --as {name}=classes (in Python "
        "treat_as=)."
    )


def _refuse_many_classes(name: str, column: pd.Series, subjects: pd.Series) -> None:
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return
    distinct, n_subjects = int(column.nunique()), int(subjects[column.notna()].nunique())
    if distinct > FEW_VALUES and n_subjects < FEWEST_PER_CLASS * distinct:
        raise InputError(
            f"{name} has {distinct} different numbers on {n_subjects} subjects "
            f"({_some_values(column)}), too many to be classes. Use it as a quantity with "
            "--as number, or make groups of it first (`sclcs cohort label`) and use --as classes."
        )


def _some_values(column: pd.Series) -> str:
    values = sorted(column.dropna().unique())
    shown = [f"{value:g}" for value in (values if len(values) <= 4 else [*values[:2], values[-1]])]
    return ", ".join(shown) if len(values) <= 4 else f"{shown[0]}, {shown[1]}, ..., {shown[2]}"
