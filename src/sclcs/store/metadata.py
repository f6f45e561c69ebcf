"""The ``zarr.json`` of an FC store: what it is about and which operators it holds.

The attributes end with a digest of themselves, so that a change is noticed. Everything a reader
needs, also zarr, is in this one file: reading many small ones whenever a matrix is asked for is
slow, on a network disk very slow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sclcs._core import (
    DamagedStoreError,
    NotFoundError,
    ReadOnce,
    SclcsError,
    UnreadableFileError,
    signed,
    write_json,
)
from sclcs.spi import Stamp, operator_facts
from sclcs.store.codec import COMPRESSION_LEVEL

__all__ = [
    "KIND",
    "MATRICES",
    "RESUME",
    "Grid",
    "Metadata",
    "OperatorRow",
    "read_metadata",
    "write_metadata",
]

KIND = "fc-store"
FORMAT_VERSION = 1
MATRICES = "matrices"
RESUME = "run the same `sclcs compute` again: it computes what is missing or damaged"
_FILE = "zarr.json"


@dataclass(frozen=True)
class OperatorRow:
    """An operator of a store.

    Parameters
    ----------
    version : str
        From :func:`sclcs.spi.versions.operator_version`.
    seed : int, optional
        The user's, if the operator draws random numbers.
    kept : bool
        Whether its matrices stay; what became of them is known in any case.
    complete : bool
        Whether it was done on every sample: what is missing now is damage.
    """

    version: str
    seed: int | None
    kept: bool = True
    complete: bool = False

    @property
    def stamp(self) -> Stamp:
        """What decides the numbers."""
        return Stamp(self.version, self.seed)


@dataclass(frozen=True)
class Grid:
    """How the matrices of a family are kept.

    Parameters
    ----------
    block_size : int
        Samples per piece.
    operators : tuple of str
        The first axis of its array.
    """

    block_size: int
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Metadata:
    """What a store says about itself.

    Parameters
    ----------
    about : mapping
        The cohort, the regions and so on: JSON values.
    operators : mapping of str to OperatorRow
        Those that were asked for, known to this program or not.
    families : mapping of str to Grid
    """

    about: Mapping[str, Any]
    operators: Mapping[str, OperatorRow] = field(default_factory=dict)
    families: Mapping[str, Grid] = field(default_factory=dict)

    @property
    def size(self) -> tuple[int, int]:
        """Number of samples and of regions."""
        return int(self.about["n_samples"]), len(self.about["regions"])

    @property
    def known(self) -> dict[str, OperatorRow]:
        """The operators that the catalogue knows now, in its order."""
        return {name: self.operators[name] for name in operator_facts() if name in self.operators}

    @property
    def stamps(self) -> dict[str, Stamp]:
        """What decides the numbers of the known operators."""
        return {name: row.stamp for name, row in self.known.items()}

    @property
    def unknown(self) -> list[str]:
        """Operators that the catalogue does not know now, such as a user's own."""
        return [name for name in self.operators if name not in operator_facts()]

    def changed(self, operators: Mapping[str, OperatorRow]) -> Metadata:
        """Return the same store with other operators."""
        order = {name: place for place, name in enumerate(operator_facts())}
        names = sorted(operators, key=lambda name: (order.get(name, len(order)), name))
        return replace(self, operators={name: operators[name] for name in names})


def write_metadata(store: Path, metadata: Metadata) -> None:
    """Write the metadata of a store in one step."""
    write_json(store / _FILE, _content(metadata))
    _metadata.forget(store / _FILE)


def _content(metadata: Metadata) -> dict[str, Any]:
    """Return the whole file; zarr finds the arrays in it (consolidated metadata)."""
    families = sorted(metadata.families)
    attributes = {
        "sclcs_kind": KIND,
        "format_version": FORMAT_VERSION,
        **metadata.about,
        "operators": {name: asdict(row) for name, row in metadata.operators.items()},
        "families": {name: asdict(metadata.families[name]) for name in families},
    }
    group = {"zarr_format": 3, "node_type": "group"}
    arrays = {f"{MATRICES}/{name}": _array(metadata, name) for name in families}
    return {
        **group,
        "attributes": signed(json.loads(json.dumps(attributes))),
        "consolidated_metadata": {
            "kind": "inline",
            "must_understand": False,
            "metadata": {MATRICES: {**group, "attributes": {}}, **arrays},
        },
    }


def _array(metadata: Metadata, family: str) -> dict[str, Any]:
    """Return what zarr needs to know of a family: one shard per piece."""
    grid, (n_samples, n_regions) = metadata.families[family], metadata.size
    count, square = len(grid.operators), [n_regions, n_regions]
    to_bytes = {"name": "bytes", "configuration": {"endian": "little"}}
    checksum = {"name": "crc32c"}
    compression = {"level": COMPRESSION_LEVEL, "checksum": False}
    sharding = {
        "chunk_shape": [1, grid.block_size, *square],
        "codecs": [to_bytes, {"name": "zstd", "configuration": compression}, checksum],
        "index_codecs": [to_bytes, checksum],
        "index_location": "end",
    }
    shard = {"chunk_shape": [count, grid.block_size, *square]}
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [count, n_samples, *square],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": shard},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": "NaN",
        "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
        "dimension_names": ["spi", "sample", "source", "target"],
        "attributes": {"spi": list(grid.operators)},
        "storage_transformers": [],
    }


def _read(path: Path) -> Metadata:
    try:
        content = json.loads(path.read_bytes())
        attributes = content["attributes"]
        if attributes["sclcs_kind"] == KIND:
            return _checked(path.parent, content)
    except SclcsError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _gone(path.parent) from error
    raise _not_a_store(path.parent)


def _checked(store: Path, content: Mapping[str, Any]) -> Metadata:
    attributes = dict(content["attributes"])
    if attributes["format_version"] != FORMAT_VERSION:
        raise UnreadableFileError(
            f"Expected an FC store of format {FORMAT_VERSION} at {store}, found format "
            f"{attributes['format_version']!r}, written by sclcs "
            f"{attributes.get('sclcs_version')}: update sclcs, or compute the store again."
        )
    rows = {name: OperatorRow(**row) for name, row in attributes["operators"].items()}
    grids = {
        name: Grid(row["block_size"], tuple(row["operators"]))
        for name, row in attributes["families"].items()
    }
    left_out = {"sclcs_kind", "format_version", "operators", "families", "digest"}
    about = {name: value for name, value in attributes.items() if name not in left_out}
    metadata = Metadata(about, rows, grids)
    if content != _content(metadata):
        raise _gone(store)
    return metadata


_metadata = ReadOnce(_read, most=64)


def read_metadata(store: Path) -> Metadata:
    """Read the metadata of a store, again only if it has changed."""
    return _metadata(store / _FILE)


def _gone(store: Path) -> SclcsError:
    """Return what to say of a folder without metadata, or with metadata that is damaged."""
    if not store.exists():
        return NotFoundError(
            f"Expected a {KIND} folder at {store}, but nothing is there; check the path."
        )
    if not (store / MATRICES).is_dir():
        return _not_a_store(store)
    return DamagedStoreError(
        f"The metadata of the {KIND} at {store} ({_FILE}) is damaged or gone; {RESUME}."
    )


def _not_a_store(store: Path) -> UnreadableFileError:
    return UnreadableFileError(
        f"Expected a {KIND} written by sclcs at {store}, but found something else; `sclcs compute` "
        "makes one in a new folder."
    )
