"""The FC store: every operator's matrices for every sample, on disk.

::

    FC/
        zarr.json              kind, regions, TR, fingerprint of the cohort, block size
        samples.csv            one row of facts per sample
        seal.json              digests of zarr.json, samples.csv and matrices/zarr.json
        operators.json         the operators: version of their code, seed if they are random, digest
                               of their array's metadata, whether a triangle is kept; signed
        matrices/OPERATOR/     float32 (sample, source, target), of symmetric operators
                               (sample, pair): the upper triangle row by row; one chunk per block
                               of samples, with a CRC-32C; up to 64 blocks are one file, a shard
        tasks/FAMILY/N.json    what became of the family's operators on shard N
        pieces/FAMILY/N/       pieces of work whose shard is not complete yet

A *piece* of work (one family, one block of samples) leaves one file, whole or not at all. When
the pieces of a shard are all there they are packed: matrices into one file per operator, then what
became of them into the record, then the pieces go. So a store can be filled by any number of
processes, killed at any moment and resumed; see :func:`sclcs.compute.compute_store`. Stores of
older formats, with a file per operator and block, are read, but not added to.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.table import table_from_csv
from sclcs.core.arguments import checked, checked_methods
from sclcs.core.errors import DamagedStoreError, InputError, UnknownNameError, name_first
from sclcs.core.logging import get_logger
from sclcs.core.seal import check_seal
from sclcs.spi.catalogue import ALIASES, operator_facts
from sclcs.spi.fc_index import index_problems
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import Piece, StoreIndex
from sclcs.spi.packing.ledger import Ledger, StoredChunk, read_rows
from sclcs.spi.versions import Stamp
from sclcs.store import open_group, require_format

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["FCStore"]

KIND = "fc-store"
# 1: one seed for all operators, no index of them; 2: no seal, texts in samples.csv not marked;
# 3: a file per operator and block, both triangles of symmetric operators
FORMAT_VERSION = 4
_SIGNED_SINCE = 3
SAMPLES_FILE = "samples.csv"
RESUME = "run the same `sclcs compute` again: it computes what is missing or damaged"

_log = get_logger(__name__)
Rows = Sequence[int] | NDArray[np.integer[Any]] | NDArray[np.bool_]


@checked_methods
class FCStore:
    """Matrices of operators on the samples of a cohort; :meth:`open` one to read it.

    Parameters
    ----------
    path : path-like
        The folder.
    samples : DataFrame
        One row of facts per sample, as in the cohort.
    facts : dict
        The attributes of the Zarr group.

    Attributes
    ----------
    samples : DataFrame
        Indexed by sample id.
    regions : tuple of str
        Names along source and target.
    tr : float or None
        Repetition time.
    n_timepoints : int or None
        Length of a sample; None if an old store does not tell.
    fingerprint : str
        Of the cohort that the samples come from.
    provenance : dict
        The cohort's provenance, and the versions of the software that made the store.
    layout : StoreLayout
        Its files.
    """

    def __init__(
        self, path: str | os.PathLike[str], samples: pd.DataFrame, facts: dict[str, Any]
    ) -> None:
        self.path = Path(path)
        self.samples = samples
        self.regions: tuple[str, ...] = tuple(facts["regions"])
        self.tr: float | None = facts["tr"]
        self.n_timepoints: int | None = facts.get("n_timepoints") or _window_length(facts)
        self.fingerprint = str(facts["fingerprint"])
        self.provenance: dict[str, Any] = dict(facts["provenance"])
        self.layout = StoreLayout(
            self.path.absolute(),
            len(samples),
            len(self.regions),
            int(facts["block_size"]),
            int(facts.get("blocks_per_shard", 0)),
        )

    @classmethod
    @checked
    def open(cls, path: str | os.PathLike[str]) -> FCStore:
        """Open a store made by ``sclcs compute``; matrices stay on disk until asked for."""
        store = cls.open_unchecked(path)
        wrong = index_problems(store.layout)
        unknown = [] if wrong else store.layout.index().unknown
        if unknown:
            _log.warning(
                "%s also holds %s, which this program does not know and leaves out; register "
                "operators of your own before the store is opened.",
                path,
                name_first(unknown),
            )
        if wrong:
            raise DamagedStoreError(
                f"The list of operators of {path} and what is on the disk do not agree: "
                f"{name_first(wrong)}; {RESUME}."
            )
        return store

    @classmethod
    def open_unchecked(cls, path: str | os.PathLike[str]) -> FCStore:
        """Open a store whose operators may be damaged; its table and metadata must not be."""
        attributes: dict[str, Any] = dict(open_group(path, KIND).attrs)
        signs = require_format(path, attributes, FORMAT_VERSION) >= _SIGNED_SINCE
        check_seal(Path(path).absolute(), "FC store", f"{RESUME.capitalize()}.", required=signs)
        try:
            text = (Path(path) / SAMPLES_FILE).read_bytes().decode("utf-8")
            table = table_from_csv(text, attributes["columns"], guarded=signs)
            return cls(path, table, attributes)
        # Metadata of older formats is not signed: damage there can be of any kind.
        except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
            why = f"is incomplete or damaged ({error}); compute it again in another folder."
            raise DamagedStoreError(f"The FC store at {path} {why}") from error

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
        index = self.layout.index()
        return [name for name in index.stamps if name not in index.not_kept]

    @property
    def not_kept(self) -> list[str]:
        """The operators that were computed, but whose matrices were not kept."""
        index = self.layout.index()
        return [name for name in index.stamps if name in index.not_kept]

    @property
    def complete_operators(self) -> list[str]:
        """The operators that are done on every sample."""
        waiting = {name for piece in self.missing() for name in piece.operators}
        return [name for name in self.operators if name not in waiting]

    @property
    def seeds(self) -> dict[str, int]:
        """The seeds of the operators that draw random numbers."""
        stamps = self.layout.index().stamps
        return {name: stamp.seed for name, stamp in stamps.items() if stamp.seed is not None}

    def stamp(self, spi: str) -> Stamp:
        """Return what decides an operator's numbers here: the version of its code, and its seed."""
        index = self.layout.index()
        return index.stamps[self._known(spi, index)]

    def version(self, spi: str) -> str:
        """Return the version of an operator's numbers in this store."""
        return self.stamp(spi).version

    def reason(self, spi: str) -> str:
        """Return why an operator lacks values on some samples; empty if it does not."""
        from sclcs.spi.fc_status import operator_reason

        return operator_reason(self, self._known(spi, self.layout.index()))

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
        index = self.layout.index()
        operator = self._known(spi, index)
        wanted = np.arange(len(self)) if rows is None else self._row_numbers(rows)
        block_of_row = wanted // self.layout.block_size
        try:
            done = self._readable(operator, index, block_of_row, allow_missing)
            return read_rows(self.layout, wanted, done, triangle=operator in index.triangles)
        except DamagedStoreError:
            pass  # a piece may have been packed into its shard just now: look again where it is
        index = self.layout.index()
        done = self._readable(operator, index, block_of_row, allow_missing)
        try:
            return read_rows(self.layout, wanted, done, triangle=operator in index.triangles)
        except DamagedStoreError as error:
            raise DamagedStoreError(f"{operator} in {self.path} is damaged; {RESUME}.") from error

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
        return Ledger(self.layout).missing(self.layout.pieces(names), check=check)

    def verify(self) -> list[Piece]:
        """Read every chunk again; return what is damaged or gone though it was done.

        ``sclcs compute`` does this when it resumes, and computes those again.
        """
        unfinished = {(name, piece.block) for piece in self.missing() for name in piece.operators}
        found = []
        for piece in self.missing(check=True):
            damaged = [name for name in piece.operators if (name, piece.block) not in unfinished]
            if damaged:
                found.append(Piece(piece.family, piece.block, tuple(damaged)))
        return found

    def status(self) -> pd.DataFrame:
        """Return one row per operator; see :func:`sclcs.spi.fc_status.operator_table`."""
        from sclcs.spi.fc_status import operator_table

        return operator_table(self)

    def block_status(self) -> pd.DataFrame:
        """Return one row per operator and block; see :func:`sclcs.spi.fc_status.block_table`."""
        from sclcs.spi.fc_status import block_table

        return block_table(self)

    def sample_status(self) -> pd.DataFrame:
        """Return one row per operator and sample; see :func:`sclcs.spi.fc_status.sample_table`."""
        from sclcs.spi.fc_status import sample_table

        return sample_table(self)

    def to_xarray(self, spis: Sequence[str] | None = None) -> xr.DataArray:
        """Read matrices into one labelled array.

        Parameters
        ----------
        spis : sequence of str, optional
            Which operators; all complete ones by default.

        Returns
        -------
        xarray.DataArray
            Float32 with the dimensions (spi, sample, source, target).
        """
        import xarray as xr

        index = self.layout.index()
        known = [self._known(spi, index) for spi in spis or ()]
        names = self.complete_operators if spis is None else known
        shape = (len(names), len(self), len(self.regions), len(self.regions))
        values = np.empty(shape, dtype=np.float32)
        for place, name in enumerate(names):
            values[place] = self.matrices(name)
        return xr.DataArray(
            values,
            dims=("spi", "sample", "source", "target"),
            coords={
                "spi": names,
                "sample": self.sample_ids,
                "source": list(self.regions),
                "target": list(self.regions),
            },
            name="fc",
            attrs={"seeds": self.seeds, "fingerprint": self.fingerprint},
        )

    def _known(self, spi: str, index: StoreIndex) -> str:
        identifier = ALIASES.get(spi, spi) if isinstance(spi, str) else ""
        if identifier not in index.stamps:
            raise UnknownNameError(
                f"{spi} is not in the FC store {self.path}; it holds "
                f"{name_first(self.operators, 10)}. `sclcs compute --spis` adds operators."
            )
        return identifier

    def _row_numbers(self, rows: Rows) -> NDArray[np.int64]:
        chosen = np.asarray(rows)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iub"):
            raise InputError(f"Expected rows to be a list of row numbers, got {rows!r}.")
        try:
            return np.asarray(np.arange(len(self))[chosen if chosen.size else []], dtype=np.int64)
        except IndexError as error:
            raise InputError(f"Row numbers must be below {len(self)}: {error}.") from error

    def _readable(
        self, operator: str, index: StoreIndex, blocks: NDArray[np.int64], allow_missing: bool
    ) -> dict[int, StoredChunk]:
        """Return where the blocks are that are done, or say which are not."""
        if operator in index.not_kept:
            if allow_missing:
                return {}
            raise InputError(
                f"The matrices of {operator} were computed, but not kept in {self.path}; "
                "`sclcs compute` computes them again, or `sclcs run --keep all` for a whole run."
            )
        family, ledger = operator_facts()[operator].family, Ledger(self.layout, index)
        wanted = np.unique(blocks).tolist()
        found = {block: ledger.one(family, block, operator) for block in wanted}
        done = {block: chunk for block, chunk in found.items() if chunk is not None}
        if len(done) < len(wanted) and not allow_missing:
            raise InputError(
                f"{operator} is computed on {len(done)} of {len(wanted)} blocks of samples in "
                f"{self.path}; {RESUME}. Or read NaN for the rest with allow_missing=True."
            )
        files = {chunk.file for chunk in done.values()}
        lost = {file for file in files if not file.exists()}
        gone = [block for block, chunk in done.items() if chunk.file in lost]
        if gone:
            raise DamagedStoreError(
                f"Chunks of {operator} are gone from {self.path}: blocks {name_first(gone)}; "
                f"{RESUME}."
            )
        return done


def _window_length(facts: dict[str, Any]) -> int | None:
    """Return the length of a window as the cohort's provenance has it, for older stores."""
    windowing = facts["provenance"].get("cohort", {}).get("windowing") or {}
    return windowing.get("length")
