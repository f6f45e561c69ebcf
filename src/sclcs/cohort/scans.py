"""Scans as they come from files: unequal lengths, loaded one at a time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    SclcsError,
    UnknownNameError,
    UnreadableFileError,
    checked,
    checked_record,
    get_logger,
    name_first,
    real_numbers,
    takes,
)
from sclcs.cohort.problems import Problem
from sclcs.cohort.signals import as_float32
from sclcs.settings import CutSettings

if TYPE_CHECKING:
    from sclcs.cohort.cohort import Cohort


_log = get_logger(__name__)


@checked_record
@dataclass(frozen=True)
class Scan:
    """One scan: who, what is known of it, and how to load its signals.

    Parameters
    ----------
    scan_id : str
        Unique name of the scan.
    subject : str
        Whose scan it is.
    load : callable
        Returns the signals (region, time). Called when the scan is needed, so that one
        scan at a time is in memory.
    metadata : mapping
        Labels and covariates: diagnosis, site, session, age, ...
    coverage : callable, optional
        Returns how much of each region the scan covers, 0 to 1, by its name, where the
        pipeline says it; NaN or constant signals are found without it.
    """

    scan_id: str
    subject: str
    load: Callable[[], NDArray[Any]]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    coverage: Callable[[], Mapping[str, float]] | None = None

    def signals(self) -> NDArray[np.float32]:
        """Load the signals as float32 (region, time); whatever fails is an UnreadableFileError."""
        try:
            loaded = self.load()
            values = real_numbers(loaded, "an array (region, time)")
        except (SclcsError, MemoryError) as error:
            if type(error) is InputError:
                raise UnreadableFileError(str(error).rstrip(".")) from error
            raise
        except Exception as error:  # what a user's function may raise
            raise UnreadableFileError(f"{type(error).__name__}: {error}") from error
        return as_float32(values)


class Scans(Sequence[Scan]):
    """A collection of scans that share their regions; lengths may differ.

    Parameters
    ----------
    scans : sequence of Scan
        The scans.
    regions : sequence of str
        Names of the regions, in the order of the rows of every scan.
    tr : float, optional
        Repetition time in seconds, if all scans share it.
    provenance : mapping, optional
        Where the scans come from.
    problems : sequence of Problem
        What the reader already found: scans without labels, labels without scans, ...
        What is done about them is decided when the cohort is built.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scan = Scan("a_1", "a", lambda: rng.normal(size=(2, 50)), {"site": "X"})
    >>> Scans([scan], ["PCC", "mPFC"], tr=2.0)
    Scans(1 scans, 1 subjects, 2 regions)
    """

    @checked
    def __init__(
        self,
        scans: Sequence[Scan],
        regions: Sequence[str],
        tr: float | None = None,
        provenance: Mapping[str, Any] | None = None,
        problems: Sequence[Problem] = (),
    ) -> None:
        self._scans = list(scans)
        self.regions = unique_regions(regions)
        self.tr = None if tr is None else float(tr)
        self.provenance = dict(provenance or {})
        counts = Counter(scan.scan_id for scan in self._scans)
        twice = [Problem("duplicate-id", name, f"{n} scans") for name, n in counts.items() if n > 1]
        self.problems = [*(one for one in problems if one.kind != "duplicate-id"), *twice]

    def __len__(self) -> int:
        return len(self._scans)

    @overload
    def __getitem__(self, index: int) -> Scan: ...

    @overload
    def __getitem__(self, index: slice) -> Scans: ...

    def __getitem__(self, index: int | slice) -> Scan | Scans:
        if isinstance(index, slice):
            return self.with_scans(self._scans[index])
        return self._scans[index]

    def __iter__(self) -> Iterator[Scan]:
        return iter(self._scans)

    def __repr__(self) -> str:
        subjects = len({scan.subject for scan in self})
        return f"Scans({len(self)} scans, {subjects} subjects, {len(self.regions)} regions)"

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per scan, indexed by ``scan_id``: the subject and the metadata."""
        rows = [{"subject": scan.subject, **scan.metadata} for scan in self]
        index = pd.Index([scan.scan_id for scan in self], name="scan_id", dtype=object)
        return pd.DataFrame(rows, index=index)

    @checked
    def keep_regions(self, names: Sequence[str]) -> Scans:
        """Return the same scans with some regions only, in the order given."""
        rows = rows_of_regions(self.regions, names)
        n_regions = len(self.regions)
        scans = [replace(one, load=partial(_some_rows, one.load, rows, n_regions)) for one in self]
        return self.with_scans(scans, regions=names)

    def with_scans(self, scans: Sequence[Scan], **changes: Any) -> Scans:  # noqa: ANN401
        """Return a collection with other scans and the rest as it is.

        But for `changes` of `regions`, `tr`, `provenance` and `problems`.
        """
        given: dict[str, Any] = {
            "regions": self.regions,
            "tr": self.tr,
            "provenance": self.provenance,
            "problems": self.problems,
        }
        return Scans(scans, **(given | changes))

    def noted(self, note: str) -> Scans:
        """Return the scans with a note that is printed, and kept with the cohort."""
        _log.warning("%s", note)
        notes = [*self.provenance.get("notes", ()), note]
        return self.with_scans(self, provenance={**self.provenance, "notes": notes})

    def at_tr(self, tr: float) -> Scans:
        """Return the scans with one repetition time, whatever their own are."""
        scans = [
            replace(one, metadata={k: v for k, v in one.metadata.items() if k != "tr"})
            for one in self
        ]
        return self.with_scans(scans, tr=tr)

    def repetition_time(self, scan: Scan) -> float | None:
        """Return the repetition time of one of the scans in seconds, if it is known."""
        own = scan.metadata.get("tr")
        if isinstance(own, int | float) and np.isfinite(own) and own > 0:
            return float(own)
        return self.tr

    @checked
    @takes(CutSettings)
    def to_cohort(
        self,
        out: str | os.PathLike[str] | None = None,
        **options: Any,  # noqa: ANN401 - fields of CutSettings
    ) -> Cohort:
        """Make samples of the scans: each whole by default, or windows.

        Parameters
        ----------
        out : path-like, optional
            Where to write the cohort, scan by scan; without it the cohort is in memory.
        {options}
        """
        from sclcs.cohort.build import make_cohort

        return make_cohort(self, CutSettings(**options), out)


