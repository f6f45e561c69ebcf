"""The FC store: every operator's matrices for every sample, on disk.

::

    FC/
        zarr.json              kind, regions, TR, fingerprint of the cohort, block size
        samples.csv            one row of facts per sample
        seal.json              digests of zarr.json, samples.csv and matrices/zarr.json
        operators.json         the operators: version of their code, seed if they are random, digest
                               of their array's metadata; signed
        matrices/OPERATOR/     float32 (sample, source, target), one chunk per block, CRC-32C
        tasks/FAMILY/N.json    what became of the family's operators on block N

A *piece* of work (one family, one block of samples) owns its chunks whole and writes its
record last, so a store can be filled by any number of processes, killed at any moment and
resumed; see :func:`sclcs.compute.compute_store`.
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
from sclcs.core.errors import DamagedStoreError, InputError, UnknownNameError, name_first
from sclcs.core.logging import get_logger
from sclcs.core.seal import check_seal
from sclcs.spi.catalogue import ALIASES, operator_facts
from sclcs.spi.fc_index import index_problems
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import OperatorEntry, Piece, unknown_operators
from sclcs.spi.versions import Stamp
from sclcs.store import open_group, require_format

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["FCStore"]

KIND = "fc-store"
# 1: one seed for all operators, no index of them; 2: no seal, texts in samples.csv not marked
FORMAT_VERSION = 3
SAMPLES_FILE = "samples.csv"
RESUME = "run the same `sclcs compute` again: it computes what is missing or damaged"

_log = get_logger(__name__)
Rows = Sequence[int] | NDArray[np.integer[Any]]


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
            self.path.absolute(), len(samples), len(self.regions), int(facts["block_size"])
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> FCStore:
        """Open a store made by ``sclcs compute``; matrices stay on disk until asked for."""
        store = cls.open_unchecked(path)
        wrong = index_problems(store.layout)
        unknown = [] if wrong else unknown_operators(store.layout.path)
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
        signs = require_format(path, attributes, FORMAT_VERSION) >= FORMAT_VERSION
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
        """The operators that were asked for, complete or not, in the order of the catalogue."""
        return list(self.layout.stamps())

    @property
    def complete_operators(self) -> list[str]:
        """The operators that are done on every sample."""
        waiting = {name for piece in self.missing() for name in piece.operators}
        return [name for name in self.operators if name not in waiting]

    @property
    def seeds(self) -> dict[str, int]:
        """The seeds of the operators that draw random numbers."""
        stamps = self.layout.stamps()
        return {name: stamp.seed for name, stamp in stamps.items() if stamp.seed is not None}

    def stamp(self, spi: str) -> Stamp:
        """Return what decides an operator's numbers here: the version of its code, and its seed."""
        return self.layout.stamps()[self._known(spi)]

    def version(self, spi: str) -> str:
        """Return the version of an operator's numbers in this store."""
        return self.stamp(spi).version

    def reason(self, spi: str) -> str:
        """Return why an operator lacks values on some samples; empty if it does not."""
        from sclcs.spi.fc_status import operator_reason

        return operator_reason(self, self._known(spi))

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
        block_of_row = wanted // self.layout.block_size
        done = self._readable(operator, block_of_row, allow_missing)
        try:
            return self.layout.read_rows(operator, wanted, done)
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
        names = self.operators if operators is None else operators
        return self.layout.missing(self.layout.pieces(names), check=check)

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

        names = self.complete_operators if spis is None else [self._known(spi) for spi in spis]
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

    def _known(self, spi: str) -> str:
        identifier = ALIASES.get(spi, spi)
        if identifier not in self.layout.stamps():
            raise UnknownNameError(
                f"{spi} is not in the FC store {self.path}; it holds "
                f"{name_first(self.operators, 10)}. `sclcs compute --spis` adds operators."
            )
        return identifier

    def _row_numbers(self, rows: Rows) -> NDArray[np.int64]:
        chosen = np.asarray(rows)
        try:
            return np.asarray(np.arange(len(self))[chosen if chosen.size else []], dtype=np.int64)
        except IndexError as error:
            raise InputError(f"Row numbers must be below {len(self)}: {error}.") from error

    def _readable(
        self, operator: str, blocks: NDArray[np.int64], allow_missing: bool
    ) -> dict[int, OperatorEntry]:
        """Return what is recorded of the blocks that are done, or say which are not."""
        family, stamps = operator_facts()[operator].family, self.layout.stamps()
        wanted = np.unique(blocks).tolist()
        records = {block: self.layout.entries(family, block, stamps) for block in wanted}
        done = {block: record[operator] for block, record in records.items() if operator in record}
        if len(done) < len(wanted) and not allow_missing:
            raise InputError(
                f"{operator} is computed on {len(done)} of {len(wanted)} blocks of samples in "
                f"{self.path}; {RESUME}. Or read NaN for the rest with allow_missing=True."
            )
        gone = [block for block in done if not self.layout.chunk_file(operator, block).exists()]
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
