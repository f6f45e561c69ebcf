"""Tables named and described as the draft of BIDS for relationship matrices (BEP017) proposes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sclcs
from sclcs.compute.exports.names import measure_label
from sclcs.compute.exports.order import ExportOrder
from sclcs.core.cells import guard_cell
from sclcs.core.files import write_json, write_text
from sclcs.spi.catalogue import catalogue

__all__ = ["write_relmat"]

BIDS_VERSION = "1.10.0"
MISSING = "n/a"  # as BIDS writes it


def write_relmat(order: ExportOrder) -> int:
    """Write ``sub-<label>[/ses-<label>]/func/sub-..._meas-<operator>_relmat.tsv``.

    With the regions as header, a description per operator, and ``samples.tsv`` that says which
    sample is which file.
    """
    store, operators, folder = order.rows.store, order.operators, order.folder
    names = order.names()
    for name in names:
        (folder / name.folder).mkdir(parents=True, exist_ok=True)
    _describe(order)
    facts = order.samples.reset_index()
    texts = [name for name in facts.columns if facts[name].dtype == object]
    facts[texts] = facts[texts].map(lambda cell: guard_cell(cell) if cell is not None else None)
    pattern = f"{_segmentation(order)}_meas-*_relmat.tsv"
    facts.insert(1, "file", [f"{name.folder}/{name.stem}{pattern}" for name in names])
    write_text(folder / "samples.tsv", facts.to_csv(sep="\t", index=False, na_rep=MISSING))
    header = _line([guard_cell(name) for name in store.regions])
    for operator in operators:
        end = f"{_segmentation(order)}_meas-{measure_label(operator)}_relmat.tsv"
        for name, matrix in zip(names, order.rows.matrices(operator), strict=True):
            path = folder / name.folder / f"{name.stem}{end}"
            path.write_text(header + _text(matrix), encoding="utf-8")
            order.ticker.advance()
    return len(operators) * len(order.rows)


def _segmentation(order: ExportOrder) -> str:
    """Return the entity that names the atlas, if the cohort tells it."""
    options = order.rows.store.provenance.get("cohort", {}).get("options") or {}
    atlas = re.sub(r"[^A-Za-z0-9]", "", Path(str(options.get("atlas") or "")).name.split(".")[0])
    return f"_seg-{atlas}" if atlas else ""


def _line(cells: Sequence[str]) -> str:
    """Return cells as one line; a tab or a line end inside a cell is quoted, as pandas reads it."""
    stream = io.StringIO()
    csv.writer(stream, delimiter="\t", lineterminator="\n").writerow(cells)
    return stream.getvalue()


def _text(matrix: NDArray[np.float32]) -> str:
    # Nine digits bring every float32 back exactly.
    lines = ("\t".join("n/a" if v != v else f"{v:.9g}" for v in row) for row in matrix.tolist())  # noqa: PLR0124 (NaN)
    return "\n".join(lines) + "\n"


def _describe(order: ExportOrder) -> None:
    store, folder = order.rows.store, order.folder
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
    for operator in order.operators:
        # One description for all files of a measure: BIDS inherits it downwards.
        write_json(
            folder / f"meas-{measure_label(operator)}_relmat.json",
            _sidecar(operator, table.loc[operator].to_dict(), order),
        )


def _sidecar(operator: str, facts: Mapping[Any, Any], order: ExportOrder) -> dict[str, Any]:
    store = order.rows.store
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
        "Averaged": "over the windows of each subject" if order.rows.per == "subject" else MISSING,
    }
