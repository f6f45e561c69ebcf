"""Making an FC store, writing what was computed for it, and repairing its metadata."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sclcs
from sclcs._core import (
    DamagedStoreError,
    InputError,
    SclcsError,
    atomic_directory,
    bytes_digest,
    explain_write_errors,
    get_logger,
    name_first,
    text_digest,
    write_text,
)
from sclcs.cohort import Cohort, column_kinds, earlier_fingerprints, table_to_csv
from sclcs.spi import (
    Array,
    OperatorOutcome,
    Stamp,
    Status,
    family_members,
    operator_facts,
    operator_stamps,
)
from sclcs.store.fc_store import SAMPLES_FILE, FCStore
from sclcs.store.layout import (
    MATRICES,
    Grid,
    Metadata,
    OperatorRow,
    Piece,
    StoreLayout,
    grid_for,
    write_metadata,
)
from sclcs.store.pieces import (
    Entry,
    PieceContent,
    checksum_of,
    encode_chunk,
    find_chunks,
    read_piece,
    remove_from_piece,
    write_piece_file,
)

_SOFTWARE = ("numpy", "scipy", "numba", "zarr")

_log = get_logger(__name__)


def create_store(
    path: str | os.PathLike[str],
    cohort: Cohort,
    fingerprint: str,
    *,
    block_size: int | None = None,
) -> FCStore:
    """Make an FC store without operators.

    Parameters
    ----------
    path : path-like
        A folder that does not exist yet. It appears only when it is complete.
    cohort : Cohort
        The samples: the whole cohort or a core-set of it.
    fingerprint : str
        Of the whole cohort.
    block_size : int, optional
        Samples per piece; by default chosen for every family by its cost.
    """
    with atomic_directory(path) as folder:
        (folder / MATRICES).mkdir()
        _describe(folder, Metadata(_about(cohort, fingerprint, block_size)), cohort)
    return FCStore.open(path)


def _about(cohort: Cohort, fingerprint: str, block_size: int | None) -> dict[str, Any]:
    software = {name: version(name) for name in _SOFTWARE}
    return {
        "sclcs_version": sclcs.__version__,
        "fingerprint": fingerprint,
        "samples": _samples_digest(fingerprint, cohort),
        "regions": list(cohort.regions),
        "tr": cohort.tr,
        "n_timepoints": cohort.n_timepoints,
        "n_samples": len(cohort),
        "block_size": block_size,
        "provenance": {"cohort": cohort.provenance, "software": software},
    }


def _samples_digest(fingerprint: str, cohort: Cohort) -> str:
    """Return what every piece says of whose matrices it holds."""
    return text_digest("\n".join([fingerprint, *cohort.sample_ids]))


def _describe(folder: Path, metadata: Metadata, cohort: Cohort) -> None:
    """Write table and metadata; killed in between, the store is repaired as if damaged."""
    table = table_to_csv(cohort.samples, guarded=True)
    write_text(folder / SAMPLES_FILE, table)
    home = "" if cohort.path is None else os.path.relpath(cohort.path.absolute(), folder.absolute())
    about = {
        **metadata.about,
        "cohort": home,
        "columns": column_kinds(cohort.samples),
        "table": bytes_digest(table.encode("utf-8")),
    }
    write_metadata(folder, replace(metadata, about=about))


def add_operators(store: FCStore, operators: Iterable[str], seed: int = 0) -> None:
    """Make room for operators; those that are there already must have today's version.

    Operators that draw random numbers and are there with another seed are taken out first:
    no seed decides the numbers of the others, so they stay. So are those that were not kept.
    """
    wanted, known = operator_stamps(operators, seed), store.stamps
    _refuse_other_versions(store, known, wanted)
    again = [name for name in store.not_kept if name in wanted]
    forget_operators(store, [*again, *outdated_operators(known, wanted)])
    metadata = store.layout.metadata()
    new = {
        name: OperatorRow(stamp.version, stamp.seed)
        for name, stamp in wanted.items()
        if name not in metadata.operators
    }
    if new:
        members = family_members(new).items()
        grids = {family: _grid(store, family, names) for family, names in members}
        changed = metadata.changed({**metadata.operators, **new})
        changed = replace(changed, families={**metadata.families, **grids})
        write_metadata(store.layout.path, changed)


def _grid(store: FCStore, family: str, names: Sequence[str]) -> Grid:
    grid = store.layout.grid(family)
    left_out = [name for name in names if name not in grid.operators]
    if left_out:
        raise InputError(
            f"{store.path} was made when {name_first(left_out)} did not exist and has no room for "
            "it; compute it in another folder."
        )
    return grid


def outdated_operators(known: Mapping[str, Stamp], wanted: Mapping[str, Stamp]) -> list[str]:
    """Return the operators whose numbers would be others today."""
    return [name for name, stamp in wanted.items() if known.get(name, stamp) != stamp]


def _refuse_other_versions(
    store: FCStore, known: Mapping[str, Stamp], wanted: Mapping[str, Stamp]
) -> None:
    other = [
        f"{name} (there {known[name].version}, now {stamp.version})"
        for name, stamp in wanted.items()
        if name in known and known[name].version != stamp.version
    ]
    if other:
        raise InputError(
            f"{store.path} holds operators computed by another version of their code: "
            f"{name_first(other)}. Results of two versions are never mixed: compute them again "
            "with --force, or choose another folder."
        )


def forget_operators(store: FCStore, operators: Iterable[str]) -> None:
    """Take operators out of a store, as far as they are there, so that they are computed again."""
    layout, metadata = store.layout, store.layout.metadata()
    present = [name for name in operators if name in metadata.operators]
    if not present:
        return
    # They must not count as complete while they go: killed in between, the rest is work to do.
    rows = {name: row for name, row in metadata.operators.items() if name not in present}
    half = {name: replace(metadata.operators[name], complete=False) for name in present}
    write_metadata(layout.path, metadata.changed({**rows, **half}))
    _remove(layout, present, entries=True)
    write_metadata(layout.path, metadata.changed(rows))


def drop_matrices(store: FCStore, operators: Iterable[str]) -> int:
    """Remove the matrices of operators that are complete; return how many bytes were freed.

    What became of them stays known. The list of operators says so first: killed in between,
    nothing is taken for damaged. No other process may write to the store.
    """
    done = {*store.complete_operators, *store.not_kept}
    wanted = [name for name in dict.fromkeys(operators) if name in done]
    known = store.layout.metadata().operators
    _note(store, {name: replace(known[name], kept=False) for name in wanted})
    return _remove(store.layout, wanted, entries=False)


def _remove(layout: StoreLayout, operators: Iterable[str], *, entries: bool) -> int:
    with explain_write_errors(layout.path):
        return sum(
            remove_from_piece(layout, family, block, names, entries=entries)
            for family, names in family_members(operators).items()
            for block in range(layout.n_blocks(family))
        )


def note_complete(store: FCStore, operators: Iterable[str]) -> None:
    """Write down that operators are done on every sample: what is missing later is damage."""
    known = store.layout.metadata().operators
    _note(store, {name: replace(known[name], complete=True) for name in operators})


def _note(store: FCStore, rows: Mapping[str, OperatorRow]) -> None:
    metadata = store.layout.metadata()
    changed = metadata.changed({**metadata.operators, **rows})
    if changed != metadata:
        write_metadata(store.layout.path, changed)


def remove_leftovers(layout: StoreLayout) -> None:
    """Remove the temporary files of writers that were killed; no other may be at work."""
    for partial in layout.path.rglob("*.partial"):
        partial.unlink(missing_ok=True)


def write_piece(
    layout: StoreLayout,
    piece: Piece,
    outcomes: Mapping[str, OperatorOutcome],
    seed: int = 0,
    copied_seconds: Mapping[str, float] | None = None,
) -> None:
    """Write what became of a piece, beside what is there of other operators of its family.

    Parameters
    ----------
    layout : StoreLayout
    piece : Piece
    outcomes : mapping of str to OperatorOutcome
        From :func:`sclcs.spi.compute_block`, one per operator of the piece.
    seed : int
        The user's.
    copied_seconds : mapping, optional
        By operator: the part of its seconds that was spent before, in another store.
    """
    entries: dict[str, Entry] = {}
    chunks: dict[str, bytes] = {}
    for name, chunk in find_chunks(layout, piece.family, piece.block).items():
        if name not in piece.operators:
            entries[name] = chunk.entry
            if chunk.span is not None:
                chunks[name] = chunk.read()
    shape = layout.chunk_shape(piece.family)
    for name, stamp in operator_stamps(piece.operators, seed).items():
        outcome = outcomes[name]
        values, too_large = _as_float32(outcome.matrices)
        chunks[name] = encode_chunk(values, shape)
        entries[name] = Entry(
            stamp.version,
            checksum_of(chunks[name]),
            outcome.seconds,
            _exceptions(outcome, too_large),
            stamp.seed,
            (copied_seconds or {}).get(name, 0.0),
        )
    write_piece_file(layout, piece.family, piece.block, entries, chunks)


def _exceptions(outcome: OperatorOutcome, too_large: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return status and reason of the samples that are not ok, by row in the block."""
    found = {
        row: (str(status), why)
        for row, (status, why) in enumerate(zip(outcome.status, outcome.reason, strict=True))
        if status != Status.OK
    }
    for row in too_large:
        found.setdefault(row, (str(Status.PARTIAL), "values too large for float32"))
    return found


