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
from sclcs.cohort.facts.relabel import earlier_fingerprints
from sclcs.core.errors import DamagedStoreError, InputError
from sclcs.core.files import explain_write_errors
from sclcs.core.logging import get_logger
from sclcs.core.seal import SEAL, read_seal
from sclcs.spi.fc_index import changed_arrays, index_problems, unlisted_operators
from sclcs.spi.fc_records import INDEX, MATRICES, index_is_intact, read_array_stamps, write_index
from sclcs.spi.fc_store import FCStore
from sclcs.spi.fc_writer import StoreFacts, create_operators, replace_facts, write_facts
from sclcs.store import create_group

__all__ = ["mend_store"]

_log = get_logger(__name__)


def mend_store(path: Path, chosen: Cohort, whole: Cohort) -> FCStore:
    """Open a store; what is damaged of its table, metadata or list of operators is made again.

    A store that was made before its cohort was labelled (`sclcs cohort label`) takes the new
    facts: the signals, and so the matrices, are the same.

    Parameters
    ----------
    path : Path
        The store.
    chosen : Cohort
        The samples that it should hold, in order.
    whole : Cohort
        All its samples, of whom the store may hold some.

    Returns
    -------
    FCStore
        Its matrices may still be damaged; filling it finds that out.
    """
    try:
        store = FCStore.open_unchecked(path)
    except DamagedStoreError as error:
        _restore_facts(path, chosen, whole, error)
        store = FCStore.open_unchecked(path)
    if _is_of_the_same_signals(store, chosen, whole):
        _log.warning("The cohort was labelled since: %s takes its new facts.", path)
        layout = store.layout
        facts = StoreFacts.of(chosen, whole.fingerprint, layout.block_size, layout.blocks_per_shard)
        with explain_write_errors(path):
            replace_facts(path, facts)
        store = FCStore.open_unchecked(path)
    wrong = index_problems(store.layout)
    if wrong:
        _log.warning("Repairing the list of operators of %s: %s.", path, ", ".join(wrong[:5]))
        with explain_write_errors(path):
            _restore_index(store)
    return store


def _is_of_the_same_signals(store: FCStore, chosen: Cohort, whole: Cohort) -> bool:
    """Say whether a store has an earlier fingerprint of the cohort, and nothing but facts changed.

    Labelling verifies the signals and leaves them alone (:func:`sclcs.cohort.label_cohort`), so
    every fingerprint in the cohort's history stands for the same ones.
    """
    return (
        store.fingerprint != whole.fingerprint
        and store.fingerprint in earlier_fingerprints(whole)
        and store.sample_ids == chosen.sample_ids
        and list(store.regions) == list(chosen.regions)
        and store.layout.blocks_per_shard > 0  # older formats are read, but not written
    )


def _restore_facts(path: Path, chosen: Cohort, whole: Cohort, why: DamagedStoreError) -> None:
    """Write table and metadata again, if what is left tells that the store is of this cohort."""
    known = _what_is_left(path)
    if not known:
        raise why
    ours = {whole.fingerprint, *earlier_fingerprints(whole)}
    if not {facts.get("fingerprint") for facts in known} <= ours:
        raise InputError(
            f"The FC store {path} is damaged and seems to be of another cohort or core-set, so it "
            "is not repaired; choose another folder."
        ) from why
    _log.warning("Writing the table and the metadata of %s again from the cohort.", path)
    sizes = [_size(known, name) for name in ("block_size", "blocks_per_shard")]
    if sizes[1] is None:
        raise why  # of an older format, which is read but not written
    with explain_write_errors(path):
        for name in ("zarr.json", f"{MATRICES}/zarr.json", SEAL):
            _remove(path / name)
        (path / MATRICES).mkdir(exist_ok=True)
        group = create_group(path)
        group.create_group(MATRICES)
        write_facts(path, group, StoreFacts.of(chosen, whole.fingerprint, *sizes))


def _size(known: list[dict[str, Any]], name: str) -> int | None:
    sizes = {facts[name] for facts in known if isinstance(facts.get(name), int)}
    return sizes.pop() if len(sizes) == 1 else None


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
    stamps = dict(layout.index().stamps)
    told = read_array_stamps(layout.path)
    for name in unlisted_operators(layout):
        stamps[name] = told[name]
    gone = [name for name in changed_arrays(layout) if name in stamps]
    create_operators(layout, {name: stamps[name] for name in gone})
    write_index(
        layout.path, {name: stamp for name, stamp in stamps.items() if _there(layout, name)}
    )


def _there(layout: Any, name: str) -> bool:  # noqa: ANN401
    return bool((layout.array_folder(name) / "zarr.json").exists())