def aligned(
    found: Sequence[tuple[Scan, Sequence[str], float | None]], problems: Sequence[Problem] = ()
) -> Scans:
    """Make scans of files that differ in the order of their regions, or in the regions themselves.

    Each comes with the names of its rows and its repetition time. Those with the regions that most
    have are kept, in the order of the first; the others become problems.
    """
    keys = [tuple(sorted(names)) for _, names, _ in found]
    usual = Counter(keys).most_common(1)[0][0]
    kept = [one for one, key in zip(found, keys, strict=True) if key == usual]
    odd = [
        Problem("region-count", scan.scan_id, _difference(names, usual))
        for (scan, names, _), key in zip(found, keys, strict=True)
        if key != usual
    ]
    regions = kept[0][1]
    tr, own = split_tr([seconds for _, _, seconds in kept])
    scans = []
    for (scan, names, _), time in zip(kept, own, strict=True):
        load = scan.load
        if tuple(names) != tuple(regions):
            rows = np.array([list(names).index(name) for name in regions])
            load = partial(_some_rows, scan.load, rows, len(rows))
        scans.append(replace(scan, load=load, metadata={**scan.metadata, **time}))
    return Scans(scans, regions, tr, problems=[*problems, *odd])


def _difference(names: Sequence[str], usual: Sequence[str]) -> str:
    lacking, unknown = Counter(usual) - Counter(names), Counter(names) - Counter(usual)
    differences = [
        *([f"lacks {name_first(lacking, 3)}"] if lacking else []),
        *([f"has also {name_first(unknown, 3)}"] if unknown else []),
    ]
    counts = f"{len(names)} regions, expected {len(usual)}: " if len(names) != len(usual) else ""
    return counts + " and ".join(differences)


def unique_regions(names: Sequence[object]) -> tuple[str, ...]:
    """Return names of regions as strings, each of which must be there once."""
    repeated = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if repeated:
        raise InputError(f"Region names must be unique; repeated: {name_first(repeated)}.")
    return tuple(map(str, names))


def rows_of_regions(known: Sequence[str], names: Sequence[str]) -> NDArray[np.int64]:
    """Return where named regions are among those there are; at least one."""
    unknown = [name for name in names if name not in known]
    if unknown or not len(names):
        raise UnknownNameError(
            f"Expected names of regions, got {'unknown ' if unknown else ''}"
            f"{name_first(unknown) or 'none'}; there are {name_first(known, 10)}."
        )
    return np.array([known.index(name) for name in names])


def unique_scan_ids(subjects: Sequence[object]) -> list[str]:
    """Name scans by their subject, and number them where a subject has several."""
    repeated = Counter(map(str, subjects))
    seen: Counter[str] = Counter()
    ids = []
    for subject in map(str, subjects):
        seen[subject] += 1
        ids.append(f"{subject}_scan-{seen[subject]}" if repeated[subject] > 1 else subject)
    return ids


def split_tr(times: Sequence[float | None]) -> tuple[float | None, list[dict[str, Any]]]:
    """Return the repetition time that all scans share, or ``{"tr": seconds}`` of each."""
    different = set(times)
    if len(different) == 1:
        return different.pop(), [{} for _ in times]
    return None, [{"tr": time} for time in times]


def _some_rows(
    load: Callable[[], NDArray[Any]], rows: NDArray[np.int64], expected: int
) -> NDArray[Any]:
    signals = load()
    found = signals.shape[0]
    if found == expected:
        return signals[rows]
    if found == len(rows):  # would pass for the chosen regions
        raise UnreadableFileError(
            f"Expected {expected} regions before choosing {found} of them, found {found}"
        )
    return signals  # left whole: the region-count check names it
