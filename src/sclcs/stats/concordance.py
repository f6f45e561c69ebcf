"""How well two rankings, or two core-sets, agree, and how a core-set stands for its cohort."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sclcs._core import (
    SCORE_DECIMALS,
    InputError,
    UnknownNameError,
    checked,
    name_first,
    read_text_input,
    require_existing,
)
from sclcs.cohort import Cohort, CoreSet, class_columns, label_column
from sclcs.stats.ranking_table import Ranking, descending_ranks
from sclcs.stats.sources import FCSource

__all__ = [
    "GAINS",
    "Gain",
    "agreement",
    "balance",
    "case_and_control",
    "compare",
    "consistency",
    "gains",
    "ndcg",
    "regret",
    "score_scale",
]


Gain = Literal["minmax", "raw", "rank", "exp"]
GAINS = ("minmax", "raw", "rank", "exp")
Floats = NDArray[np.float64]


@checked
def consistency(
    reference: Ranking | pd.Series,
    other: Ranking | pd.Series,
    k: Sequence[int] = (5, 10, 20),
    gain: Gain = "minmax",
) -> dict[str, float]:
    """Compare a ranking with a reference.

    Parameters
    ----------
    reference, other : Ranking or Series of scores by operator
        Operators without a score in the reference are left out; operators without one in
        the other ranking are put last there, jointly tied.
    k : sequence of int
        Cut-offs of nDCG and overlap.
    gain : {"minmax", "raw", "rank", "exp"}
        What finding an operator is worth, see :func:`gains`.

    Returns
    -------
    dict
        ``ndcg@k``: normalised discounted cumulative gain, ties averaged; ``overlap@k``:
        shared part of the two top k; ``kendall`` (tau-b) and ``spearman`` over all
        operators; ``operators``: how many were compared. All are NaN if the other ranking
        has no score at all.

    Examples
    --------
    >>> full = pd.Series({"a": 3.0, "b": 2.0, "c": 1.0})
    >>> consistency(full, full, k=[2])["ndcg@2"]
    1.0
    """
    first, second = _scores(reference), _scores(other)
    first = first[first.notna()]
    if first.empty:
        raise InputError("The reference ranking has no operator with a score; rank again.")
    if not set(first.index) & set(second.index):
        raise InputError(
            "The two rankings have no operator in common; compare rankings of one set."
        )
    matched = second.reindex(first.index).to_numpy(dtype=np.float64)
    return agreement(first.to_numpy(dtype=np.float64), matched, k, gain)


def _scores(ranking: Ranking | pd.Series) -> pd.Series:
    scores = ranking.scores if isinstance(ranking, Ranking) else ranking
    if scores.index.has_duplicates:
        raise InputError("A ranking must list every operator once.")
    return scores


Compared = Ranking | CoreSet | pd.Series | str | os.PathLike[str]


@checked
def compare(
    reference: Compared, other: Compared, *, k: Sequence[int] = (5, 10, 20), gain: Gain = "minmax"
) -> dict[str, float]:
    """Compare two rankings of operators, or two core-sets.

    Parameters
    ----------
    reference, other : Ranking, CoreSet, Series of scores by operator, or path
        Two rankings or two core-sets; a path is a file written by their ``save``.
    k : sequence of int
        Cut-offs of nDCG and overlap of rankings.
    gain : {"minmax", "raw", "rank", "exp"}
        What finding an operator is worth: the reference score scaled from the worst (0) to the
        best (1), as it is, the rank, or exponential.

    Returns
    -------
    dict
        Of rankings, see :func:`consistency`: ``ndcg@k``, ``overlap@k``, ``kendall``,
        ``spearman``, ``operators``. Of core-sets: ``shared`` samples, ``jaccard`` (shared by all
        that either holds), ``subjects_jaccard``, and ``spearman`` of the scores of the shared
        samples; NaN where subjects or scores are not known.

    Examples
    --------
    >>> full = pd.Series({"a": 3.0, "b": 2.0, "c": 1.0})
    >>> compare(full, full[::-1])["kendall"]
    1.0
    """
    first, second = _opened(reference), _opened(other)
    if isinstance(first, CoreSet) and isinstance(second, CoreSet):
        return _core_sets(first, second)
    if isinstance(first, CoreSet) or isinstance(second, CoreSet):
        raise InputError("Expected two rankings or two core-sets, got one of each.")
    if isinstance(first, Ranking) and isinstance(second, Ranking):
        asked = [(one.task, one.score) for one in (first, second)]
        if asked[0] != asked[1]:
            raise InputError(
                "Expected two rankings of one task and score, but "
                + " and ".join(
                    f"the {o} is {task} by {score}"
                    for o, (task, score) in zip(("first", "second"), asked, strict=True)
                )
                + "; rank both alike."
            )
    return consistency(first, second, k, gain)


def _opened(given: Compared) -> Ranking | CoreSet | pd.Series:
    """Open what is given as a path, by its header."""
    if not isinstance(given, str | os.PathLike):
        return given
    path = require_existing(given, "ranking or core-set (a CSV file)")
    header = read_text_input(path, "a ranking or a core-set").partition("\n")[0]
    return CoreSet.open(path) if "sample_id" in header else Ranking.open(path)


def _core_sets(first: CoreSet, second: CoreSet) -> dict[str, float]:
    from scipy.stats import spearmanr

    tables = [one.table.set_index("sample_id") for one in (first, second)]
    shared = tables[0].index.intersection(tables[1].index)
    scores = [table.loc[shared, "score"].to_numpy(dtype=np.float64) for table in tables]
    varied = len(shared) > 2 and all(np.ptp(values) > 0 for values in scores)  # not if NaN
    subjects = [set(one.subjects or ()) for one in (first, second)]
    known = all(subjects)
    return {
        "shared": float(len(shared)),
        "jaccard": len(shared) / len(tables[0].index.union(tables[1].index)),
        "subjects_jaccard": len(subjects[0] & subjects[1]) / len(subjects[0] | subjects[1])
        if known
        else math.nan,
        "spearman": float(spearmanr(*scores).statistic) if varied else math.nan,
    }


def agreement(
    reference: Floats, other: Floats, k: Sequence[int] = (5, 10, 20), gain: Gain = "minmax"
) -> dict[str, float]:
    """Compare two arrays of scores of the same operators; see :func:`consistency`."""
    from scipy.stats import kendalltau

    first, second = descending_ranks(reference), descending_ranks(other)
    defined = bool(np.isfinite(other).any())
    worth = gains(reference, gain)
    result = {f"ndcg@{cut}": ndcg(worth, other, cut) for cut in k}
    varied = defined and np.ptp(first) > 0 and np.ptp(second) > 0
    result["kendall"] = float(kendalltau(first, second).statistic) if varied else float("nan")
    result["spearman"] = float(np.corrcoef(first, second)[0, 1]) if varied else float("nan")
    for cut in k:
        result[f"overlap@{cut}"] = _overlap(first, second, cut) if defined else float("nan")
    result["operators"] = float(len(reference))
    return result


def gains(scores: ArrayLike, gain: Gain = "minmax", levels: float = 5.0) -> Floats:
    """Turn reference scores into gains, none negative.

    Parameters
    ----------
    scores : array_like, shape (operator,)
        Finite.
    gain : {"minmax", "raw", "rank", "exp"}
        ``minmax``: the score between the worst (0) and the best (1); ``raw``: the score,
        0 if negative; ``rank``: 1 for the best to 0 for the last, evenly; ``exp``:
        2 to the power of `levels` times minmax, minus 1.
    levels : float
        Steepness of ``exp``.

    Returns
    -------
    array
    """
    values: Floats = np.asarray(np.round(np.asarray(scores, dtype=np.float64), SCORE_DECIMALS))
    if gain == "raw":
        return np.maximum(values, 0.0)
    if gain == "rank":
        return (len(values) - descending_ranks(values)) / max(len(values) - 1, 1)
    if gain not in GAINS:
        raise InputError(f"gain must be one of {', '.join(GAINS)}, not {gain!r}.")
    span = float(np.ptp(values))
    relative = (values - values.min()) / span if span > 0 else np.zeros_like(values)
    return relative if gain == "minmax" else np.exp2(levels * relative) - 1.0


def ndcg(worth: ArrayLike, scores: ArrayLike, k: int) -> float:
    """Return the normalised discounted cumulative gain at k, averaged over ties.

    The same number as scikit-learn's ``ndcg_score([worth], [scores], k=k)``.

    Parameters
    ----------
    worth : array_like, shape (operator,)
        Gains, none negative.
    scores : array_like, shape (operator,)
        The order to be judged, highest first. NaN means last, jointly tied.
    k : int
        How many places count.

    Returns
    -------
    float
        0 to 1; 0 if no operator has any gain; NaN if there is no order.
    """
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}.")
    value = np.asarray(worth, dtype=np.float64)
    order = np.round(np.asarray(scores, dtype=np.float64), SCORE_DECIMALS)
    if not np.isfinite(order).any():
        return float("nan")
    discounts = 1.0 / np.log2(np.arange(len(value)) + 2.0)
    discounts[k:] = 0.0
    ideal = float(np.sort(value)[::-1] @ discounts)
    if ideal == 0:
        return 0.0
    keys = np.where(np.isnan(order), np.inf, -order)
    _, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    mean_worth = np.bincount(group, weights=value) / sizes
    ends = np.cumsum(sizes)
    totals = np.diff(np.r_[0.0, np.cumsum(discounts)[ends - 1]])
    return float(mean_worth @ totals) / ideal


def score_scale(scores: ArrayLike) -> float:
    """Return the unit in which a loss is told: best minus median of the scores that are known.

    Where half of the operators share the best score that is 0, and best minus worst takes its
    place; where all are equal, or none is known, it is the smallest step of a number, so that any
    loss that is still expected counts as large.

    Parameters
    ----------
    scores : array_like, shape (operator,)
        NaN where unknown.

    Returns
    -------
    float
        Above 0.
    """
    values = np.asarray(scores, dtype=np.float64)
    known = values[np.isfinite(values)]
    smallest = float(np.finfo(np.float64).eps)
    if not len(known):
        return smallest
    best = known.max()
    return max(float(best - np.median(known)) or float(best - known.min()), smallest)


def regret(scores: ArrayLike, chosen: float) -> float:
    """Return what choosing this operator loses against the best, see :func:`score_scale`.

    Parameters
    ----------
    scores : array_like, shape (operator,)
        On everybody; NaN where unknown.
    chosen : float
        The score of the operator, among them.

    Returns
    -------
    float
        0 for the best, 1 for an operator in the middle.
    """
    best = float(np.nanmax(np.asarray(scores, dtype=np.float64)))
    return (best - float(chosen)) / score_scale(scores)


def _overlap(first: Floats, second: Floats, k: int) -> float:
    """Return the shared part of two top k; an operator tied across the cut counts in part."""
    k = min(k, len(first))
    return float(np.minimum(_membership(first, k), _membership(second, k)).sum() / k)


def _membership(ranks: Floats, k: int) -> Floats:
    """Return the chance of each operator to be in the top k if ties are broken at random."""
    _, group, sizes = np.unique(ranks, return_inverse=True, return_counts=True)
    before = np.r_[0, np.cumsum(sizes)[:-1]]
    return np.asarray(np.clip((k - before) / sizes, 0.0, 1.0)[group])


CONTROL_NAMES = {"hc", "nc", "control", "controls", "con", "ctrl", "td", "tc", "healthy", "-1", "0"}


@checked
def balance(
    cohort: Cohort | FCSource | str | os.PathLike[str],
    coreset: CoreSet | str | os.PathLike[str],
    labels: Sequence[str] | None = None,
    *,
    ratio_of: str = "diagnosis",
    case: str | None = None,
) -> dict[str, Any]:
    """Compare a core-set with its cohort.

    Parameters
    ----------
    cohort : Cohort, FC store, or path of a cohort
        All samples.
    coreset : CoreSet or path
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
    if isinstance(cohort, str | os.PathLike):
        cohort = Cohort.open(cohort)
    if isinstance(coreset, str | os.PathLike):
        coreset = CoreSet.open(coreset)
    if isinstance(cohort, Cohort):
        coreset.require_cohort(cohort.fingerprint, cohort.provenance)
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
