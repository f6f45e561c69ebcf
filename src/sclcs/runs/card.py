"""The card of a run: what the operators on the whole cohort see besides the target."""

from __future__ import annotations

from dataclasses import replace

from sclcs.benchmark import Card, Evaluation, Ranking, make_card
from sclcs.benchmark.findings import ALPHA
from sclcs.core.identity import Identity, file_digest
from sclcs.runs.estimate import exact_operators
from sclcs.runs.matrices import bring_back
from sclcs.runs.order import RunOrder
from sclcs.runs.rank import all_winners, equivalents_of, rank_with, ranking_files
from sclcs.runs.stages import Stage
from sclcs.runs.waves import ask_in_waves, in_waves, make_inquiries
from sclcs.spi.fc_store import FCStore

__all__ = ["card_stage"]


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
        return order.ranking_identity(
            order.matrices_identity(card_operators(order), None),
            answers=[file_digest(file) for file in answers],
            **order.card_facts,
        )

    def work() -> None:
        operators = card_operators(order)
        known: list[list[Evaluation]] | list[None] = [None] * len(config.tasks)
        if in_waves(order):
            known = ask_in_waves(order, operators, make_inquiries(order)).cards
        else:
            bring_back(order, folder.whole_store, operators)
        store = folder.whole_matrices
        for task, file, answers in zip(config.tasks, files, known, strict=True):
            ranking = folder.truth(task) or _scored(order, store, operators, task)
            card = make_card(
                store,
                ranking,
                config.criteria,
                treat_as=config.treat_as,
                n_jobs=order.processes,
                answers=answers,
            )
            folder.write_table(_answered(order, task, card), file)

    return Stage(
        "card", "Judge them by more than the target", identity, work, lambda: ranking_files(files)
    )


def _scored(order: RunOrder, store: FCStore, operators: list[str], task: str) -> Ranking:
    """Return the scores of operators on everybody: those of a budgeted run are there already."""
    if not order.config.budgeted:
        ranking = rank_with(order, store, operators, task, bootstrap=0, permutations=0)
        return ranking.naming(equivalents_of(order.folder.ranking(task)))
    whole = order.folder.ranking(task)
    rows = whole.table[whole.table["spi"].isin(operators)]
    return Ranking(rows, whole.task, whole.score, None, whole.provenance, whole.findings)


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
