"""Does a core-set look like its cohort: subjects, classes, sites."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from sclcs.benchmark.sources import FCSource
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.cohort.table import class_columns, label_column
from sclcs.core.arguments import checked
from sclcs.core.errors import UnknownNameError, name_first

__all__ = ["balance", "case_and_control"]

CONTROL_NAMES = {"hc", "nc", "control", "controls", "con", "ctrl", "td", "tc", "healthy", "-1", "0"}


@checked
def balance(
    cohort: Cohort | FCSource,
    coreset: CoreSet,
    labels: Sequence[str] | None = None,
    *,
    ratio_of: str = "diagnosis",
    case: str | None = None,
) -> dict[str, Any]:
    """Compare a core-set with its cohort.

    Parameters
    ----------
    cohort : Cohort or FC store
        All samples.
    coreset : CoreSet
    labels : sequence of str, optional
        Label columns; by default every column whose values are classes.
    ratio_of : str
        Column of the class ratio.
    case : str, optional
        The value of `ratio_of` in the numerator of the ratio. By default the one that is
        not a usual name of controls, else the last in order.

    Returns
    -------
    dict
        ``samples``, ``subjects``; ``subject_coverage``, share of the cohort's subjects;
        ``samples_per_subject`` (the paper's S-I balance, over covered subjects);
        ``class_ratio`` (M-H balance; infinite if no control was chosen) and
        ``log_class_ratio``, if `ratio_of` has two values; for each label column
        ``{column}_l1_samples`` and ``{column}_l1_subjects``, the sum over values of the
        absolute difference of the shares in core-set and cohort (0 to 2), and
        ``shares[column]``, the shares themselves.

    Examples
    --------
    >>> from sclcs import CoreSet, simulate_cohort
    >>> cohort = simulate_cohort(8, 2, 4, length=20, seed=1)
    >>> balance(cohort, CoreSet(cohort.sample_ids[:4]))["samples"]
    4
    """
    whole = cohort.samples
    chosen = whole.iloc[coreset.rows(whole.index)]
    columns = class_columns(whole) if labels is None else list(labels)
    for name in columns:
        label_column(whole, name)
    result: dict[str, Any] = {
        "samples": len(chosen),
        "subjects": int(chosen["subject"].nunique()),
        "subject_coverage": chosen["subject"].nunique() / whole["subject"].nunique(),
        "samples_per_subject": len(chosen) / chosen["subject"].nunique(),
    }
    if ratio_of in whole.columns and whole[ratio_of].nunique() == 2:
        result |= _class_ratio(whole[ratio_of], chosen[ratio_of], case)
    shares: dict[str, Any] = {}
    for name in columns:
        table = _share_table(whole, chosen, name)
        result[f"{name}_l1_samples"] = _l1(table, "samples")
        result[f"{name}_l1_subjects"] = _l1(table, "subjects")
        shares[name] = table.to_dict(orient="index")
    return result | {"shares": shares}


def _class_ratio(whole: pd.Series, chosen: pd.Series, case: str | None) -> dict[str, Any]:
    case, control = case_and_control(whole, case)
    cases = int((chosen.astype(str) == case).sum())
    controls = int(chosen.notna().sum()) - cases
    ratio = cases / controls if controls else math.inf
    log_ratio = math.log(ratio) if 0 < ratio < math.inf else math.copysign(math.inf, ratio - 1)
    return {
        "class_ratio": ratio,
        "log_class_ratio": log_ratio,
        "class_ratio_of": f"{case} / {control}",
    }


def case_and_control(labels: pd.Series, case: str | None = None) -> tuple[str, str]:
    """Say which of two classes are the cases: the one that is not a usual name of controls.

    Parameters
    ----------
    labels : Series
        With two different values.
    case : str, optional
        The answer, to be checked.

    Returns
    -------
    tuple of str
        The cases' and the controls' name.
    """
    names = [str(value) for value in sorted(labels.dropna().unique(), key=str)]
    if case is None:
        patients = [name for name in names if name.lower() not in CONTROL_NAMES]
        case = patients[0] if len(patients) == 1 else names[-1]
    if case not in names:
        raise UnknownNameError(f"No sample has the class {case!r}; found {name_first(names)}.")
    return case, next(name for name in names if name != case)


def _share_table(whole: pd.DataFrame, chosen: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the shares of each value, in cohort and core-set, of samples and of subjects."""
    parts = {}
    for where, table in (("cohort", whole), ("coreset", chosen)):
        persons = table.drop_duplicates(["subject", column])
        parts[f"{where}_samples"] = table[column].value_counts(normalize=True)
        parts[f"{where}_subjects"] = persons[column].value_counts(normalize=True)
    shares = pd.DataFrame(parts).fillna(0.0).sort_index()
    shares.index = shares.index.map(str)
    return shares


def _l1(shares: pd.DataFrame, level: str) -> float:
    return float((shares[f"coreset_{level}"] - shares[f"cohort_{level}"]).abs().sum())
