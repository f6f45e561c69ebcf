"""Plain files: numpy, MATLAB and comma-separated tables."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd

from sclcs.cohort.table import table_to_csv
from sclcs.compute.exports.order import ExportOrder, file_labels, plain_number
from sclcs.core.cells import guard_cell
from sclcs.core.files import write_text

__all__ = ["write_csv", "write_mat", "write_npz"]


def write_npz(order: ExportOrder) -> int:
    """Write one ``<operator>.npz`` with matrices (sample, source, target), ids and regions."""
    _write_samples(order)
    for operator in order.operators:
        np.savez_compressed(
            order.folder / f"{operator}.npz",
            matrices=np.stack(list(order.rows.matrices(operator))),
            sample_ids=np.array(order.samples.index, dtype=str),
            regions=np.array(order.regions, dtype=str),
            operator=np.array(operator),
        )
        order.ticker.advance(len(order.rows))
    return len(order.operators)


def write_mat(order: ExportOrder) -> int:
    """Write one ``<operator>.mat``: matrices (source, target, sample), ids and regions as cells."""
    from scipy.io import savemat

    _write_samples(order)
    for operator in order.operators:
        matrices = np.stack(list(order.rows.matrices(operator)), axis=-1).astype(np.float64)
        savemat(
            order.folder / f"{operator}.mat",
            {
                "matrices": matrices,
                "sample_ids": np.array(list(order.samples.index), dtype=object),
                "regions": np.array(order.regions, dtype=object),
                "operator": operator,
            },
            do_compression=True,
        )
        order.ticker.advance(len(order.rows))
    return len(order.operators)


def write_csv(order: ExportOrder) -> int:
    """Write one ``<operator>/<sample>.csv`` with the regions in its first row and column."""
    _write_samples(order)
    labels = file_labels(order)
    for operator in order.operators:
        (order.folder / operator).mkdir()
        for label, matrix in zip(labels, order.rows.matrices(operator), strict=True):
            stream = io.StringIO()
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["region", *map(guard_cell, order.regions)])
            for name, row in zip(order.regions, matrix.tolist(), strict=True):
                writer.writerow([guard_cell(name), *map(_cell, row)])
            write_text(order.folder / operator / f"{label}.csv", stream.getvalue())
            order.ticker.advance()
    return len(order.operators) * len(order.rows)


def _cell(value: float) -> str:
    return "" if np.isnan(value) else plain_number(value)


def _write_samples(order: ExportOrder) -> None:
    table: pd.DataFrame = order.samples.copy()
    write_text(order.folder / "samples.csv", table_to_csv(table, guarded=True))
