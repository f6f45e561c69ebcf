"""What a permutation inside groups leaves in place: differences of the target between them.

If sites differ in age, an operator that sees sites sees age. A permutation within sites keeps
that, so p is right: it asks for more than sites tell. The score contains it, though, unless
sites are a covariate; whoever reads both must be told.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import ALPHA, BEST_CONFIDENCE, ENOUGH_SPLITS
from sclcs.stats.concordance import agreement
from sclcs.stats.criteria import Criterion
from sclcs.stats.evaluation import Evaluation
from sclcs.stats.inference import best_set_p, effect_test, joint_draws, new_subjects_worth
from sclcs.stats.question import Question
from sclcs.stats.ranking_table import descending_ranks, entries, equivalence_groups, share_scores
from sclcs.stats.share import Scatter

__all__ = ["ALPHA", "BEST_CONFIDENCE", "find", "halves_agreement", "kept_by_permutations"]


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def kept_by_permutations(
    question: Question, criterion: Criterion, statistics: Floats, point: Floats
) -> dict[str, float]:
    """Return how far groups tell the target, and what the best operator scores by that alone.

    Parameters
    ----------
    question : Question
    criterion : Criterion
    statistics : array, shape (operator, 1 + permutation)
    point : array, shape (operator,)
        Scores of the same operators.

    Returns
    -------
    dict
        ``between``: the share of the target's variance that lies between the groups, beyond what
        chance gives; ``shuffled``: the mean score of the best operator with the target permuted
        inside groups, for predictions of numbers (whose statistic is their score). Empty if
        there are no groups, or if they are taken out anyway.
    """
    group = question.exchangeable
    if group is None or question.target.kind == "subject" or group in question.blocks:
        return {}
    if question.cases.repeated or question.harmonise == group:
        return {}
    codes = question.class_codes
    columns = question.values[:, None]  # noqa: PD011 (no pandas object)
    if codes is not None:
        columns = codes[:, None] == np.arange(len(question.classes))
    found = {"between": _between(columns.astype(np.float64), question.groups)}
    known = np.isfinite(point) & np.isfinite(statistics).all(axis=1)
    if criterion.name == "predict" and codes is None and known.any() and statistics.shape[1] > 1:
        best = int(np.argmax(np.where(known, point, -np.inf)))
        found["shuffled"] = float(statistics[best, 1:].mean())
    return found


def _between(columns: Floats, groups: Integers) -> float:
    """Return the adjusted share of variance between groups; 0 on average by chance."""
    n_cases, n_groups = len(columns), len(np.unique(groups))
    if n_groups < 2 or n_cases <= n_groups:
        return 0.0
    sizes = np.bincount(groups)
    sums = np.stack([np.bincount(groups, column) for column in columns.T], axis=1)
    means = sums / np.maximum(sizes, 1)[:, None]
    inside = ((columns - means[groups]) ** 2).sum()
    total = ((columns - columns.mean(axis=0)) ** 2).sum()
    if total == 0:
        return 0.0  # nothing varies
    return float(1.0 - inside / (n_cases - n_groups) * (n_cases - 1) / total)


def find(
    evaluation: Evaluation,
    question: Question,
    criterion: Criterion,
    *,
    n_draws: int,
    confidence: float,
    ranks_only: bool,
    seed: int = 0,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Make the table of a ranking and the findings about all operators together.

    Parameters
    ----------
    evaluation : Evaluation
        With halves of the subjects as draws, and permutations, if there are any.
    question : Question
    criterion : Criterion
        Which of its scores.
    n_draws : int
        How many joint draws to make of the halves.
    confidence : float
        Coverage of the intervals.
    ranks_only : bool
        Whether similarities are made of ranks, so that equivalent operators are one entry.
    seed : int

    Returns
    -------
    table : DataFrame
        Columns of :class:`sclcs.stats.Ranking`.
    findings : dict
        ``effect``: smallest family-wise p and how many operators are below 0.05; ``best_set``:
        how many entries it has; ``worth``: of the chosen operator on new subjects;
        ``halves``: how well halves of the subjects agree; ``scatter``: of the operator that shows
        most clearly that classes scatter unlike each other, and how many do; ``classes``.
    """
    evaluation = evaluation.in_order(np.argsort(evaluation.operators))
    groups = equivalence_groups(evaluation.operators)
    if not ranks_only:
        groups = [""] * len(groups)
    point = share_scores(evaluation.point[criterion.name], groups)
    entry_of = entries(groups, point)
    firsts = np.unique(entry_of, return_index=True)[1]
    halves = share_scores(evaluation.drawn[criterion.name], groups)[firsts]
    statistics = evaluation.statistics[criterion.name][firsts]
    scatters = [evaluation.scatter[place] for place in firsts]
    drawn = joint_draws(point[firsts], halves, n_draws, seed)
    columns = _columns(point[firsts], drawn, question.n_subjects, confidence)
    columns |= _tests(statistics, scatters, question)
    table = _table(evaluation, point, groups, {k: v[entry_of] for k, v in columns.items()})
    table["equivalents"] = _equivalents(evaluation.operators, entry_of)
    on_others = None
    if criterion.predictions is not None:  # halves of one cross-validation train each other
        trained = evaluation.cross_fit[criterion.name]
        halves, on_others = (share_scores(part, groups)[firsts] for part in trained.swapaxes(0, 1))
    names = [evaluation.operators[place] for place in firsts]
    findings = _findings(columns, (halves, on_others), point[firsts], question, names)
    if "effect" in findings:
        findings["effect"] |= kept_by_permutations(question, criterion, statistics, point[firsts])
    return table, findings


