"""Which matrices stay when a run is finished.

Everything a run says is in its tables; matrices are needed again only if something is asked in
another way, and then they are computed again. What is removed is still listed in the store, with
its checksums, so that no stage takes it for lost.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sclcs.runs.matrices import bring_back, drop_from, remove_folder
from sclcs.runs.order import RunOrder
from sclcs.runs.rank import all_winners

__all__ = ["keep_matrices"]

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
        return [*order.operators, *order.panel]
    if order.config.keep == "winners" and path == order.folder.whole_store:
        return all_winners(order)
    return []


def _samples(order: RunOrder, path: Path) -> list[str] | None:
    return list(order.folder.core_set().sample_ids) if path == order.folder.core_store else None
