"""The FC store: every operator's matrices for every sample, on disk.

::

    FC/
        zarr.json                   the cohort, the regions, the operators: version of their code,
                                    seed if they are random; signed
        samples.csv                 one row of metadata per sample
        matrices/FAMILY/c.0.N.0.0   piece N of an array (spi, sample, source, target), float32:
                                    matrices, checksums, status, reasons and seconds

A *piece* of work (one family, one block of samples) leaves one file, whole or not at all. So a
store can be filled by any number of processes, killed at any moment and resumed; see
:func:`sclcs.store.compute_store`. ``zarr.open_group`` opens it as well.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    DamagedStoreError,
    Identity,
    InputError,
    UnknownNameError,
    bytes_digest,
    get_logger,
    name_first,
    require_existing,
    text_digest,
)
from sclcs.cohort import table_from_csv
from sclcs.spi import ALIASES, Stamp, Status, main_reason, operator_facts
from sclcs.store.layout import RESUME, Metadata, Piece, StoreLayout, read_metadata
from sclcs.store.pieces import (
    Entry,
    StoredChunk,
    find_chunks,
    index_is_intact,
    read_piece,
    read_rows,
)

if TYPE_CHECKING:
    import xarray as xr

SAMPLES_FILE = "samples.csv"
MISSING = "missing"  # not computed yet
STATES = (*(str(status) for status in Status), MISSING)

_log = get_logger(__name__)
Rows = Sequence[int] | NDArray[np.integer[Any]] | NDArray[np.bool_]


class _Part(NamedTuple):
    """An operator on a block of samples, and what is stored of it."""

    spi: str
    block: int
    rows: slice
    chunk: StoredChunk | None

    @property
    def entry(self) -> Entry | None:
        return None if self.chunk is None else self.chunk.entry

    @property
    def size(self) -> int:
        return int(self.rows.stop - self.rows.start)


class FCStore:
    """Matrices of operators on the samples of a cohort; :meth:`open` one to read it.

    Parameters
    ----------
    path : path-like
        The folder.
    samples : DataFrame
        One row of metadata per sample, as in the cohort.
    about : dict
        What the store says about the cohort.

    Attributes
    ----------
    samples : DataFrame
        Indexed by sample id.
    regions : tuple of str
        Names along source and target.
    tr : float or None
        Repetition time.
    n_timepoints : int or None
        Length of a sample.
    fingerprint : str
        Of the cohort that the samples come from.
    cohort_path : Path or None
        Where the cohort was when the store was made.
    provenance : dict
        The cohort's provenance, and the versions of the software that made the store.
    layout : StoreLayout
        Its files.
    """

    def __init__(
        self, path: str | os.PathLike[str], samples: pd.DataFrame, about: dict[str, Any]
    ) -> None:
        self.path = Path(path)
        self.samples = samples
        self.regions: tuple[str, ...] = tuple(about["regions"])
        self.tr: float | None = about["tr"]
        self.n_timepoints: int | None = about["n_timepoints"]
        self.fingerprint = str(about["fingerprint"])
        home = str(about.get("cohort", ""))
        self.cohort_path = Path(os.path.normpath(self.path.absolute() / home)) if home else None
        self.provenance: dict[str, Any] = dict(about["provenance"])
        self.layout = StoreLayout(self.path.absolute(), len(samples), len(self.regions))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> FCStore:
        """Open a store made by ``sclcs compute``; matrices stay on disk until asked for."""
        folder = require_existing(path, "fc-store folder")
        metadata = read_metadata(folder.absolute())
        try:
            content = (folder / SAMPLES_FILE).read_bytes()
        except OSError:
            content = b""
        if bytes_digest(content) != metadata.about["table"]:
            raise DamagedStoreError(
                f"The FC store at {folder} is damaged: {SAMPLES_FILE} is gone or not as it was "
                f"written; {RESUME}."
            )
        unlisted = StoreLayout(folder.absolute(), *metadata.size).unlisted_families()
        if unlisted:
            raise DamagedStoreError(
                f"The FC store at {folder} holds matrices of operators that its metadata does not "
                f"list ({name_first(unlisted)}): it is older than they are; {RESUME}."
            )
        if metadata.unknown:
            _log.warning(
                "%s also holds %s, which this program does not know and leaves out; register "
                "operators of your own before the store is opened.",
                path,
                name_first(metadata.unknown),
            )
        table = table_from_csv(content.decode("utf-8"), metadata.about["columns"], guarded=True)
        return cls(folder, table, dict(metadata.about))

    def __repr__(self) -> str:
        size = f"{len(self)} samples, {len(self.regions)} regions"
        return f"FCStore({len(self.operators)} operators, {size})"

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def sample_ids(self) -> list[str]:
        """The sample ids, in order."""
        return list(self.samples.index)

    @property
    def operators(self) -> list[str]:
        """The operators that were asked for, complete or not, in the order of the catalogue.

        Without those whose matrices were not kept.
        """
        return [name for name, row in self._metadata.known.items() if row.kept]

    @property
    def not_kept(self) -> list[str]:
        """The operators that were computed, but whose matrices were not kept."""
        return [name for name, row in self._metadata.known.items() if not row.kept]

    @property
    def complete_operators(self) -> list[str]:
        """The operators that are done on every sample.

        Matrices of theirs that were lost since are an error when they are read.
        """
        known = self._metadata.known
        unsure = [name for name in self.operators if not known[name].complete]
        waiting = {name for piece in self.missing(unsure) for name in piece.operators}
        return [name for name in self.operators if name not in waiting]

    @property
    def seeds(self) -> dict[str, int]:
        """The seeds of the operators that draw random numbers."""
        stamps = self.stamps.items()
        return {name: stamp.seed for name, stamp in stamps if stamp.seed is not None}

    @property
    def stamps(self) -> dict[str, Stamp]:
        """What decides the numbers of every operator here, kept or not."""
        return {name: row.stamp for name, row in self._metadata.known.items()}

    @property
    def _metadata(self) -> Metadata:
        return self.layout.metadata()

    def stamp(self, spi: str) -> Stamp:
        """Return what decides an operator's numbers here: the version of its code, and its seed."""
        return self._metadata.operators[self._known(spi)].stamp

    def version(self, spi: str) -> str:
        """Return the version of an operator's numbers in this store."""
        return self.stamp(spi).version

    def reason(self, spi: str) -> str:
        """Return why an operator lacks values on some samples; empty if it does not."""
        entries = [part.entry for part in self._parts([self._known(spi)]) if part.entry]
        return main_reason(pair for entry in entries for pair in entry.exceptions.values())

    def block_size(self, spi: str) -> int:
        """Return how many samples of an operator are read at once."""
        return self.layout.grid(operator_facts()[self._known(spi)].family).block_size

    def matrices(
        self, spi: str, rows: Rows | None = None, *, allow_missing: bool = False
    ) -> NDArray[np.float32]:
        """Read an operator's matrices.

        Parameters
        ----------
        spi : str
            The operator.
        rows : sequence of int, optional
            Rows of `samples`, in any order; all by default.
        allow_missing : bool
            Give NaN for samples that are not computed yet, instead of an error.

        Returns
        -------
        ndarray of float32, shape (sample, source, target)
            NaN on the diagonal and where the operator is undefined.
        """
        operator = self._known(spi)
        wanted = np.arange(len(self)) if rows is None else self._row_numbers(rows)
        done = self._readable(operator, wanted // self.block_size(operator), allow_missing)
        try:
            return read_rows(self.layout, operator, wanted, done)
        except DamagedStoreError as error:
            raise DamagedStoreError(f"{operator} in {self.path} is damaged; {RESUME}.") from error

    def to_xarray(self, spis: Sequence[str] | None = None) -> xr.DataArray:
        """Read matrices into one labelled array.

        Parameters
        ----------
        spis : sequence of str, optional
            Which operators; all complete ones by default.

        Returns
        -------
        xarray.DataArray
            Float32 with the dimensions (spi, scan, source, target).
        """
        import xarray as xr

        names = self.complete_operators if spis is None else [self._known(spi) for spi in spis]
        regions = list(self.regions)
        values = np.empty((len(names), len(self), len(regions), len(regions)), dtype=np.float32)
        for number, name in enumerate(names):
            values[number] = self.matrices(name)
        return xr.DataArray(
            values,
            dims=("spi", "scan", "source", "target"),
            coords={"spi": names, "scan": self.sample_ids, "source": regions, "target": regions},
            name="fc",
            attrs={"seeds": self.seeds, "fingerprint": self.fingerprint},
        )

    def missing(
        self, operators: Iterable[str] | None = None, *, check: bool = False
    ) -> list[Piece]:
        """Return the pieces of work that are still to be done.

        Parameters
        ----------
        operators : iterable of str, optional
            Which operators; by default all that were asked for.
        check : bool
            Also read every chunk, and take those that are damaged or gone for missing.

        Returns
        -------
        list of Piece
            By block, then by family, with the operators that are missing there.
        """
        names = self.operators if operators is None else list(operators)
        unknown = [name for name in names if name not in operator_facts()]
        if unknown:
            raise UnknownNameError(
                f"No operator is called {name_first(unknown)}; `sclcs spis list` shows all of them."
            )
        return self.missing_of(self.layout.pieces(names), check=check)

    def missing_of(self, pieces: Iterable[Piece], *, check: bool = False) -> list[Piece]:
        """Return what is still to be done of some pieces, as :meth:`missing` does."""
        rest, gone = [], set(self.not_kept)
        for piece in pieces:
            done = self._done(piece, check=check) - gone
            names = tuple(name for name in piece.operators if name not in done)
            if names:
                rest.append(Piece(piece.family, piece.block, names))
        return rest

    def _done(self, piece: Piece, *, check: bool) -> set[str]:
        chunks = find_chunks(self.layout, piece.family, piece.block)
        if not check or not chunks:
            return set(chunks)
        if not index_is_intact(self.layout, piece.family, piece.block):
            return set()
        return {name for name in piece.operators if name in chunks and chunks[name].is_intact()}

    def verify(self) -> list[Piece]:
        """Read every chunk; return what is damaged or gone though it was done.

        ``sclcs compute`` does this when it resumes, and computes those again.
        """
        rows, found = self._metadata.operators, []
        for piece in self.missing(check=True):
            held = read_piece(self.layout.piece_file(piece.family, piece.block))
            damaged = tuple(
                name
                for name in piece.operators
                if held.damaged or name in held.entries or rows[name].complete
            )
            if damaged:
                found.append(Piece(piece.family, piece.block, damaged))
        return found

    def status(self) -> pd.DataFrame:
        """Count the samples of every operator by what became of them.

        Returns
        -------
        DataFrame
            One row per operator, indexed by ``spi``: ``family``, ``version``, ``seed`` (of those
            that draw random numbers, else missing), ``samples``, ``ok``, ``partial-nan``,
            ``failed``, ``skipped``, ``missing``, CPU ``seconds`` in the kernel (those that
            matrices copied from another store took there included, and in ``copied_seconds``
            alone), whether the matrices are ``kept``, and the most frequent ``reason``.
        """
        gone, reasons = set(self.not_kept), dict[str, list[tuple[str, str]]]()
        rows: dict[str, dict[str, Any]] = {
            name: {
                "family": operator_facts()[name].family,
                "version": stamp.version,
                "seed": stamp.seed,
                "samples": len(self),
                **dict.fromkeys(STATES, 0),
                "seconds": 0.0,
                "copied_seconds": 0.0,
                "kept": name not in gone,
            }
            for name, stamp in self.stamps.items()
        }
        for part in self._parts(rows):
            row, entry = rows[part.spi], part.entry
            if entry is None:
                row[MISSING] += part.size
                continue
            for state, _ in entry.exceptions.values():
                row[state] += 1
            row["ok"] += part.size - len(entry.exceptions)
            row["seconds"] += entry.seconds
            row["copied_seconds"] += entry.copied_seconds
            reasons.setdefault(part.spi, []).extend(entry.exceptions.values())
        index = pd.Index(list(rows), name="spi", dtype=object)
        columns = ["family", "version", "seed", "samples", *STATES]
        columns += ["seconds", "copied_seconds", "kept"]
        table = pd.DataFrame(list(rows.values()), index=index, columns=columns)
        table["reason"] = [main_reason(reasons.get(name, ())) for name in rows]
        return table.astype({"seed": "Int64"})

    def failures(self) -> Counter[tuple[str, str]]:
        """Count the matrices that failed or were skipped, by operator and reason."""
        lost = {str(Status.FAILED), str(Status.SKIPPED)}
        return Counter(
            (part.spi, reason)
            for part in self._parts(self.stamps)
            for state, reason in (part.entry.exceptions.values() if part.entry else ())
            if state in lost
        )

    def sample_status(self) -> pd.DataFrame:
        """Tabulate what became of every operator on every sample.

        Returns
        -------
        DataFrame
            With the columns ``spi``, ``sample``, ``status`` and ``reason``, one row per operator
            and sample, as from :func:`sclcs.spi.status_table`; ``missing`` if not computed yet.
        """
        ids, table = self.sample_ids, []
        for part in self._parts(self.stamps):
            usual = (MISSING, "") if part.entry is None else (str(Status.OK), "")
            exceptions = part.entry.exceptions if part.entry else {}
            for row, sample in enumerate(ids[part.rows]):
                table.append((part.spi, sample, *exceptions.get(row, usual)))
        return pd.DataFrame(table, columns=["spi", "sample", "status", "reason"])

    def _parts(self, operators: Iterable[str]) -> Iterator[_Part]:
        """Go through operators and blocks; an operator that is not here has none of its samples."""
        layout, known, read = self.layout, self.stamps, dict[tuple[str, int], Any]()
        for name in operators:
            if name not in known:
                yield _Part(name, 0, slice(0, len(self)), None)
                continue
            family = operator_facts()[name].family
            for block in range(layout.n_blocks(family)):
                if (family, block) not in read:
                    read[family, block] = find_chunks(layout, family, block)
                chunk = read[family, block].get(name)
                yield _Part(name, block, layout.block_rows(family, block), chunk)

    def _known(self, spi: str) -> str:
        identifier = ALIASES.get(spi, spi) if isinstance(spi, str) else ""
        if identifier not in self._metadata.known:
            raise UnknownNameError(
                f"{spi} is not in the FC store {self.path}; it holds "
                f"{name_first(self.operators, 10)}. `sclcs compute --spis` adds operators."
            )
        return identifier

    def _row_numbers(self, rows: Rows) -> NDArray[np.int64]:
        chosen = np.asarray(rows)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iub"):
            raise InputError(f"`rows` must be a list of row numbers, got {rows!r}.")
        try:
            return np.asarray(np.arange(len(self))[chosen if chosen.size else []], dtype=np.int64)
        except IndexError as error:
            raise InputError(f"Row numbers must be below {len(self)}: {error}.") from error

    def _readable(
        self, operator: str, blocks: NDArray[np.int64], allow_missing: bool
    ) -> dict[int, StoredChunk]:
        """Return where the blocks are that are done, or say which are not."""
        row = self._metadata.operators[operator]
        if not row.kept:
            if allow_missing:
                return {}
            raise InputError(
                f"The matrices of {operator} were computed, but not kept in {self.path}; "
                "`sclcs compute` computes them again, or `sclcs run --keep all` for a whole run."
            )
        family, wanted = operator_facts()[operator].family, np.unique(blocks).tolist()
        found = {block: find_chunks(self.layout, family, block).get(operator) for block in wanted}
        done = {block: chunk for block, chunk in found.items() if chunk is not None}
        gone = [block for block in wanted if block not in done]
        if gone and row.complete:
            raise DamagedStoreError(
                f"Matrices of {operator} are gone from {self.path} or damaged: blocks "
                f"{name_first(gone)}; {RESUME}."
            )
        if gone and not allow_missing:
            raise InputError(
                f"{operator} is computed on {len(done)} of {len(wanted)} blocks of samples in "
                f"{self.path}; {RESUME}. Or read NaN for the rest with allow_missing=True."
            )
        return done


def matrices_identity(store: FCStore, operators: Iterable[str]) -> Identity:
    """Return what matrices are: of which samples, by which code and seed, with which content.

    It is made of the checksums that were recorded: only heads are read. Operators that are not
    there, or not complete, count as such.
    """
    content: dict[str, list[str | None]] = {}
    for part in store._parts(operators):
        content.setdefault(part.spi, []).append(part.entry.checksum if part.entry else None)
    stamps = store.stamps
    known = {name: stamps[name] for name in content if name in stamps}
    return Identity(
        "matrices",
        inputs={"cohort": store.fingerprint, "samples": store.sample_ids, "content": content},
        versions={name: stamp.version for name, stamp in known.items()},
        seeds={name: stamp.seed for name, stamp in known.items()},
    )


def files_digest(store: FCStore, operators: Iterable[str]) -> str | None:
    """Return a digest of operators' matrices: what is recorded, if every chunk is still that.

    Every chunk is read: one that rotted on the disk has neither another size nor another time.
    Of matrices that were not kept it is what they were. None if an operator is not complete, or a
    chunk is not the one that was written.
    """
    lines, gone = [store.fingerprint, *store.samples.index], set(store.not_kept)
    whole = dict[Path, bool]()
    for part in store._parts(sorted(operators)):
        chunk = part.chunk
        if chunk is None or (part.spi not in gone and not chunk.is_intact()):
            return None
        if chunk.file not in whole:
            family = operator_facts()[part.spi].family
            whole[chunk.file] = index_is_intact(store.layout, family, part.block)
        if not whole[chunk.file]:
            return None
        lines += [part.spi, str(chunk.entry.stamp), chunk.entry.checksum]
    return text_digest("\n".join(lines))
