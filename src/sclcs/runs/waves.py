"""Operators on everybody a few at a time: computed, asked everything, and removed.

A run that will not keep its matrices needs no room for all of them at once. What was found out
about an operator is written down before its matrices go, so that a run that is killed, or waits
for jobs, begins with the first operator that was not asked yet.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sclcs._core import InputError, explain_write_errors
from sclcs.run_folder import load_answers, save_answers
from sclcs.runs.matrices import compute_matrices, drop_from
from sclcs.runs.order import RunOrder
from sclcs.spi import family_members
from sclcs.stats import (
    Effort,
    Evaluation,
    Inquiry,
    bytes_of,
    card_inquiries,
    evaluate,
    make_inquiry,
)

__all__ = [
    "Asked",
    "ask_in_waves",
    "check_disk",
    "in_waves",
    "make_inquiries",
    "matrix_bytes",
    "waves_of",
]

GB = 1e9


@dataclass
class Asked:
    """What was found out about operators.

    Parameters
    ----------
    tasks : list of Evaluation
        One per task of the run.
    cards : list of list of Evaluation
        By task, one per inquiry of its card.
    seconds : float
        CPU time that asking took, now or in an earlier attempt.
    spent : float
        The part of it that was spent now.
    facts : dict
        Of the matrices that had to be computed, summed.
    """

    tasks: list[Evaluation]
    cards: list[list[Evaluation]]
    seconds: float
    spent: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)


def in_waves(order: RunOrder) -> bool:
    """Say whether the matrices of a run are removed while it is at work.

    That is if they shall not stay and would take more of the disk than is allowed.
    """
    config = order.config
    if config.keep == "all" or not config.budgeted or config.full_benchmark:
        return False
    taken = len(order.operators) * matrix_bytes(len(order.given), order.given.n_regions)
    return taken > bytes_of(config.disk, "disk")


def check_disk(order: RunOrder) -> None:
    """Raise if not even the matrices of one operator fit."""
    allowed = bytes_of(order.config.disk, "disk")
    if in_waves(order):
        largest = matrix_bytes(len(order.given), order.given.n_regions)
        if largest > allowed:
            raise InputError(
                f"The matrices of one operator take {largest / GB:.2g} GB ({len(order.given)} "
                f"samples of {order.given.n_regions} regions), but the disk may hold "
                f"{order.config.disk} of them; allow more with --disk."
            )


def matrix_bytes(n_samples: int, n_regions: int) -> int:
    """Return what an operator takes in a store, if nothing can be compressed."""
    return 4 * n_regions**2 * n_samples


def waves_of(
    operators: Sequence[str], n_samples: int, n_regions: int, disk: str
) -> list[list[str]]:
    """Deal operators to waves that fit on the disk; families stay together where they can.

    Operators of a family share work, which is done again in every wave that has some of them.

    Parameters
    ----------
    operators : sequence of str
    n_samples, n_regions : int
    disk : str
        How much the matrices of a wave may take, for example ``"50G"``.

    Returns
    -------
    list of list of str
    """
    allowed = bytes_of(disk, "disk")
    waves: list[list[str]] = []
    room = 0
    size = matrix_bytes(n_samples, n_regions)
    for members in family_members(operators).values():
        if not waves or (size * len(members) > room and room < allowed):
            waves.append([])
            room = allowed
        for name in members:
            if size > room and waves[-1]:
                waves.append([])
                room = allowed
            waves[-1].append(name)
            room -= size
    return waves


def make_inquiries(order: RunOrder) -> dict[str, Inquiry]:
    """Return what is asked of the operators on everybody, by task."""
    config, samples = order.config, order.cohort.samples
    effort = Effort.of(config)
    return {
        task: make_inquiry(order.question(samples, task), order.criterion(task), effort)
        for task in config.tasks
    }


def ask_in_waves(
    order: RunOrder, operators: Sequence[str], inquiries: Mapping[str, Inquiry]
) -> Asked:
    """Find out everything about operators, without ever having more matrices than allowed.

    Parameters
    ----------
    order : RunOrder
    operators : sequence of str
    inquiries : mapping
        From :func:`make_inquiries`.

    Returns
    -------
    Asked
    """
    spent, facts = 0.0, dict[str, Any]()
    unknown = [name for name in operators if _known(order, name) is None]
    shape = len(order.given), order.given.n_regions
    for wave in waves_of(unknown, *shape, order.config.disk):
        computed = compute_matrices(order, order.folder.whole_store, wave)
        facts = {name: facts.get(name, 0) + value for name, value in computed.items()}
        spent += _ask(order, wave, inquiries)
        drop_from(order.folder.whole_matrices, wave)
    known = [_known(order, name) for name in operators]
    found = [one for one in known if one is not None]
    together = [Evaluation.together(parts) for parts in zip(*(a for a, _ in found), strict=True)]
    tasks, rest = together[: len(inquiries)], together[len(inquiries) :]
    cards = []
    for asked in _of_cards(order):
        cards.append(rest[: len(asked)])
        rest = rest[len(asked) :]
    return Asked(tasks, cards, sum(seconds for _, seconds in found), spent, facts)


def _ask(order: RunOrder, wave: Sequence[str], inquiries: Mapping[str, Inquiry]) -> float:
    """Ask the operators of a wave, whose matrices are there, and write down what they say."""
    store, begun = order.folder.whole_matrices, time.process_time()
    asked = [list(inquiries.values()), *_of_cards(order)]
    # One call per card, as the card of a run that keeps its matrices is made.
    answers = [
        answer
        for part in asked
        if part
        for answer in evaluate(store, list(wave), part, order.measure, n_jobs=order.processes)
    ]
    seconds = time.process_time() - begun
    for place, name in enumerate(wave):
        path = _file(order, name)
        with explain_write_errors(path):
            path.parent.mkdir(exist_ok=True)
        mine = [answer.in_order(np.array([place])) for answer in answers]
        save_answers(path, _key(order, name), mine, seconds / len(wave))
    return seconds


def _of_cards(order: RunOrder) -> list[list[Inquiry]]:
    """Return what the cards ask, by task."""
    if order.config.criteria == ["none"]:
        return [[] for _ in order.config.tasks]
    store, config = order.folder.whole_matrices, order.config
    return [
        card_inquiries(store, order.target(task), config.criteria, treat_as=config.treat_as)[1]
        for task in config.tasks
    ]


def _file(order: RunOrder, operator: str) -> Path:
    return order.folder.scores_folder / f"{operator}.npz"


def _key(order: RunOrder, operator: str) -> str:
    """Return what the answers of an operator depend on."""
    matrices = order.matrices_identity([operator], None)
    return order.ranking_identity(matrices, **order.card_facts).digest()


def _known(order: RunOrder, operator: str) -> tuple[list[Evaluation], float] | None:
    return load_answers(_file(order, operator), _key(order, operator))
