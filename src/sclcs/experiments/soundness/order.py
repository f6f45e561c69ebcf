"""Whether the order of operators depends on how many subjects each class has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark import (
    FCSource,
    Inquiry,
    PairRules,
    evaluate,
    find_criterion,
    make_question,
)
from sclcs.benchmark.consistency import agreement
from sclcs.core.errors import InputError
from sclcs.core.seeds import generator

__all__ = ["KINDS", "order_rows"]

Floats = NDArray[np.float64]

#: Which subjects are left: a third of one class; as many of both together; or fewer of both, so
#: that their difference is as uncertain as with one class cut to a third (1/n + 1/m the same).
KINDS = (
    "a third of the first class",
    "a third of the second class",
    "as many of both",
    "both, as uncertain",
)
THIRD = 1 / 3


def order_rows(
    source: FCSource, operators: Sequence[str], task: str, repeats: int, seed: int
) -> list[dict[str, Any]]:
    """Rank on part of the subjects, and compare with the ranking on all of them.

    Parameters
    ----------
    source : FCSource
    operators : sequence of str
    task : str
        A label of two classes.
    repeats : int
        Random parts of each kind.
    seed : int

    Returns
    -------
    list of dict
        ``score``, ``kind``, ``lost`` (the class that was cut to a third, or with which the part is
        compared), ``repeat`` and ``kendall`` with the ranking on all subjects.
    """
    question = make_question(source.samples, task, n_timepoints=source.n_timepoints)
    if len(question.classes) != 2:
        raise InputError(f"Expected a label of two classes, but {task} has {question.classes}.")
    first = np.unique(question.cases.subjects, return_index=True)[1]
    classes = np.asarray(question.values, dtype=np.int64)[first]
    facts, draws = _parts(classes, repeats, seed)
    pooled = make_question(
        source.samples, task, rules=PairRules(pooled=True), n_timepoints=source.n_timepoints
    )
    inquiries = [
        Inquiry(asked, (find_criterion(name, asked.target),), draws)
        for asked, name in ((question, "share"), (pooled, "cohen_d"))
    ]
    rows = []
    for name, found in zip(
        ("share", "cohen_d pooled"), evaluate(source, operators, inquiries), strict=True
    ):
        (point,), (drawn,) = found.point.values(), found.drawn.values()
        known = np.isfinite(point) & np.isfinite(drawn).all(axis=1)
        for place, fact in enumerate(facts):
            kendall = agreement(point[known], drawn[known, place], (5,))["kendall"]
            rows.append({"score": name, **fact, "kendall": kendall})
    return rows


def _parts(
    classes: NDArray[np.int64], repeats: int, seed: int
) -> tuple[list[dict[str, Any]], Floats]:
    """Draw parts of the subjects: one class cut to a third, and both to the same total."""
    sizes = np.bincount(classes)
    facts, draws = [], []
    for lost in (0, 1):
        left = sizes.astype(np.float64)
        left[lost] = round(sizes[lost] * THIRD)
        share = left.sum() / sizes.sum()
        precision = (1 / sizes).sum() / (1 / left).sum()
        kinds = ((KINDS[lost], left), (KINDS[2], sizes * share), (KINDS[3], sizes * precision))
        for kind, wanted in kinds:
            for repeat in range(repeats):
                random = generator(seed, "soundness", "order", kind, lost, repeat)
                draw = np.zeros(len(classes))
                for code in (0, 1):
                    members = random.permutation(np.flatnonzero(classes == code))
                    draw[members[: round(wanted[code])]] = 1.0
                facts.append({"kind": kind, "lost": lost, "repeat": repeat})
                draws.append(draw)
    return facts, np.array(draws)
