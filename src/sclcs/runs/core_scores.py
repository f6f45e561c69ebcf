"""What a core-set of a budgeted run says by itself: the scores of operators on its samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sclcs.benchmark import Inquiry, evaluate
from sclcs.core.errors import InputError

if TYPE_CHECKING:
    from sclcs.runs.order import RunOrder

__all__ = ["core_scores"]

UNTRAINABLE = "predict"  # a handful of samples trains no model


def core_scores(order: RunOrder, task: str) -> dict[str, float]:
    """Return the scores of all operators of the core-set, as far as its samples allow.

    Parameters
    ----------
    order : RunOrder
    task : str

    Returns
    -------
    dict
        Empty if the core-set cannot answer the task, or was chosen by scores: what its errors
        are could then not be learned from operators that guided the choice.
    """
    bought, criterion = order.allotment, order.criterion(task)
    if not bought.core_samples or order.selector.guided or criterion.name == UNTRAINABLE:
        return {}
    store = order.folder.core_matrices
    try:
        question = order.question(store.samples, task)
    except InputError:  # answered by everybody, but not by so few: a class or a site is missing
        return {}
    inquiry = Inquiry(question, (criterion,))
    (found,) = evaluate(store, [*bought.panel, *bought.core], [inquiry], n_jobs=order.processes)
    scores = found.point[criterion.name]
    return {
        name: float(score)
        for name, score in zip(found.operators, scores, strict=True)
        if np.isfinite(score)
    }
