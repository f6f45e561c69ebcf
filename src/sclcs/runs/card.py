"""The card of a run: what the operators on the whole cohort see besides the target."""

from __future__ import annotations

from dataclasses import asdict

from sclcs.benchmark import find_aims, find_criterion, make_card
from sclcs.core.identity import Identity, file_digest
from sclcs.runs.order import RunOrder
from sclcs.runs.rank import rank_with, ranking_files
from sclcs.runs.stages import Stage
from sclcs.spi.fc_status import matrices_identity

__all__ = ["card_stage"]

#: Raised when the same matrices would give another card.
CARD_VERSION = 1


def card_stage(order: RunOrder) -> Stage:
    """Return the stage that judges the operators on everybody by more than the target."""
    folder, config = order.folder, order.config
    files = [folder.card_file(task) for task in config.tasks]

    def identity() -> Identity:
        aims = {
            task: find_aims(
                order.given.samples, order.target(task), config.criteria, config.treat_as
            )
            for task in config.tasks
        }
        store = folder.whole_matrices
        return order.ranking_identity(
            matrices_identity(store, store.complete_operators),
            aims={task: [asdict(aim) for aim in found] for task, found in aims.items()},
            confirmed=[file_digest(folder.confirmed_file(task)) for task in config.tasks],
            card=CARD_VERSION,
            scores={
                aim.score: find_criterion(aim.score).version
                for found in aims.values()
                for aim in found
            },
        )

    def work() -> None:
        store = folder.whole_matrices
        for task, file in zip(config.tasks, files, strict=True):
            ranking = rank_with(
                order, store, store.complete_operators, task, bootstrap=0, permutations=0
            )
            answer = folder.truth(task) or folder.confirmed(task)
            ranking.table["best_set"] = ranking.table["spi"].isin(set(answer.best_set["spi"]))
            ranking.findings.update(answer.findings)
            card = make_card(
                store, ranking, config.criteria, treat_as=config.treat_as, n_jobs=order.processes
            )
            folder.write_table(card, file)

    return Stage(
        "card", "Judge them by more than the target", identity, work, lambda: ranking_files(files)
    )
