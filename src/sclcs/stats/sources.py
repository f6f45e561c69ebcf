"""Where the matrices come from: a store, an array, or a cohort computed as it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import InputError, UnknownNameError, checked, did_you_mean, name_first
from sclcs.cohort import Cohort
from sclcs.stats.kernel import AnyMatrices
from sclcs.stats.memory import room

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["ArraySource", "CohortSource", "FCSource", "as_source"]

Matrices = NDArray[np.float32]
SAMPLES_AT_ONCE = 256


class FCSource(Protocol):
    """What the ranking needs of a place that holds functional-connectivity matrices."""

    @property
    def operators(self) -> Sequence[str]:
        """Identifiers of the operators."""

    @property
    def sample_ids(self) -> Sequence[str]:
        """Sample ids, in the order of the rows."""

    @property
    def samples(self) -> pd.DataFrame:
        """One row of facts per sample, indexed by sample id."""

    @property
    def regions(self) -> Sequence[str]:
        """Region names."""

    @property
    def n_timepoints(self) -> int | None:
        """Length of a sample, to know which windows overlap; None if unknown."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the cohort."""

    def matrices(self, spi: str, rows: NDArray[np.int64] | None = None) -> Matrices:
        """Return the matrices of one operator (sample, source, target), float32."""

    def reason(self, spi: str) -> str:
        """Return why an operator lacks values on some samples; empty if it does not."""

    def version(self, spi: str) -> str:
        """Return the version of an operator's numbers."""


class LazyMatrices:
    """One operator's matrices in a store, read a few samples at a time when they are sliced.

    Parameters
    ----------
    source : FCSource
        Whose matrices can be read by row.
    spi : str
    """

    def __init__(self, source: FCSource, spi: str) -> None:
        self._source, self._spi = source, spi
        n_regions = len(source.regions)
        self.shape = (len(source.sample_ids), n_regions, n_regions)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Matrices:
        if rows.indices(len(self)) == (0, len(self), 1):
            return self._source.matrices(self._spi)
        return self._source.matrices(self._spi, np.arange(len(self))[rows])


def lazy_matrices(source: FCSource, spi: str) -> AnyMatrices:
    """Return an operator's matrices: those of a store are read only when they are needed."""
    if isinstance(source, ArraySource):
        return source.lazily(spi)
    if isinstance(source, CohortSource):
        return source.matrices(spi)
    return LazyMatrices(source, spi)


class ArraySource:
    """Matrices in memory, as returned by :func:`sclcs.spi.compute`.

    Parameters
    ----------
    values : array, shape (spi, sample, source, target)
    operators : sequence of str
    cohort : Cohort
        The samples' facts, in the order of the array.
    status : DataFrame, optional
        With the columns spi, sample, status and reason.
    """

    @checked
    def __init__(
        self,
        values: NDArray[np.floating],
        operators: Sequence[str],
        cohort: Cohort,
        status: pd.DataFrame | None = None,
    ) -> None:
        expected = (len(operators), len(cohort))
        if values.ndim != 4 or values.shape[:2] != expected or values.shape[2] != values.shape[3]:
            raise InputError(
                f"Expected matrices with the axes (spi, sample, source, target) for "
                f"{expected[0]} operators and {expected[1]} samples, got shape {values.shape}."
            )
        self._values = values
        self._status = status
        self._place = {name: place for place, name in enumerate(operators)}
        self.operators = list(operators)
        self.sample_ids = cohort.sample_ids
        self.samples = cohort.samples
        self.regions = cohort.regions
        self.fingerprint = cohort.fingerprint
        self.n_timepoints: int | None = cohort.n_timepoints

    @classmethod
    def from_dataarray(cls, fc: xr.DataArray, cohort: Cohort) -> ArraySource:
        """Wrap the result of :func:`sclcs.spi.compute`.

        Parameters
        ----------
        fc : xarray.DataArray
            With the dimensions (spi, scan, source, target). Scans with names are matched by
            them, numbered ones by order.
        cohort : Cohort
            The cohort it was computed from, or a larger one.

        Returns
        -------
        ArraySource
        """
        from sclcs.spi import status_table

        wanted = ("spi", "scan", "source", "target")
        if tuple(fc.dims) != wanted:
            raise InputError(f"Expected the dimensions {wanted}, got {tuple(fc.dims)}.")
        names = fc["scan"].to_numpy()
        if names.dtype.kind in "UO":
            cohort = cohort.take([str(name) for name in names])
        elif len(names) != len(cohort):
            raise InputError(
                f"The matrices have {len(names)} numbered samples, the cohort has {len(cohort)}; "
                "compute them of the cohort itself, or give the matching cohort."
            )
        status = status_table(fc) if {"status", "reason"} <= set(fc.coords) else None
        return cls(fc.to_numpy(), [str(name) for name in fc["spi"].to_numpy()], cohort, status)

    def matrices(self, spi: str, rows: NDArray[np.int64] | None = None) -> Matrices:
        """Return the matrices of one operator."""
        _require(spi, self._place)
        values = self._values[self._place[spi]]
        return np.asarray(values if rows is None else values[rows], dtype=np.float32)

    def lazily(self, spi: str) -> AnyMatrices:
        """Return the matrices as they are; they are made single precision a block at a time."""
        _require(spi, self._place)
        return np.asarray(self._values[self._place[spi]])

    def reason(self, spi: str) -> str:
        """Return why an operator lacks values on some samples, if the array says so."""
        if self._status is None:
            return ""
        rows = self._status[self._status["spi"] == spi]
        return _main_reason(rows["status"], rows["reason"])

    def version(self, spi: str) -> str:
        """Return the version of an operator's numbers: that of this package."""
        _require(spi, self._place)
        return _current_version(spi)