def _as_float32(matrices: Array) -> tuple[NDArray[np.float32], list[int]]:
    """Round to float32; what does not fit becomes NaN, and its samples are named."""
    with np.errstate(over="ignore"):
        values = matrices.astype(np.float32)
    lost = np.isinf(values) & np.isfinite(matrices)
    values[lost] = np.nan
    return values, np.flatnonzero(lost.any(axis=(1, 2))).tolist()


def open_or_repair(path: Path, chosen: Cohort, whole: Cohort) -> FCStore:
    """Open a store; a table or metadata that is damaged is written again from the cohort.

    A store that was made before its cohort was labelled (`sclcs cohort label`) takes the new
    metadata: the signals, and so the matrices, are the same. Matrices may still be damaged;
    filling the store finds that out.

    Parameters
    ----------
    path : Path
        The store.
    chosen : Cohort
        The samples that it should hold, in order.
    whole : Cohort
        All its samples, of whom the store may hold some.
    """
    try:
        store = FCStore.open(path)
    except DamagedStoreError as error:
        _repair(path, chosen, whole, error)
        return FCStore.open(path)
    labelled = (
        store.fingerprint != whole.fingerprint
        and store.fingerprint in earlier_fingerprints(whole.provenance)
        and store.sample_ids == chosen.sample_ids
        and list(store.regions) == list(chosen.regions)
    )
    if not labelled:
        return store
    _log.warning("The cohort was labelled since: %s takes its new metadata.", path)
    metadata = store.layout.metadata()
    old = metadata.about
    new = _about(chosen, whole.fingerprint, old["block_size"]) | {"samples": old["samples"]}
    _describe(path.absolute(), replace(metadata, about=new), chosen)
    return FCStore.open(path)


