"""Targets: what a question is about. A person, a label, or a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from sclcs.cohort.table import label_column
from sclcs.core.errors import InputError

__all__ = ["KINDS", "Kind", "Target", "find_target"]

Kind = Literal["subject", "classes", "number"]
KINDS: tuple[Kind, ...] = ("subject", "classes", "number")
FEW_VALUES = 10  # numbers with more different values are quantities, not codes of classes
FEWEST_PER_CLASS = 5  # subjects per value, on average, below which values are not classes


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


def find_target(
    samples: pd.DataFrame,
    target: str | Target,
    treat_as: Literal["number", "classes"] | None = None,
) -> Target:
    """Return the target of a name; whether it is a label or a number is told by the column.

    Text is a label. Numbers are a quantity if there are more than ten different ones, and a
    label if there are two; in between the user is asked.

    Parameters
    ----------
    samples : DataFrame
        The facts of the samples.
    target : str or Target
        ``"subject"`` or the name of a column.
    treat_as : {"number", "classes"}, optional
        Settles it.

    Returns
    -------
    Target
    """
    if isinstance(target, Target):
        target.values(samples)
        return target
    if treat_as not in {None, "number", "classes"}:
        raise InputError(f"A column is treated as number or as classes, not as {treat_as!r}.")
    if target == "subject":
        return Target("subject", "subject")
    column = label_column(samples, target)
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    numeric = numeric and not pd.api.types.is_bool_dtype(column.dtype)
    if treat_as == "number" and not numeric:
        raise InputError(
            f"{target} cannot be a number: it holds text such as {_first_text(column)!r}; leave "
            "the treatment out, or give a column of numbers."
        )
    if not numeric:
        return Target(target, "classes")
    if treat_as == "classes":
        return _numeric_classes(target, column, samples["subject"])
    return Target(target, treat_as or _usual_kind(target, column))


def _first_text(column: pd.Series) -> str:
    known = column.dropna()
    return str(known.iloc[0]) if len(known) else ""


def _usual_kind(name: str, column: pd.Series) -> Kind:
    distinct = int(column.nunique())
    if distinct > FEW_VALUES:
        return "number"
    if distinct <= 2:
        return "classes"
    raise InputError(
        f"{name} has {distinct} different numbers ({_some_values(column)}): it may be a quantity "
        "or a code of classes. Say which: --as number or --as classes (in Python treat_as=)."
    )


def _numeric_classes(name: str, column: pd.Series, subjects: pd.Series) -> Target:
    distinct, n_subjects = int(column.nunique()), int(subjects[column.notna()].nunique())
    if distinct > FEW_VALUES and n_subjects < FEWEST_PER_CLASS * distinct:
        raise InputError(
            f"{name} has {distinct} different numbers on {n_subjects} subjects "
            f"({_some_values(column)}), too many to be classes. Use it as a quantity with "
            "--as number, or make groups of it first (`sclcs cohort label`) and use --as classes."
        )
    return Target(name, "classes")


def _some_values(column: pd.Series) -> str:
    values = sorted(column.dropna().unique())
    shown = [f"{value:g}" for value in (values if len(values) <= 4 else [*values[:2], values[-1]])]
    return ", ".join(shown) if len(values) <= 4 else f"{shown[0]}, {shown[1]}, ..., {shown[2]}"
