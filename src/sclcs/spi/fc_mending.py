"""Repairing an FC store: everything but the matrices can be written again.

The cohort tells what the table and the metadata were, arrays and records tell which operators
there are. Records and chunks carry checksums of their own, so nothing that is kept can be wrong;
what they do not vouch for is computed again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import DamagedStoreError, InputError
from sclcs.core.files import explain_write_errors
from sclcs.core.logging import get_logger
from sclcs.core.seal import SEAL, read_seal
from sclcs.spi.fc_index import changed_arrays, index_problems, unlisted_operators
from sclcs.spi.fc_records import INDEX, MATRICES, index_is_intact, read_array_stamps, write_index
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import create_operator, write_facts
from sclcs.store import create_group

__all__ = ["mend_store"]

_log = get_logger(__name__)


def mend_store(path: Path, chosen: Cohort, fingerprint: str) -> FCStore:
    """Open a store; what is damaged of its table, metadata or list of operators is made again.

    Parameters
    ----------
    path : Path
        The store.
    chosen : Cohort
        The samples that it should hold, in order.
    fingerprint : str
        Of the whole cohort.

    Returns
    -------
    FCStore
        Its matrices may still be damaged; filling it finds that out.
    """
    try:
        store = FCStore.open_unchecked(path)
    except DamagedStoreError as error:
        _restore_facts(path, chosen, fingerprint, error)
        store = FCStore.open_unchecked(path)
    wrong = index_problems(store.layout)
    if wrong:
        _log.warning("Repairing the list of operators of %s: %s.", path, ", ".join(wrong[:5]))
        with explain_write_errors(path):
            _restore_index(store)
    return store


def _restore_facts(path: Path, chosen: Cohort, fingerprint: str, why: DamagedStoreError) -> None:
    """Write table and metadata again, if what is left tells that the store is of this cohort."""
    known = _what_is_left(path)
    if not known:
        raise why
    if {facts.get("fingerprint") for facts in known} != {fingerprint}:
        raise InputError(
            f"The FC store {path} is damaged and seems to be of another cohort or core-set, so it "
            "is not repaired; choose another folder."
        ) from why
    _log.warning("Writing the table and the metadata of %s again from the cohort.", path)
    sizes = {facts["block_size"] for facts in known if isinstance(facts.get("block_size"), int)}
    with explain_write_errors(path):
        for name in ("zarr.json", f"{MATRICES}/zarr.json", SEAL):
            _remove(path / name)
        (path / MATRICES).mkdir(exist_ok=True)
        group = create_group(path)
        group.create_group(MATRICES)
        write_facts(path, group, chosen, fingerprint, sizes.pop() if len(sizes) == 1 else None)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _what_is_left(path: Path) -> list[dict[str, Any]]:
    """Return what the seal and the metadata say the store is, as far as each can be read."""
    known: list[dict[str, Any]] = []
    try:
        seal = read_seal(path.absolute())
        known += [dict(seal.facts)] if seal is not None else []
    except DamagedStoreError:
        pass
    if not known:  # a damaged seal vouches for nothing: the metadata must name the cohort
        try:
            facts = json.loads((path / "zarr.json").read_bytes())["attributes"]
            known += [facts] if facts["sclcs_kind"] == "fc-store" else []
        except (OSError, ValueError, LookupError, TypeError):
            pass
    return known


def _restore_index(store: FCStore) -> None:
    """Write the list of operators from what arrays and records say."""
    layout = store.layout
    if not index_is_intact(layout.path):
        _remove(layout.path / INDEX)
    stamps = layout.stamps()
    told = read_array_stamps(layout.path)
    for name in unlisted_operators(layout):
        stamps[name] = told[name]
    gone = [name for name in changed_arrays(layout) if name in stamps]
    for name in gone:
        create_operator(layout, name, stamps[name])
    write_index(
        layout.path, {name: stamp for name, stamp in stamps.items() if _there(layout, name)}
    )


def _there(layout: Any, name: str) -> bool:  # noqa: ANN401
    return bool((layout.array_folder(name) / "zarr.json").exists())