def _columns(
    point: Floats, drawn: Floats, n_subjects: int, confidence: float
) -> dict[str, NDArray[Any]]:
    """Return intervals, ranks and the p of being the best, one value per entry."""
    blank = np.full(len(point), np.nan)
    names = ("low", "high", "rank", "rank_low", "rank_high", "best_p")
    columns: dict[str, NDArray[Any]] = {name: blank.copy() for name in names}
    scored = np.isfinite(point)
    if scored.any():
        columns["rank"][scored] = descending_ranks(point[scored])
    if scored.any() and drawn.shape[1] and np.isfinite(drawn[scored]).all():
        tails = [50 * (1 - confidence), 50 * (1 + confidence)]
        columns["low"][scored], columns["high"][scored] = np.percentile(
            drawn[scored], tails, axis=1
        )
        limits = np.percentile(
            descending_ranks(drawn[scored]), tails, axis=1, method="closest_observation"
        )
        columns["rank_low"][scored], columns["rank_high"][scored] = limits
        columns["best_p"] = best_set_p(point, drawn, n_subjects)
    columns["best_set"] = np.nan_to_num(columns["best_p"], nan=-1.0) > 1 - BEST_CONFIDENCE
    return columns


def _tests(
    statistics: Floats, scatters: list[Scatter | None], question: Question
) -> dict[str, NDArray[Any]]:
    """Return the p of effect and scatter, one value per entry."""
    blank = np.full(len(statistics), np.nan)
    empty = {"p": blank, "p_single": blank, "scatter": blank, "scatter_p": blank}
    columns: dict[str, NDArray[Any]] = {name: values.copy() for name, values in empty.items()}
    columns["scatter_class"] = np.array([""] * len(statistics), dtype=object)
    if statistics.shape[1] > 1 and question.permutable:
        test = effect_test(statistics)
        columns["p"], columns["p_single"] = test.p, test.p_single
    known = [place for place, scatter in enumerate(scatters) if scatter is not None]
    if known:
        found = [scatter for scatter in scatters if scatter is not None]
        columns["scatter"][known] = [scatter.ratio for scatter in found]
        columns["scatter_class"][known] = [question.classes[s.widest] for s in found]
        columns["scatter_p"][known] = effect_test(np.stack([s.statistics for s in found])).p
    return columns


