"""Provenance as an RO-Crate: ``ro-crate-metadata.json``, plain JSON-LD without another package.

After the RO-Crate specification 1.1 (https://w3id.org/ro/crate/1.1): a graph of the folder, its
files, the action that made them, the software, and what it was made from.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sclcs
from sclcs.compute.exports.order import ExportOrder
from sclcs.core.files import write_json
from sclcs.spi.catalogue import catalogue_rows

__all__ = ["CRATE_FILE", "crate_graph", "write_crate"]

CRATE_FILE = "ro-crate-metadata.json"
_CONTEXT = "https://w3id.org/ro/crate/1.1/context"
_PROFILE = "https://w3id.org/ro/crate/1.1"


def write_crate(order: ExportOrder, name: str) -> None:
    """Describe an export in its folder.

    Parameters
    ----------
    order : ExportOrder
        What was written; the folder is complete.
    name : str
        Of the format.
    """
    store = order.rows.store
    source = store.provenance.get("cohort", {})
    facts = {
        "name": f"Functional connectivity as {name}",
        "description": (
            f"{len(order.operators)} operators, one matrix per {order.rows.per}, "
            f"{len(order.rows)} in all, {len(order.regions)} regions."
        ),
    }
    measures = [_measure(operator) for operator in order.operators]
    cohort = {
        "@id": f"#cohort-{store.fingerprint}",
        "@type": "Dataset",
        "name": "The cohort",
        "identifier": store.fingerprint,
        "isBasedOn": str(source.get("source", "")),
        "variableMeasured": [{"@id": measure["@id"]} for measure in measures],
    }
    graph = crate_graph(order.folder, facts, [cohort], measures)
    write_json(order.folder / CRATE_FILE, graph)


def _measure(operator: str) -> dict[str, Any]:
    row = catalogue_rows().get(operator, {})
    return {
        "@id": f"#{operator}",
        "@type": "PropertyValue",
        "name": operator,
        "description": str(row.get("description", "")),
        "citation": str(row.get("reference", "")),
    }


def crate_graph(
    folder: Path,
    facts: Mapping[str, Any],
    inputs: Sequence[Mapping[str, Any]],
    more: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the JSON-LD of a folder.

    Parameters
    ----------
    folder : Path
        What is described; all its files are listed.
    facts : mapping
        Name and description of the folder.
    inputs : sequence of mapping
        What it was made from.
    more : sequence of mapping
        Other entities that these mention.

    Returns
    -------
    dict
    """
    files = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name != CRATE_FILE and not _in_store(path, folder)
    )
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    software = {
        "@id": "#sclcs",
        "@type": "SoftwareApplication",
        "name": "sclcs",
        "version": sclcs.__version__,
    }
    action = {
        "@id": "#made",
        "@type": "CreateAction",
        "instrument": {"@id": "#sclcs"},
        "object": [{"@id": one["@id"]} for one in inputs],
        "result": {"@id": "./"},
        "endTime": now,
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "datePublished": now,
        "license": {"@id": "#license"},
        **facts,
        "hasPart": [{"@id": name} for name in files],
        "mentions": {"@id": "#made"},
    }
    license_ = {
        "@id": "#license",
        "@type": "CreativeWork",
        "name": "As the data they were made from; sclcs grants and takes nothing.",
    }
    metadata = {
        "@id": CRATE_FILE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": _PROFILE},
        "about": {"@id": "./"},
    }
    listed = [_file(name, folder) for name in files]
    entities = [metadata, root, license_, software, action, *inputs, *more, *listed]
    return {"@context": _CONTEXT, "@graph": [dict(entity) for entity in entities]}


def _in_store(path: Path, folder: Path) -> bool:
    """Tell whether a file is a chunk of an array: the array is one thing, not thousands."""
    return any(part.endswith(".zarr") for part in path.relative_to(folder).parts[:-1])


def _file(name: str, folder: Path) -> dict[str, Any]:
    kind, _ = mimetypes.guess_type(name)
    return {
        "@id": name,
        "@type": "File",
        "contentSize": str((folder / name).stat().st_size),
        **({"encodingFormat": kind} if kind else {}),
    }
