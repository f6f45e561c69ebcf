"""Files of MATLAB toolboxes: NBS, BrainNet Viewer, CONN and GraphVar.

None of them knows missing values or a diagonal without meaning: both are 0 in their files.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.table import label_column
from sclcs.compute.exports.order import ExportOrder, file_labels, text_matrix, without_diagonal
from sclcs.core.errors import InputError, name_first
from sclcs.core.files import write_text

__all__ = ["write_brainnet", "write_conn", "write_graphvar", "write_nbs"]

_NOT_PLAIN = re.compile(r"\s+")


def write_nbs(order: ExportOrder) -> int:
    """Write what the Network-Based Statistic toolbox loads.

    ``<operator>/matrices/<sample>.txt`` and the same as one array in ``<operator>/matrices.mat``;
    ``nodeLabels.txt``; ``COG.txt`` if coordinates are known; ``designMatrix.txt`` if a group is
    asked for. NBS tests undirected connections: directed matrices are the mean of both
    directions.
    """
    from scipy.io import savemat

    write_text(order.folder / "nodeLabels.txt", "\n".join(map(_word, order.regions)) + "\n")
    if order.coordinates is not None:
        centres = order.require_coordinates("NBS")
        write_text(order.folder / "COG.txt", text_matrix(centres))
    if order.group is not None:
        _write_design(order)
    labels = file_labels(order)
    for operator in order.operators:
        place = order.folder / operator / "matrices"
        place.mkdir(parents=True)
        stack = [_undirected(matrix) for matrix in order.rows.matrices(operator)]
        for label, values in zip(labels, stack, strict=True):
            write_text(place / f"{label}.txt", text_matrix(values))
            order.ticker.advance()
        savemat(place.with_name("matrices.mat"), {"Mat": np.stack(stack, axis=-1)})
    write_text(order.folder / "subjects.txt", "\n".join(labels) + "\n")
    return len(order.operators) * len(order.rows)


def _undirected(matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    values = without_diagonal(matrix)
    return (values + values.T) / 2


def _write_design(order: ExportOrder) -> None:
    """Write one column per class; the order of the columns stands beside it."""
    column = label_column(order.samples, str(order.group))
    missing = order.samples.index[column.isna()]
    if len(missing):
        raise InputError(
            f"A design matrix needs {order.group} of everybody; it is missing (or differs between "
            f"windows) for {name_first(missing)}; complete it, or leave out --group."
        )
    classes = sorted(column.unique(), key=str)
    values = np.array([[value == name for name in classes] for value in column], dtype=np.float64)
    write_text(order.folder / "designMatrix.txt", text_matrix(values))
    write_text(order.folder / "designColumns.txt", "\n".join(map(str, classes)) + "\n")


def write_brainnet(order: ExportOrder) -> int:
    """Write ``regions.node`` and ``<operator>/<sample>.edge`` for BrainNet Viewer.

    A node is x, y, z, colour, size and label; ``mean.edge`` is the mean of all matrices.
    """
    centres = order.require_coordinates("BrainNet Viewer")
    lines = [
        "\t".join([*(f"{value:g}" for value in centre), "1", "1", _word(name)])
        for centre, name in zip(centres, order.regions, strict=True)
    ]
    write_text(order.folder / "regions.node", "\n".join(lines) + "\n")
    labels = file_labels(order)
    for operator in order.operators:
        (order.folder / operator).mkdir()
        total = np.zeros((len(order.regions), len(order.regions)))
        for label, matrix in zip(labels, order.rows.matrices(operator), strict=True):
            values = without_diagonal(matrix)
            total += values / len(order.rows)
            write_text(order.folder / operator / f"{label}.edge", text_matrix(values, "\t"))
            order.ticker.advance()
        write_text(order.folder / operator / "mean.edge", text_matrix(total, "\t"))
    return len(order.operators) * (len(order.rows) + 1)


def write_conn(order: ExportOrder) -> int:
    """Write ``<operator>/resultsROI_Subject001_Condition001.mat``, as CONN's first level does.

    Variables ``Z`` (source, target), ``names``, ``names2`` and ``xyz``; ``_list_subjects.csv`` says
    who is who. Values are those of the operator, without Fisher's transform.
    """
    from scipy.io import savemat

    names = _cells(list(order.regions))
    known = order.coordinates or {}
    nowhere = (np.nan, np.nan, np.nan)
    xyz = _cells([np.array([known.get(name, nowhere)]) for name in order.regions])
    for operator in order.operators:
        place = order.folder / operator
        place.mkdir()
        for number, matrix in enumerate(order.rows.matrices(operator), start=1):
            values = matrix.astype(np.float64)
            np.fill_diagonal(values, np.nan)  # as CONN leaves it
            content = {"Z": values, "names": names, "names2": names, "xyz": xyz}
            savemat(place / f"resultsROI_Subject{number:03d}_Condition001.mat", content)
            order.ticker.advance()
    _write_numbers(order, "_list_subjects.csv")
    return len(order.operators) * len(order.rows)


def write_graphvar(order: ExportOrder) -> int:
    """Write ``<operator>/CorrMatrix_<subject>.mat`` and the two sheets that GraphVar asks for.

    Each file has the variable ``CorrMatrix``; ``Variables.xlsx`` has one row per file, whose first
    column is the part of the file name that tells it; ``BrainRegions.xlsx`` lists the regions.
    """
    from scipy.io import savemat

    labels = file_labels(order)
    for operator in order.operators:
        place = order.folder / operator
        place.mkdir()
        for label, matrix in zip(labels, order.rows.matrices(operator), strict=True):
            savemat(place / f"CorrMatrix_{label}.mat", {"CorrMatrix": without_diagonal(matrix)})
            order.ticker.advance()
    table = order.samples.reset_index(drop=True)
    table.insert(0, "Subj_ID", labels)
    known = order.coordinates or {}
    regions = pd.DataFrame(
        {
            "include": 1,
            "short": [_word(name) for name in order.regions],
            "name": list(order.regions),
            **{
                axis: [known[name][k] if name in known else None for name in order.regions]
                for k, axis in enumerate("xyz")
            },
        }
    )
    table.to_excel(order.folder / "Variables.xlsx", index=False)
    regions.to_excel(order.folder / "BrainRegions.xlsx", index=False)
    return len(order.operators) * len(order.rows)


def _word(name: str) -> str:
    """Return a label without white space: a space would begin another column."""
    return _NOT_PLAIN.sub("_", name.strip()) or "-"


def _cells(values: list[object]) -> NDArray[np.object_]:
    cells = np.empty((1, len(values)), dtype=object)
    for place, value in enumerate(values):
        cells[0, place] = value
    return cells


def _write_numbers(order: ExportOrder, name: str) -> None:
    table = order.samples.reset_index()
    table.insert(0, "number", range(1, len(table) + 1))
    write_text(order.folder / name, table.to_csv(index=False))
