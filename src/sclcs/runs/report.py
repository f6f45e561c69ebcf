"""Which matrices stay when a run is finished.

Everything a run says is in its tables; matrices are needed again only if something is asked in
another way, and then they are computed again. What is removed is still listed in the store, with
its checksums, so that no stage takes it for lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import sclcs
from sclcs._core import ALPHA, Identity, file_digest
from sclcs.report import run_report
from sclcs.runs.estimate import exact_operators
from sclcs.runs.matrices import bring_back, drop_from, remove_folder
from sclcs.runs.order import RunOrder
from sclcs.runs.stages import Stage
from sclcs.runs.two_stages import (
    all_winners,
    equivalents_of,
    rank_with,
    ranking_files,
    top_identity,
)
from sclcs.runs.waves import ask_in_waves, in_waves, make_inquiries
from sclcs.stats import Card, Evaluation, Ranking, make_card
from sclcs.store import FCStore, export_matrices

__all__ = ["card_stage", "export_stage", "keep_matrices", "report_stage"]


GB = 1e9


def keep_matrices(order: RunOrder, tell: Callable[[str], None]) -> None:
    """Remove the matrices that a finished run is not to keep; compute those that it is to keep.

    Parameters
    ----------
    order : RunOrder
        Of a run whose stages are done.
    tell : callable
        Is given a line for a person.
    """
    folder, freed, count = order.folder, 0, 0
    remove_folder(folder.scores_folder)  # all that it says is in the tables
    for path in (folder.core_store, folder.whole_store):
        if not path.exists():
            continue
        kept = _kept(order, path)
        bring_back(order, path, kept, _samples(order, path))
        if order.config.keep == "all":
            continue
        store = folder.open_store(path)
        goes = [name for name in store.complete_operators if name not in kept]
        count += len(goes)
        # Also what an earlier attempt had marked and was killed before it was removed.
        freed += drop_from(store, [*goes, *(name for name in store.not_kept if name not in kept)])
    if count:
        what = "the winners' matrices stay" if order.config.keep == "winners" else "none stays"
        tell(f"Removed the matrices of {count} operators, {freed / GB:.3f} GB: {what}.")


def _kept(order: RunOrder, path: Path) -> list[str]:
    """Return the operators whose matrices stay in a store."""
    if order.config.keep == "all":
        return order.operators
    if order.config.keep == "winners" and path == order.folder.whole_store:
        return all_winners(order)
    return []


def _samples(order: RunOrder, path: Path) -> list[str] | None:
    return list(order.folder.core_set().sample_ids) if path == order.folder.core_store else None


#: Raised when the same matrices would be written differently.
EXPORT_VERSION = 2


def export_stage(order: RunOrder) -> Stage:
    """Return the stage that writes the matrices of the best operators for other programs."""
    folder, formats = order.folder, order.config.export

    def identity() -> Identity:
        return Identity(
            "export",
            inputs={"matrices": top_identity(order)},
            parameters={"formats": formats},
            versions={"export": EXPORT_VERSION},
        )

    def work() -> None:
        remove_folder(folder.export_folder)
        bring_back(order, folder.whole_store, all_winners(order))
        for name in formats:
            place = folder.export_folder / name
            export_matrices(folder.whole_matrices, place, name, all_winners(order))

    return Stage("export", "Export their matrices", identity, work, lambda: [folder.export_folder])


def card_operators(order: RunOrder) -> list[str]:
    """Return the operators that a run has on the whole cohort: no core-set stands for them."""
    if order.config.full_benchmark:
        return list(order.operators)
    if order.config.budgeted:
        return exact_operators(order)
    return all_winners(order)


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


def report_stage(order: RunOrder, before: list[str]) -> Stage:
    """Return the stage that writes the report of what the stages before it have made."""
    folder = order.folder

    def identity() -> Identity:
        records = folder.state()["stages"]
        made = [records[name].get(part, {}) for name in before for part in ("outputs", "matrices")]
        return Identity(
            "report",
            inputs={"made": made},
            parameters=order.config.model_dump(exclude={"out"}),
            versions={"sclcs": sclcs.__version__},
        )

    def work() -> None:
        # Its pictures are the winners'; if they go now, they are computed once more.
        bring_back(order, folder.whole_store, all_winners(order))
        run_report(folder).save_as_html(folder.report_file)

    return Stage("report", "Write the report", identity, work, lambda: [folder.report_file])
