"""The card of a run: what the operators on the whole cohort see besides the target."""

from __future__ import annotations

from dataclasses import asdict, replace

from sclcs.benchmark import Card, find_aims, find_criterion, make_card
from sclcs.benchmark.findings import ALPHA
from sclcs.core.identity import Identity, file_digest
from sclcs.runs.estimate import exact_operators
from sclcs.runs.order import RunOrder
from sclcs.runs.rank import all_winners, rank_with, ranking_files
from sclcs.runs.stages import Stage

__all__ = ["card_stage"]

#: Raised when the same matrices would give another card.
CARD_VERSION = 1


def card_operators(order: RunOrder) -> list[str]:
    """Return the operators that a run has on the whole cohort: no core-set stands for them."""
    if order.config.full_benchmark:
        return list(order.operators)
    if order.config.budgeted:
        return exact_operators(order)
    guiding = order.panel if order.computes_panel else []
    return list(dict.fromkeys([*all_winners(order), *guiding]))


def card_stage(order: RunOrder) -> Stage:
    """Return the stage that judges the operators on everybody by more than the target."""
    folder, config = order.folder, order.config
    files = [folder.card_file(task) for task in config.tasks]

    def identity() -> Identity:
        answered = folder.ranking_file if config.budgeted else folder.confirmed_file
        answers = [answered(task) for task in config.tasks]
        if config.full_benchmark:
            answers += [folder.truth_file(task) for task in config.tasks]
        aims = {
            task: find_aims(
                order.given.samples, order.target(task), config.criteria, config.treat_as
            )
            for task in config.tasks
        }
        return order.ranking_identity(
            order.matrices_identity(card_operators(order), None),
            aims={task: [asdict(aim) for aim in found] for task, found in aims.items()},
            answers=[file_digest(file) for file in answers],
            card=CARD_VERSION,
            scores={
                aim.score: find_criterion(aim.score).version
                for found in aims.values()
                for aim in found
            },
        )

    def work() -> None:
        store, operators = folder.whole_matrices, card_operators(order)
        for task, file in zip(config.tasks, files, strict=True):
            ranking = folder.truth(task) or rank_with(
                order, store, operators, task, bootstrap=0, permutations=0
            )
            card = make_card(
                store, ranking, config.criteria, treat_as=config.treat_as, n_jobs=order.processes
            )
            folder.write_table(_answered(order, task, card), file)

    return Stage(
        "card", "Judge them by more than the target", identity, work, lambda: ranking_files(files)
    )


def _answered(order: RunOrder, task: str, card: Card) -> Card:
    """Add what was found of winners: which could be the best, and whether there is an effect.

    The effect is tested by operators that no score chose.
    """
    if order.folder.truth(task) is not None:
        return card
    rivals = set(order.folder.confirmed(task).best_set["spi"])
    effect = order.folder.confirmation()["tasks"][task].get("effect") or {}
    seen = None if effect.get("p") is None else bool(effect["p"] < ALPHA)
    return replace(
        card, table=card.table.assign(best_set=card.table["spi"].isin(rivals)), seen=seen
    )
