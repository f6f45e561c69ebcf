"""An FC store's matrices in formats that other tools read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from sclcs.compute.exports.coordinates import find_coordinates
from sclcs.compute.exports.crate import write_crate
from sclcs.compute.exports.order import ExportOrder
from sclcs.compute.exports.plain import write_csv, write_mat, write_npz
from sclcs.compute.exports.relmat import write_relmat
from sclcs.compute.exports.rows import ExportRows, Per
from sclcs.compute.exports.toolboxes import (
    write_brainnet,
    write_conn,
    write_graphvar,
    write_nbs,
)
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError, UnknownNameError, did_you_mean, name_first
from sclcs.core.files import atomic_directory
from sclcs.core.progress import progress
from sclcs.spi.fc_store import FCStore

__all__ = ["FORMATS", "Export", "export_matrices"]


@dataclass(frozen=True)
class Export:
    """What was written.

    Parameters
    ----------
    folder : Path
        Where.
    format : str
        A key of :data:`FORMATS`.
    operators : list of str
        What.
    samples : int
        Of how many samples or subjects.
    files : int
        In how many files with matrices.
    notes : list of str
        What the format could not hold.
    """

    folder: Path
    format: str
    operators: list[str]
    samples: int
    files: int
    notes: list[str] = field(default_factory=list)


@checked
def export_matrices(
    store: FCStore | str | os.PathLike[str],
    out: str | os.PathLike[str],
    format: str = "relmat",  # noqa: A002 (the word users know)
    spis: str | Sequence[str] | None = None,
    *,
    per: Per = "window",
    coordinates: str | os.PathLike[str] | None = None,
    group: str | None = None,
    crate: bool = False,
) -> Export:
    """Write an FC store's matrices as files for other tools.

    Parameters
    ----------
    store : FCStore or path
        The matrices.
    out : path-like
        A folder that does not exist yet. It appears only when it is complete.
    format : str
        ``relmat`` (tables named as the draft of BIDS for relationship matrices), ``npz``, ``mat``,
        ``csv``, ``nbs`` (Network-Based Statistic), ``brainnet`` (BrainNet Viewer), ``conn``,
        ``graphvar``.
    spis : str or sequence of str, optional
        Operators of the store; all complete ones by default.
    per : {'window', 'subject'}
        One matrix per sample, or one per subject: the mean over its samples.
    coordinates : path-like, optional
        Table with the columns region, x, y, z (mm). Those of the Dosenbach regions are known.
    group : str, optional
        Label column for the design matrix of ``nbs``.
    crate : bool
        Also write ``ro-crate-metadata.json``: what was made, from what, by what.

    Returns
    -------
    Export

    Raises
    ------
    InputError
        If an operator is not complete in the store, or coordinates or labels are missing.
    OutputExistsError
        If the folder is there already.

    Examples
    --------
    ``export_matrices("RUN/fc.zarr", "for_nbs", "nbs", per="subject", group="diagnosis")``
    """
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise UnknownNameError(
            f"Unknown export format {format!r}; the known ones are {known}."
            f"{did_you_mean(format, FORMATS)}"
        )
    opened = store if isinstance(store, FCStore) else FCStore.open(store)
    rows = ExportRows(opened, per)
    operators = _operators(opened, spis)
    places = find_coordinates(opened.regions, coordinates)
    with (
        atomic_directory(out) as folder,
        progress(f"Exporting {format}", len(operators) * len(rows)) as ticker,
    ):
        order = ExportOrder(rows, operators, folder, ticker, places, group)
        files = FORMATS[format](order)
        if crate:
            write_crate(order, format)
    notes = _notes(order, format)
    return Export(Path(out), format, operators, len(rows), files, notes)


def _notes(order: ExportOrder, name: str) -> list[str]:
    directed = [operator for operator in order.operators if order.rows.directed(operator)]
    if name == "nbs" and directed:
        names = name_first(directed)
        return [f"NBS is for undirected connections: {names} are the mean of both directions."]
    return []


def _operators(store: FCStore, spis: str | Sequence[str] | None) -> list[str]:
    complete = store.complete_operators
    if spis is None:
        if not complete:
            raise InputError(f"No operator is complete in {store.path}: nothing can be exported.")
        return complete
    from sclcs.spi.sets import resolve

    wanted = resolve(spis)
    missing = [name for name in wanted if name not in complete]
    if missing:
        raise InputError(
            f"Not complete in {store.path}: {name_first(missing)}; it holds "
            f"{name_first(complete, 10)}. `sclcs compute` adds operators."
        )
    return wanted


Writer = Callable[[ExportOrder], int]

#: How to write each format.
FORMATS: Mapping[str, Writer] = MappingProxyType(
    {
        "relmat": write_relmat,
        "npz": write_npz,
        "mat": write_mat,
        "csv": write_csv,
        "nbs": write_nbs,
        "brainnet": write_brainnet,
        "conn": write_conn,
        "graphvar": write_graphvar,
    }
)