def _repair(path: Path, chosen: Cohort, whole: Cohort, why: DamagedStoreError) -> None:
    """Write table and metadata again, if what is left is of this cohort.

    Pieces carry checksums of their own, so nothing that is kept can be wrong; they say which
    operators there are.
    """
    layout = StoreLayout(path.absolute(), len(chosen), chosen.n_regions)
    ours = [whole.fingerprint, *earlier_fingerprints(whole.provenance)]
    pieces = [read_piece(file) for file in sorted(layout.path.glob(f"{MATRICES}/*/c.*"))]
    metadata = _from_pieces(pieces)
    samples = {str(held.origin["samples"]) for held in pieces if held.origin}
    try:
        there = layout.metadata()
    except SclcsError:
        pass
    else:
        samples.add(there.about["samples"])
        metadata = replace(
            metadata.changed({**metadata.operators, **there.operators}),
            about=there.about,
            families={**metadata.families, **there.families},
        )
    if not samples:
        raise why
    if len(samples) > 1 or not samples <= {_samples_digest(one, chosen) for one in ours}:
        raise InputError(
            f"The FC store {path} is damaged and seems to be of another cohort or core-set, so it "
            "is not repaired; choose another folder."
        ) from why
    _log.warning("Writing the table and the metadata of %s again from the cohort.", path)
    block_size = metadata.about.get("block_size")
    about = _about(chosen, whole.fingerprint, block_size) | {"samples": samples.pop()}
    _describe(layout.path, replace(metadata, about=about), chosen)
    store = FCStore.open(path)
    note_complete(store, [*store.complete_operators, *store.not_kept])


def _from_pieces(pieces: Iterable[PieceContent]) -> Metadata:
    """Return which operators there are, as far as pieces say."""
    known, rows, grids = operator_facts(), dict[str, OperatorRow](), dict[str, Grid]()
    for held in pieces:
        for name, entry in held.entries.items():
            if name in known:
                kept = name in held.spans or (name in rows and rows[name].kept)
                rows[name] = OperatorRow(entry.version, entry.seed, kept)
        if held.origin and held.entries.keys() & known.keys():
            family, size = str(held.origin["family"]), held.origin["block_size"]
            if isinstance(size, int):
                grids[family] = grid_for(family, size)
    return replace(Metadata({}).changed(rows), families=grids)
