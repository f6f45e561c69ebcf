"""The cohort: signals and one row of metadata per sample."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sclcs._core import (
    FEWEST_POINTS_TO_HALVE,
    InputError,
    UnknownNameError,
    atomic_group,
    card,
    checked,
    name_first,
    plain,
    real_numbers,
    takes,
)
from sclcs.cohort.scans import rows_of_regions, unique_regions
from sclcs.cohort.series import scans_of_series, warn_if_swapped
from sclcs.cohort.signals import (
    LENGTH_COLUMN,
    LazySignals,
    SignalArray,
    as_float32,
    fingerprint,
    iterate_rows,
    sample_lengths,
    stretches,
)
from sclcs.cohort.tables import clean_table, label_column
from sclcs.settings import CutSettings

SHOWN = 5  # samples in a notebook
SHORTEST_TR, LONGEST_TR = 1e-9, 1e9  # beyond, frequencies are infinite or zero


class Cohort:
    """Samples with their metadata: whole scans, or windows of them.

    :meth:`from_arrays` makes a cohort of arrays (time, region) as nilearn returns them, and
    :func:`sclcs.load` of files. Inside, arrays are (sample, region, time).

    Parameters
    ----------
    signals : array-like, shape (sample, region, time)
        Kept as float32. An ``xarray.DataArray`` goes by the names of its dimensions.
        Every value must be finite, but for samples that are shorter than
        the time axis: their end is NaN, and `samples` says how long they are.
    samples : DataFrame
        Indexed by sample id; at least the columns `subject` and `window`, and any label
        columns (`diagnosis`, `site`, `session`, `age`, ...). If samples differ in length, the
        column `n_timepoints` is the length of each.
    regions : sequence of str, optional
        Region names; ``region-0``, ... if not given.
    tr : float, optional
        Repetition time in seconds, if all samples share it.
    provenance : mapping, optional
        Source, windowing, filters, exclusions. JSON values only.

    Attributes
    ----------
    path : Path or None
        The folder that it, or the cohort that it is a part of, was opened from.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> table = pd.DataFrame({"subject": ["a", "a", "b"], "window": [0, 1, 0]},
    ...                      index=["a0", "a1", "b0"])
    >>> cohort = Cohort(np.random.default_rng(0).normal(size=(3, 4, 20)), table)
    >>> cohort
    Cohort(3 samples, 2 subjects, 4 regions, 20 time points)
    """

    @checked
    def __init__(
        self,
        signals: ArrayLike | LazySignals,
        samples: pd.DataFrame,
        regions: Sequence[str] | None = None,
        tr: float | None = None,
        *,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.signals = _check_signals(signals, len(samples))
        self.samples = clean_table(samples)
        self.regions = _check_regions(regions, self.signals.shape)
        self.tr = check_tr(tr)
        self.provenance = dict(provenance or {})
        self.path: Path | None = None
        _check_finite(self.signals, self.samples.index, self.lengths)

    @classmethod
    @takes(CutSettings)
    def from_arrays(
        cls,
        series: object,
        table: pd.DataFrame | None = None,
        *,
        regions: Sequence[str] | None = None,
        tr: float | None = None,
        **options: Any,  # noqa: ANN401 - fields of CutSettings
    ) -> Cohort:
        """Make a cohort of arrays (time, region), as nilearn's maskers return them.

        Parameters
        ----------
        series : sequence of array (time, region), array (scan, time, region), or mapping
            The scans; lengths may differ. Data frames (time x region) bring the names of their
            regions. A mapping has a name for every scan. An ``xarray.DataArray`` goes by the names
            of its dimensions: `time`, `region` and one more for the scans, in any order.
        table : DataFrame, optional
            A row per scan, in their order; who it is stands in the column `subject`,
            `participant_id`, `sub` or `ID`, or in the index. Scans that have names are found by
            them.
        regions : sequence of str, optional
            Names of the regions.
        tr : float, optional
            Repetition time in seconds.
        {options}

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> scans = [rng.normal(size=(length, 5)) for length in (80, 95, 90)]
        >>> table = pd.DataFrame({"ID": ["a", "b", "c"], "age": [30, 41, 52]})
        >>> cohort = Cohort.from_arrays(scans, table, tr=2.0)
        >>> cohort.length_text, cohort.samples["age"].tolist()
        ('80 to 95', [30, 41, 52])
        """
        found = scans_of_series(series, table, regions=regions, tr=tr)
        return found.to_cohort(**options)

    def __repr__(self) -> str:
        return (
            f"Cohort({len(self)} samples, {self.n_subjects} subjects, "
            f"{self.n_regions} regions, {self.length_text} time points)"
        )

    def _repr_html_(self) -> str:
        about: dict[str, object] = {"subjects": self.n_subjects, "regions": self.n_regions}
        about |= {"time points": self.length_text, "TR": self.tr}
        shown = self.samples.head(SHOWN)
        rows = [(name, *row) for name, row in zip(shown.index, shown.to_numpy(), strict=True)]
        more = [f"and {len(self) - SHOWN} more samples"] if len(self) > SHOWN else []
        header = ["sample_id", *map(str, shown.columns)]
        return card(f"Cohort of {len(self)} samples", about, header, rows, more)

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def n_subjects(self) -> int:
        """Number of different subjects."""
        return int(self.samples["subject"].nunique())

    @property
    def n_regions(self) -> int:
        """Number of regions."""
        return int(self.signals.shape[1])

    @property
    def n_timepoints(self) -> int:
        """Length of a sample; of the longest if they differ."""
        return int(self.signals.shape[2])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Time points of each sample."""
        return sample_lengths(self.samples, self.n_timepoints)

    @property
    def equal_lengths(self) -> bool:
        """Whether every sample fills the whole time axis."""
        return bool((self.lengths == self.n_timepoints).all())

    @property
    def length_text(self) -> str:
        """The length of the samples for people: ``70``, or ``120 to 240``."""
        if self.equal_lengths:
            return str(self.n_timepoints)
        return f"{self.lengths.min()} to {self.lengths.max()}"

    @property
    def sample_ids(self) -> list[str]:
        """The sample ids, in order."""
        return list(self.samples.index)

    @checked
    def labels(self, column: str) -> pd.Series:
        """Return a label column; an unknown name is an error that lists the known ones."""
        return label_column(self.samples, column)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the content: signals, samples, regions, TR.

        It does not depend on where the cohort is kept, how it is chunked or where it
        came from. A stored cohort keeps it; ``sclcs cohort check`` compares it with the
        content.
        """
        return fingerprint(self.signals, self.samples, self.regions, self.tr)

    @checked
    def take(self, rows: Sequence[int] | Sequence[str] | NDArray[Any]) -> Cohort:
        """Return the cohort of some samples, in the order given; nothing is read yet.

        Parameters
        ----------
        rows : sequence of sample ids, row numbers, or a boolean mask
            Which samples.
        """
        return self._subset(self._row_numbers(rows), None)

    def where(self, **labels: object) -> Cohort:
        """Return the samples whose labels have the given values.

        Parameters
        ----------
        **labels : object
            Column name and a value, or a list of values.

        Examples
        --------
        ``cohort.where(site=["15", "17"], diagnosis="MDD")``
        """
        keep = np.ones(len(self), dtype=bool)
        for name, wanted in labels.items():
            column = self.labels(name)
            values = list(wanted) if isinstance(wanted, list | tuple | set) else [wanted]
            keep &= column.isin(values).to_numpy()
            if not column.isin(values).any():
                raise UnknownNameError(
                    f"No sample has {name} equal to {name_first(values)}; found "
                    f"{name_first(column.dropna().unique(), 20)}."
                )
        return self._subset(np.flatnonzero(keep), None)

    @checked
    def keep_regions(self, names: Sequence[str]) -> Cohort:
        """Return the cohort with some regions only, in the order given."""
        return self._subset(None, rows_of_regions(self.regions, names))

    def halves(self) -> Cohort:
        """Return the two halves of every sample, as samples that share no time points.

        Fingerprinting needs at least two samples of a subject. Of an odd number of time points
        the one in the middle is left out, so that both halves are equally long. Signals on disk
        stay there.

        Examples
        --------
        >>> from sclcs import simulate_cohort
        >>> simulate_cohort(3, 1, 5, length=41, seed=1).halves()
        Cohort(6 samples, 3 subjects, 5 regions, 20 time points)
        """
        lengths = self.lengths
        short = [self.sample_ids[row] for row in np.flatnonzero(lengths < FEWEST_POINTS_TO_HALVE)]
        if short:
            raise InputError(
                f"Halves need samples of at least {FEWEST_POINTS_TO_HALVE} time points; shorter "
                f"are {name_first(short)}."
            )
        half = lengths // 2
        rows = np.repeat(np.arange(len(self)), 2)
        starts = np.stack([np.zeros_like(half), lengths - half], axis=1).ravel()
        spans = np.stack([starts, starts + half[rows]], axis=1)
        if isinstance(self.signals, LazySignals):
            signals: SignalArray = self.signals.cut(rows, spans)
        else:
            signals = stretches(self.signals[rows], spans, int(half.max(initial=0)))
        notes = [*self.provenance.get("notes", ()), HALVED]
        return self._with(
            signals=signals,
            samples=_table_of_halves(self.samples, rows, starts, half[rows]),
            provenance={**self.provenance, "halves": True, "notes": notes},
        )

    def load(self) -> Cohort:
        """Return the same cohort with its signals in memory."""
        return self._with(signals=np.asarray(self.signals))

    @checked
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the cohort as a Zarr group; :meth:`open` reads it back.

        Parameters
        ----------
        path : path-like
            A folder that does not exist yet. It appears only when it is complete.
        """
        from sclcs.cohort.storage import CohortWriter

        try:
            provenance = dict(json.loads(json.dumps(plain(self.provenance))))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"Expected a provenance of JSON values (strings, numbers, lists), but {error}."
            ) from error
        with atomic_group(path) as folder:
            writer = CohortWriter(folder, self.n_regions, self.n_timepoints)
            for block in iterate_rows(self.signals):
                writer.append(block)
            writer.finish(self.samples, self.regions, self.tr, provenance)
        return Path(path)

    @classmethod
    @checked
    def open(cls, path: str | os.PathLike[str]) -> Cohort:
        """Open a cohort written by :meth:`save`; signals stay on disk until used."""
        from sclcs.cohort.storage import complaining, read_cohort

        found, stored_fingerprint = read_cohort(path)
        with complaining(path):
            cohort = cls(**found)
        cohort.fingerprint = stored_fingerprint  # fills the cached property
        cohort.path = Path(path)
        return cohort

    def _row_numbers(self, rows: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        chosen = np.asarray(rows)
        if not chosen.size:
            chosen = chosen.astype(np.int64)
        if chosen.ndim != 1 or chosen.dtype.kind not in "biuUO":
            raise InputError(
                "Expected sample ids, row numbers or a mask with one value per sample, got "
                f"{type(rows).__name__} of type {chosen.dtype}."
            )
        if chosen.dtype.kind in "UO":
            found = self.samples.index.get_indexer(pd.Index(list(rows), dtype=object))
            unknown = [name for name, row in zip(rows, found, strict=True) if row < 0]
            if unknown:
                raise UnknownNameError(
                    f"These samples are not in the cohort: {name_first(unknown)}."
                )
            return np.asarray(found, dtype=np.int64)
        if chosen.dtype == bool and chosen.shape != (len(self),):
            raise InputError(f"A mask needs {len(self)} values, got {chosen.size}.")
        try:
            return np.asarray(np.arange(len(self))[chosen])
        except IndexError as error:
            raise InputError(f"Row numbers must be below {len(self)}: {error}.") from error

    def _subset(self, rows: NDArray[np.int64] | None, regions: NDArray[np.int64] | None) -> Cohort:
        if isinstance(self.signals, LazySignals):
            signals: SignalArray = self.signals.take(rows, regions)
        else:
            signals = self.signals if rows is None else self.signals[rows]
            signals = signals if regions is None else signals[:, regions]
        samples = self.samples if rows is None else self.samples.iloc[rows]
        names = self.regions if regions is None else [self.regions[i] for i in regions]
        return self._with(signals=signals, samples=samples, regions=names)

    def _with(self, **changes: Any) -> Cohort:  # noqa: ANN401
        fields: dict[str, Any] = {
            "signals": self.signals,
            "samples": self.samples,
            "regions": self.regions,
            "tr": self.tr,
            "provenance": self.provenance,
        }
        changed = Cohort(**(fields | changes))
        changed.path = self.path
        return changed


HALVED = "Samples are halves of scans that share no time points."


def _table_of_halves(
    samples: pd.DataFrame,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> pd.DataFrame:
    """Return the metadata of halves: the rows of their samples, with new ids, starts, lengths."""
    table = samples.iloc[rows].copy()
    second = np.tile([0, 1], len(samples))
    ids = [f"{name}_half-{k + 1}" for name, k in zip(table.index, second, strict=True)]
    if "scan" not in table.columns:
        table["scan"] = table.index
    before = table["start"].to_numpy() if "start" in table.columns else 0
    table["start"] = before + starts
    table["window"] = table["window"].to_numpy() * 2 + second
    if len(set(lengths.tolist())) > 1:
        table[LENGTH_COLUMN] = lengths
    else:
        table = table.drop(columns=LENGTH_COLUMN, errors="ignore")
    return table.set_axis(pd.Index(ids, name="sample_id", dtype=object))


def samples_for(cohort: Cohort, task: str | Sequence[str]) -> Cohort:
    """Return the cohort whose samples can answer what is asked; the same if nothing has to be cut.

    Labels and numbers are asked of the samples as they are. Fingerprinting (``"subject"``)
    compares samples of one subject: sessions, runs or windows where some subject has several of
    them, otherwise halves of every scan (:meth:`Cohort.halves`). Of several tasks all are asked of
    halves then.

    Examples
    --------
    >>> from sclcs import simulate_cohort
    >>> whole = simulate_cohort(3, 1, 5, length=40, seed=1)
    >>> len(samples_for(whole, "subject")), samples_for(whole, "site") is whole
    (6, True)
    """
    tasks = [task] if isinstance(task, str) else list(task)
    if "subject" not in tasks or cohort.samples["subject"].duplicated().any():
        return cohort
    return cohort.halves()


def _check_signals(signals: ArrayLike | LazySignals, n_samples: int) -> SignalArray:
    if isinstance(signals, LazySignals):
        checked: SignalArray = signals
    else:
        first = signals[0] if isinstance(signals, list | tuple) and signals else signals
        if isinstance(first, Mapping | pd.DataFrame):
            raise InputError(
                "Expected signals as one array (sample, region, time), got data frames; "
                "Cohort.from_arrays takes these and arrays (time, region)."
            )
        if {"region", "time"} <= set(getattr(signals, "dims", ())):
            signals = signals.transpose(..., "region", "time")  # type: ignore[union-attr]
        numbers = real_numbers(signals, "signals as one array (sample, region, time)")
        checked = as_float32(numbers)
    if checked.ndim != 3:
        raise InputError(
            f"Signals must have the axes (sample, region, time), got shape {checked.shape}."
        )
    if checked.shape[0] != n_samples:
        raise InputError(
            f"Expected one row of metadata per sample, got {n_samples} rows for "
            f"{checked.shape[0]} samples."
        )
    return checked


def check_tr(tr: object) -> float | None:
    """Return a repetition time as a number, or raise if it is none."""
    if tr is None:
        return None
    numeric = isinstance(tr, int | float | np.number) and not isinstance(tr, bool)
    if not numeric or not SHORTEST_TR <= tr <= LONGEST_TR:  # type: ignore[operator]
        raise InputError(f"The repetition time is a number of seconds above 0, got {tr!r}.")
    return float(tr)  # type: ignore[arg-type]


def _check_regions(regions: Sequence[str] | None, shape: tuple[int, ...]) -> tuple[str, ...]:
    expected, n_times = shape[1], shape[2]
    names = tuple(f"region-{i}" for i in range(expected)) if regions is None else tuple(regions)
    if regions is not None and len(names) == n_times != expected:
        raise InputError(
            f"The axes look swapped: there are {n_times} region names, as many as time points, and "
            f"{expected} regions; give signals (sample, region, time), for example "
            "signals.swapaxes(1, 2)."
        )
    if len(names) != expected:
        raise InputError(f"Expected {expected} region names, got {len(names)}.")
    if regions is None:
        warn_if_swapped(expected, n_times, "give signals (sample, region, time)", stacklevel=5)
    return unique_regions(names)


def _check_finite(signals: SignalArray, ids: pd.Index, lengths: NDArray[np.int64]) -> None:
    if isinstance(signals, LazySignals):
        return  # checked when it was written; each read checks for missing chunks
    inside = np.arange(signals.shape[2]) < lengths[:, None]
    bad = np.flatnonzero((np.isfinite(signals) != inside[:, None, :]).any(axis=(1, 2)))
    if len(bad):
        raise InputError(
            f"Signals must be finite (NaN only after n_timepoints, where that is a column), "
            f"but {len(bad)} samples hold NaN or infinite values: {name_first(ids[bad])}; "
            "leave them out or repair them."
        )