def _table(
    evaluation: Evaluation, point: Floats, groups: list[str], columns: dict[str, NDArray[Any]]
) -> pd.DataFrame:
    from sclcs.spi import operator_name

    names = evaluation.operators
    table = pd.DataFrame({"spi": names, "name": [operator_name(spi) for spi in names]})
    table["score"] = point
    for name, values in columns.items():
        table[name] = values
    table["source"] = "exact"
    table["n_samples"] = evaluation.n_samples
    table["status"], table["reason"] = evaluation.status, evaluation.reason
    table["rank_group"] = groups
    return table


def _equivalents(operators: list[str], entry_of: Integers) -> list[str]:
    """Return for every operator the others of its entry, with blanks between them."""
    members: dict[int, list[str]] = {}
    for spi, entry in zip(operators, entry_of.tolist(), strict=True):
        members.setdefault(entry, []).append(spi)
    alike = [members[entry] for entry in entry_of.tolist()]
    return [
        " ".join(other for other in names if other != spi)
        for spi, names in zip(operators, alike, strict=True)
    ]


def _findings(
    columns: dict[str, NDArray[Any]],
    halves: tuple[Floats, Floats | None],
    point: Floats,
    question: Question,
    names: list[str],
) -> dict[str, Any]:
    found: dict[str, Any] = {"entries": int(np.isfinite(point).sum())}
    if question.target.kind == "classes":
        sizes = np.bincount(np.asarray(question.values, dtype=np.int64))
        found["classes"] = dict(zip(question.classes, sizes.tolist(), strict=True))
    if np.isfinite(columns["p"]).any():
        found["effect"] = {
            "p": float(np.nanmin(columns["p"])),
            "operators": int((columns["p"] < ALPHA).sum()),
            "exchangeable": question.exchangeable,
        }
    elif not question.permutable:
        found["effect"] = {"p": None, "operators": 0, "exchangeable": question.exchangeable}
    if columns["best_set"].any():
        size = int(columns["best_set"].sum())
        found["best_set"] = {"entries": size, "confidence": BEST_CONFIDENCE}
    worth = new_subjects_worth(*halves)
    if worth is not None:
        found["worth"] = asdict(worth)
        found["halves"] = halves_agreement(halves[0])
    if np.isfinite(columns["scatter_p"]).any():
        found["scatter"] = _most_scattered(columns, point, names)
    return found


def _most_scattered(
    columns: dict[str, NDArray[Any]], point: Floats, names: list[str]
) -> dict[str, Any]:
    """Return where classes scatter most unlike each other.

    Noise and motion belong to the data, so the operator that shows them most clearly speaks for
    all; its p is family-wise already. Of several that are as clear, the one with the best score.
    """
    p = columns["scatter_p"]
    clearest = np.lexsort((-np.nan_to_num(point, nan=-np.inf), np.nan_to_num(p, nan=np.inf)))[0]
    found = {name: columns[name][clearest] for name in ("scatter", "scatter_p", "scatter_class")}
    unlike = p < ALPHA
    same = columns["scatter_class"] == found["scatter_class"]
    return found | {
        "spi": names[clearest],
        "operators": int(unlike.sum()),
        "operators_of_class": int((unlike & same).sum()),
    }


def halves_agreement(halves: Floats) -> dict[str, float | None]:
    """Return how well the rankings of two halves agree, averaged over splits.

    Parameters
    ----------
    halves : array, shape (operator, 2 * split)
        Scores on each half, the two halves of a split side by side.

    Returns
    -------
    dict
        ``kendall``, ``ndcg@10`` and ``overlap@10``.
    """
    known = np.isfinite(halves).any(axis=1)
    pairs = halves[known].reshape(int(known.sum()), -1, 2)[:, :ENOUGH_SPLITS]
    whole = [pair for pair in pairs.transpose(1, 2, 0) if np.isfinite(pair).all()]
    found = pd.DataFrame([agreement(one, two, (10,)) for one, two in whole])
    return {name: float(found[name].mean()) for name in ("kendall", "ndcg@10", "overlap@10")}