class CohortSource:
    """Matrices computed when they are asked for, one family of operators at a time.

    Only the matrices of the last family are kept, so memory does not grow with the number
    of operators; ask for operators in the order of :attr:`operators`.

    Parameters
    ----------
    cohort : Cohort
    spis : str or sequence of str
        See :func:`sclcs.spi.resolve`.
    n_jobs : int
        Threads of the engine.
    seed : int
        Seed of the operators that draw random numbers.
    """

    @checked
    def __init__(
        self,
        cohort: Cohort,
        spis: str | Sequence[str] = "paper-fast",
        *,
        n_jobs: int = 1,
        seed: int = 0,
    ) -> None:
        from sclcs.spi import catalogue, resolve

        families = catalogue()["family"]
        self._family = {name: str(families[name]) for name in resolve(spis)}
        self._cohort = cohort
        self._n_jobs, self._seed = n_jobs, seed
        self._ready: dict[str, Matrices] = {}
        self._reasons: dict[str, str] = {}
        order = {family: place for place, family in enumerate(dict.fromkeys(self._family.values()))}
        self.operators = sorted(self._family, key=lambda name: order[self._family[name]])
        self.sample_ids = cohort.sample_ids
        self.samples = cohort.samples
        self.regions = cohort.regions
        self.fingerprint = cohort.fingerprint
        self.n_timepoints: int | None = cohort.n_timepoints

    def matrices(self, spi: str, rows: NDArray[np.int64] | None = None) -> Matrices:
        """Return the matrices of one operator, computing its family if needed."""
        _require(spi, self._family)
        if spi not in self._ready:
            self._ready = self._compute_family(self._family[spi])
        values = self._ready[spi]
        return values if rows is None else values[rows]

    def reason(self, spi: str) -> str:
        """Return why an operator lacks values on some samples; known once it is computed."""
        return self._reasons.get(spi, "")

    def version(self, spi: str) -> str:
        """Return the version of an operator's numbers: that of this package."""
        _require(spi, self._family)
        return _current_version(spi)

    def _compute_family(self, family: str) -> dict[str, Matrices]:
        from sclcs.spi import compute_batch

        names = [name for name in self.operators if self._family[name] == family]
        n_samples, n_regions = len(self._cohort), self._cohort.n_regions
        shape = (n_samples, n_regions, n_regions)
        results = {name: room(shape) for name in names}
        told: dict[str, list[tuple[str, str]]] = {name: [] for name in names}
        for start in range(0, n_samples, SAMPLES_AT_ONCE):
            block = slice(start, start + SAMPLES_AT_ONCE)
            computed = compute_batch(
                np.asarray(self._cohort.signals[block]),
                names,
                n_jobs=self._n_jobs,
                seed=self._seed,
                lengths=self._cohort.lengths[block],
            )
            for name, found in zip(names, computed, strict=True):
                results[name][block] = found.to_numpy()
                told[name] += zip(found["status"].values, found["reason"].values, strict=True)
        self._reasons |= {name: _main_reason(*zip(*told[name], strict=True)) for name in names}
        return results


def _main_reason(status: Iterable[str], reason: Iterable[str]) -> str:
    from sclcs.spi import main_reason

    pairs = zip(map(str, status), map(str, reason), strict=True)
    return main_reason(pair for pair in pairs if pair[1])


def _require(spi: str, known: Collection[str]) -> None:
    if spi not in known:
        raise UnknownNameError(
            f"The matrices of {spi!r} are not here; there are those of {name_first(known)}."
            f"{did_you_mean(spi, known)}"
        )


def _current_version(spi: str) -> str:
    from sclcs.spi import operator_version

    return operator_version(spi)


def as_source(
    source: Cohort | FCSource | xr.DataArray,
    cohort: Cohort | None = None,
    *,
    spis: str | Sequence[str] | None = None,
    n_jobs: int = 1,
    seed: int = 0,
) -> tuple[FCSource, list[str]]:
    """Return the source of the matrices and the operators asked for.

    Parameters
    ----------
    source : Cohort, FCSource or xarray.DataArray
        A cohort is computed on the fly; an array needs the cohort it was computed from.
    cohort : Cohort, optional
        The facts of the samples of an array.
    spis : str or sequence of str, optional
        Which operators; by default all of a store or array, ``"paper-fast"`` of a cohort.
    n_jobs, seed : int
        For cohorts, see :class:`CohortSource`.

    Returns
    -------
    source : FCSource
    operators : list of str
    """
    if isinstance(source, Cohort):
        computed = CohortSource(source, spis or "paper-fast", n_jobs=n_jobs, seed=seed)
        return computed, list(computed.operators)
    if not hasattr(type(source), "matrices"):  # isinstance with a protocol would run properties
        import xarray as xr

        if not isinstance(source, xr.DataArray):
            raise InputError(
                "Expected a Cohort, an FC store or a DataArray of matrices as the source, got "
                f"{type(source).__name__}; open a file first."
            )
        if cohort is None:
            raise InputError(
                "An array of matrices needs the cohort it was computed from; give cohort=."
            )
        source = ArraySource.from_dataarray(source, cohort)
    return source, _choose(source.operators, spis)


def _choose(available: Sequence[str], spis: str | Sequence[str] | None) -> list[str]:
    if spis is None:
        return list(available)
    requests = [spis] if isinstance(spis, str) else list(spis)
    if all(name in set(available) for name in requests):
        return requests
    from sclcs.spi import resolve

    wanted = resolve(requests)
    missing = [name for name in wanted if name not in set(available)]
    if missing:
        raise UnknownNameError(
            f"{len(missing)} of the operators asked for are not in the FC store: "
            f"{name_first(missing)}; compute them first."
        )
    return wanted
