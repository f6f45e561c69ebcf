"""EEG and MEG through MNE-Python: continuous recordings and epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs._core import (
    InputError,
    NotFoundError,
    UnreadableFileError,
    explain_damage,
    import_extra,
    require_existing,
)
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.folders import NameTemplate, metadata_in_name
from sclcs.cohort.scans import Scan, Scans, aligned

_EPOCHS = ("-epo.fif", "_epo.fif", "-epo.fif.gz", "_epo.fif.gz")
_RAW = (".fif", ".fif.gz", ".edf", ".bdf", ".vhdr", ".set", ".gdf")
_EXPECTED = "a recording that MNE can read"
_NAME_ENDS = ("_raw", "-raw", "_meg", "_eeg", "_ieeg", "_epo", "-epo")


def read_mne(
    source: Path,
    *,
    picks: Sequence[str] = ("data",),
    low_pass: float | None = None,
    high_pass: float | None = None,
    rate: float | None = None,
    pattern: str = "**/*",
    file_names: str | None = None,
) -> Scans:
    """Read recordings of EEG or MEG: a scan each, or a scan per epoch with its `event`.

    `picks` are types of channels (``eeg``, ``mag``, ``grad``, ``data`` for all of brain signals) or
    names; bad channels are left out. Cut-off frequencies are in Hz: ``high_pass=8, low_pass=13``
    keeps the alpha band. The repetition time is one over the real sampling rate.
    """
    place = require_existing(source, "recordings")
    root = place if place.is_dir() else place.parent
    template = None if file_names is None else NameTemplate(file_names)
    chosen = picks[0] if len(picks) == 1 else list(picks)
    reading = _Reading(import_extra("mne", "mne"), chosen, low_pass, high_pass, rate)
    found: list[tuple[Scan, tuple[str, ...], float]] = []
    problems: list[Problem] = []
    for path in _files(place, pattern):
        stem, below = _stem(path), path.relative_to(root)
        named = metadata_in_name(stem) if template is None else template.metadata(below, stem)
        try:
            found += reading.scans(path, *named)
        except UnreadableFileError as error:
            problems.append(Problem("unreadable", named[0], str(error)))
    if not found:
        raise_for(problems)
    return aligned(found, problems)


@dataclass
class _Reading:
    """How recordings are read; the epochs of the last file are kept for the next."""

    mne: Any  # the module, which has no types for us
    picks: str | list[str]
    low_pass: float | None
    high_pass: float | None
    rate: float | None
    _kept: tuple[Path, NDArray[np.float64]] | None = field(default=None, repr=False)

    def scans(
        self, path: Path, scan_id: str, subject: str, metadata: Mapping[str, Any]
    ) -> list[tuple[Scan, tuple[str, ...], float]]:
        """Look at one file: its scans, with their channels and seconds between samples."""
        epochs = path.name.lower().endswith(_EPOCHS)
        opened = self._open(path, epochs)
        names = tuple(str(name) for name in opened.ch_names)
        seconds = 1 / (self.rate or float(opened.info["sfreq"]))
        if not epochs:
            scan = Scan(scan_id, subject, partial(self._data, path, epochs=False), dict(metadata))
            return [(scan, names, seconds)]
        events = {number: name for name, number in opened.event_id.items()}
        scans = [
            Scan(
                f"{scan_id}_epoch-{number}",
                subject,
                partial(self._epoch, path, number),
                {**metadata, "epoch": number, "event": events.get(int(event), str(event))},
            )
            for number, event in enumerate(opened.events[:, 2])
        ]
        return [(scan, names, seconds) for scan in scans]

    def _open(self, path: Path, epochs: bool) -> Any:  # noqa: ANN401
        with explain_damage(path, _EXPECTED), self.mne.use_log_level("ERROR"):
            read = partial(self.mne.read_epochs, preload=True) if epochs else self.mne.io.read_raw
            opened = read(path)
            try:  # also where damaged kinds of channels are found out
                return opened.pick(self.picks, exclude="bads")
            except ValueError as error:
                raise InputError(
                    f"Expected channels {self.picks} in {path} ({error}); choose others with "
                    "--picks."
                ) from error

    def _epoch(self, path: Path, number: int) -> NDArray[np.float64]:
        if self._kept is None or self._kept[0] != path:
            self._kept = (path, self._data(path, epochs=True))
        return np.asarray(self._kept[1][number])

    def _data(self, path: Path, *, epochs: bool) -> NDArray[np.float64]:
        part = self._open(path, epochs)
        with explain_damage(path, _EXPECTED), self.mne.use_log_level("ERROR"):
            part.load_data()
            if self.low_pass is not None or self.high_pass is not None:
                part.filter(self.high_pass, self.low_pass)
            if self.rate is not None:
                part.resample(self.rate)
            return np.asarray(part.get_data())


def _files(place: Path, pattern: str) -> list[Path]:
    if place.is_file():
        return [place]
    paths = [
        path
        for path in sorted(place.glob(pattern))
        if path.name.lower().endswith((*_EPOCHS, *_RAW)) and not path.name.startswith(".")
    ]
    if not paths:
        raise NotFoundError(
            f"Expected recordings ({', '.join(_RAW)}) or epochs (*-epo.fif) that match "
            f"{pattern!r} in {place}, found none."
        )
    return paths


def _stem(path: Path) -> str:
    name = path.name
    for end in sorted(_RAW, key=len, reverse=True):
        name = name[: -len(end)] if name.lower().endswith(end) else name
    return next((name.removesuffix(end) for end in _NAME_ENDS if name.endswith(end)), name)
