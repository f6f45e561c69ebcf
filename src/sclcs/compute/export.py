"""An FC store's matrices in formats that other tools read.

``relmat``: one tab-separated file per sample and operator, named and described as the draft of
BIDS for relationship matrices (BEP017) proposes. ``npz``: one numpy file per operator.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sclcs
from sclcs.cohort.table import table_to_csv
from sclcs.compute.export_names import measure_label, sample_names
from sclcs.core.arguments import checked
from sclcs.core.cells import guard_cell
from sclcs.core.errors import InputError, UnknownNameError, name_first
from sclcs.core.files import atomic_directory, write_json, write_text
from sclcs.core.progress import Ticker, progress
from sclcs.spi.catalogue import catalogue
from sclcs.spi.fc_store import FCStore

__all__ = ["FORMATS", "Export", "export_matrices"]

BIDS_VERSION = "1.10.0"
MISSING = "n/a"  # as BIDS writes it


@dataclass(frozen=True)
class Export:
    """What was written.

    Parameters
    ----------
    folder : Path
        Where.
    format : str
        ``relmat`` or ``npz``.
    operators : list of str
        What.
    samples : int
        Of how many samples.
    files : int
        In how many files with matrices.
    """

    folder: Path
    format: str
    operators: list[str]
    samples: int
    files: int


@checked
def export_matrices(
    store: FCStore | str | os.PathLike[str],
    out: str | os.PathLike[str],
    format: str = "relmat",  # noqa: A002 (the word users know)
    spis: str | Sequence[str] | None = None,
) -> Export:
    """Write an FC store's matrices as files for other tools.

    Parameters
    ----------
    store : FCStore or path
        The matrices.
    out : path-like
        A folder that does not exist yet. It appears only when it is complete.
    format : {"relmat", "npz"}
        ``relmat``: ``sub-<label>[/ses-<label>]/func/sub-..._meas-<operator>_relmat.tsv`` with
        the regions as header, a description per operator, and ``samples.tsv`` that says which
        sample is which file. ``npz``: ``<operator>.npz`` with ``matrices`` (sample, source,
        target), ``sample_ids`` and ``regions``, and ``samples.csv``.
    spis : str or sequence of str, optional
        Operators of the store; all complete ones by default.

    Returns
    -------
    Export

    Raises
    ------
    InputError
        If an operator is not complete in the store.
    OutputExistsError
        If the folder is there already.

    Examples
    --------
    ``export_matrices("RUN/fc.zarr", "derivatives", "relmat")``
    """
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise UnknownNameError(f"Unknown export format {format!r}; the known ones are {known}.")
    opened = store if isinstance(store, FCStore) else FCStore.open(store)
    operators = _operators(opened, spis)
    with (
        atomic_directory(out) as folder,
        progress(f"Exporting {format}", len(operators) * len(opened)) as ticker,
    ):
        files = FORMATS[format](opened, operators, folder, ticker)
    return Export(Path(out), format, operators, len(opened), files)


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


def _write_relmat(store: FCStore, operators: list[str], folder: Path, ticker: Ticker) -> int:
    names = sample_names(store.samples)
    for name in names:
        (folder / name.folder).mkdir(parents=True, exist_ok=True)
    _describe(store, operators, folder)
    facts = store.samples.reset_index()
    texts = [name for name in facts.columns if facts[name].dtype == object]
    facts[texts] = facts[texts].map(lambda cell: guard_cell(cell) if cell is not None else None)
    facts.insert(1, "file", [f"{name.folder}/{name.stem}_meas-*_relmat.tsv" for name in names])
    write_text(folder / "samples.tsv", facts.to_csv(sep="\t", index=False, na_rep=MISSING))
    header = _line([guard_cell(name) for name in store.regions])
    for operator in operators:
        label = measure_label(operator)
        for block in range(store.layout.n_blocks):
            rows = np.arange(len(store))[store.layout.block_rows(block)]
            for row, matrix in zip(rows, store.matrices(operator, rows), strict=True):
                name = names[row]
                path = folder / name.folder / f"{name.stem}_meas-{label}_relmat.tsv"
                path.write_text(header + _text(matrix), encoding="utf-8")
                ticker.advance()
    return len(operators) * len(store)


def _line(cells: Sequence[str]) -> str:
    """Return cells as one line; a tab or a line end inside a cell is quoted, as pandas reads it."""
    stream = io.StringIO()
    csv.writer(stream, delimiter="\t", lineterminator="\n").writerow(cells)
    return stream.getvalue()


def _text(matrix: NDArray[np.float32]) -> str:
    # Nine digits bring every float32 back exactly.
    lines = ("\t".join("n/a" if v != v else f"{v:.9g}" for v in row) for row in matrix.tolist())  # noqa: PLR0124 (NaN)
    return "\n".join(lines) + "\n"


def _describe(store: FCStore, operators: list[str], folder: Path) -> None:
    made = {"Name": "sclcs", "Version": sclcs.__version__}
    write_json(
        folder / "dataset_description.json",
        {
            "Name": "Functional connectivity",
            "BIDSVersion": BIDS_VERSION,
            "DatasetType": "derivative",
            "GeneratedBy": [made],
            "SourceCohort": {"Fingerprint": store.fingerprint, "Seeds": store.seeds},
        },
    )
    table = catalogue()
    for operator in operators:
        # One description for all files of a measure: BIDS inherits it downwards.
        write_json(
            folder / f"meas-{measure_label(operator)}_relmat.json",
            _sidecar(operator, table.loc[operator].to_dict(), store),
        )


def _sidecar(operator: str, facts: Mapping[Any, Any], store: FCStore) -> dict[str, Any]:
    directed = facts["symmetry"] != "symmetric"
    return {
        "RelationshipMeasure": operator,
        "MeasureDescription": facts["description"],
        "Weighted": True,
        "Directed": directed,
        "Orientation": facts["orientation"] if directed else MISSING,
        "ValidDiagonal": False,
        "StorageFormat": "Full",
        "NonNegative": "unsigned" in str(facts["labels"]).split(),
        "Reference": facts["reference"],
        "Quirk": facts["quirk"] or MISSING,
        "Nodes": list(store.regions),
        "RepetitionTime": store.tr,
    }


def _write_npz(store: FCStore, operators: list[str], folder: Path, ticker: Ticker) -> int:
    write_text(folder / "samples.csv", table_to_csv(store.samples, guarded=True))
    for operator in operators:
        np.savez_compressed(
            folder / f"{operator}.npz",
            matrices=store.matrices(operator),
            sample_ids=np.array(store.sample_ids, dtype=str),
            regions=np.array(store.regions, dtype=str),
            operator=np.array(operator),
        )
        ticker.advance(len(store))
    return len(operators)


Writer = Callable[[FCStore, list[str], Path, Ticker], int]

#: How to write each format.
FORMATS: Mapping[str, Writer] = MappingProxyType({"relmat": _write_relmat, "npz": _write_npz})
