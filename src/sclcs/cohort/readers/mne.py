"""EEG and MEG through MNE-Python: continuous recordings and epochs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
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
from sclcs.cohort.labels import attach_labels, read_label_table
from sclcs.cohort.problems import Problem, raise_for
from sclcs.cohort.readers.bids_metadata import split_tr
from sclcs.cohort.readers.folders import NameTemplate, name_facts
from sclcs.cohort.regions import choose_regions
from sclcs.cohort.scans import Scan, Scans

__all__ = ["read_mne"]

_EPOCHS = ("-epo.fif", "_epo.fif", "-epo.fif.gz", "_epo.fif.gz")
_RAW = (".fif", ".fif.gz", ".edf", ".bdf", ".vhdr", ".set", ".gdf")
_EXPECTED = "a recording that MNE can read"
_NAME_ENDS = ("_raw", "-raw", "_meg", "_eeg", "_ieeg", "_epo", "-epo")


def read_mne(
    source: str | os.PathLike[str],
    *,
    picks: str | Sequence[str] = "data",
    low_pass: float | None = None,
    high_pass: float | None = None,
    rate: float | None = None,
    pattern: str = "**/*",
    file_names: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    regions: str | Sequence[str] | None = None,
) -> Scans:
    """Read recordings of EEG or MEG that MNE-Python can read.

    Parameters
    ----------
    source : path-like
        A folder of recordings (``*_raw.fif``, ``.edf``, ``.bdf``, ``.vhdr``, ``.set``, ...) or
        epochs (``*-epo.fif``), or one file.
    picks : str or sequence of str
        Channels: a type (``"eeg"``, ``"mag"``, ``"grad"``, ``"data"`` for all of brain signals) or
        names. Bad channels are left out.
    low_pass, high_pass : float, optional
        Cut-off frequencies in Hz: ``high_pass=8, low_pass=13`` keeps the alpha band.
    rate : float, optional
        Resample to this many samples per second.
    pattern : str
        Which files of a folder.
    file_names : str, optional
        What file names say, for example ``"{subject}_{session}"``; names of BIDS are understood.
    labels : path-like, optional
        A csv, tsv or xlsx table, joined by its ids.
    id_column : str, optional
        Its column of ids; recognised by name if not given.
    regions : str or sequence of str, optional
        Channel names or patterns; all by default.

    Returns
    -------
    Scans
        A recording is one scan, an epoch is one scan with the facts `epoch` and `event`. The
        repetition time is one over the real sampling rate, so that bands of spectral
        operators can be told in Hz (:func:`sclcs.spi.bands`).
    """
    mne = import_extra("mne", "mne")
    place = Path(require_existing(source, "recordings"))
    root = place if place.is_dir() else place.parent
    template = None if file_names is None else NameTemplate(file_names)
    reading = _Reading(mne, picks, low_pass, high_pass, rate)
    scans: list[Scan] = []
    channels: list[tuple[str, ...]] = []
    times: list[float | None] = []
    problems: list[Problem] = []
    for path in _files(place, pattern):
        stem = _stem(path)
        named = (
            name_facts(stem) if template is None else template.facts(path.relative_to(root), stem)
        )
        try:
            found, names_found, tr = reading.scans(path, *named)
        except UnreadableFileError as error:
            problems.append(Problem("unreadable", named[0], str(error)))
            continue
        scans += found
        channels += [names_found] * len(found)
        times += [tr] * len(found)
    if not scans:
        raise_for(problems)
    usual = Counter(channels).most_common(1)[0][0]
    problems += [
        Problem("region-count", scan.scan_id, f"{len(own)} channels, expected {len(usual)}")
        for scan, own in zip(scans, channels, strict=True)
        if set(own) != set(usual)
    ]
    kept = [k for k, own in enumerate(channels) if set(own) == set(usual)]
    shared, tr_facts = split_tr([times[k] for k in kept])
    ordered = [
        _in_order(scans[k], channels[k], usual, fact)
        for k, fact in zip(kept, tr_facts, strict=True)
    ]
    options = {
        "picks": picks, "low_pass": low_pass, "high_pass": high_pass, "rate": rate,
        "pattern": pattern, "file_names": file_names, "regions": regions,
    }  # fmt: skip
    provenance = {"reader": "mne", "source": str(source), "options": options}
    read = choose_regions(Scans(ordered, usual, shared, provenance, problems), regions)
    return (
        read if labels is None else attach_labels(read, read_label_table(labels, id_column), None)
    )


class _Reading:
    """How recordings are read."""

    def __init__(
        self,
        mne: Any,  # noqa: ANN401 (mne has no types for us)
        picks: str | Sequence[str],
        low_pass: float | None,
        high_pass: float | None,
        rate: float | None,
    ) -> None:
        self._mne = mne
        self._picks = picks if isinstance(picks, str) and "," not in picks else _words(picks)
        self._low, self._high, self._rate = low_pass, high_pass, rate
        self._kept: tuple[Path, NDArray[np.float64]] | None = None
        for name, value in (("low_pass", low_pass), ("high_pass", high_pass), ("rate", rate)):
            if value is not None and not (np.isfinite(value) and value > 0):
                raise InputError(f"Expected {name} above 0 Hz, got {value:g}.")

    def scans(
        self, path: Path, scan_id: str, subject: str, facts: Mapping[str, Any]
    ) -> tuple[list[Scan], tuple[str, ...], float]:
        """Look at one file: its scans, its channels, the time between samples in seconds."""
        epochs = path.name.lower().endswith(_EPOCHS)
        opened = self._open(path, epochs)
        names = tuple(str(name) for name in opened.ch_names)
        rate = self._rate or float(opened.info["sfreq"])
        if not epochs:
            load = partial(self._signals, path, None)
            return [Scan(scan_id, subject, load, dict(facts))], names, 1 / rate
        events = {number: name for name, number in opened.event_id.items()}
        scans = [
            Scan(
                f"{scan_id}_epoch-{number}",
                subject,
                partial(self._signals, path, number),
                {**facts, "epoch": number, "event": events.get(int(event), str(event))},
            )
            for number, event in enumerate(opened.events[:, 2])
        ]
        return scans, names, 1 / rate

    def _open(self, path: Path, epochs: bool) -> Any:  # noqa: ANN401
        with (
            explain_damage(path, "a recording that MNE can read"),
            self._mne.use_log_level("ERROR"),
        ):
            read = partial(self._mne.read_epochs, preload=True) if epochs else self._mne.io.read_raw
            opened = read(path)
            return self._pick(opened, path)  # also where damaged kinds of channels are found out

    def _pick(self, opened: Any, path: Path) -> Any:  # noqa: ANN401
        try:
            return opened.pick(self._picks, exclude="bads")
        except ValueError as error:
            raise InputError(
                f"Expected channels {self._picks} in {path} ({error}); choose others with --picks."
            ) from error

    def _signals(self, path: Path, epoch: int | None) -> NDArray[np.float64]:
        """Return one recording or epoch; the epochs of the last file are kept for the next."""
        if epoch is None:
            return self._data(path, epochs=False)
        if self._kept is None or self._kept[0] != path:
            self._kept = (path, self._data(path, epochs=True))
        return np.asarray(self._kept[1][epoch])

    def _data(self, path: Path, *, epochs: bool) -> NDArray[np.float64]:
        part = self._open(path, epochs)
        with (
            explain_damage(path, "a recording that MNE can read"),
            self._mne.use_log_level("ERROR"),
        ):
            part.load_data()
            if self._low is not None or self._high is not None:
                part.filter(self._high, self._low)
            if self._rate is not None:
                part.resample(self._rate)
            return np.asarray(part.get_data())


def _words(names: str | Sequence[str]) -> list[str]:
    words = names.split(",") if isinstance(names, str) else names
    return [str(word).strip() for word in words]


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


def _in_order(
    scan: Scan, own: tuple[str, ...], usual: tuple[str, ...], facts: Mapping[str, Any]
) -> Scan:
    rows = np.array([own.index(name) for name in usual])
    load = partial(_rows, scan, rows)
    return Scan(scan.scan_id, scan.subject, load, {**scan.facts, **facts})


def _rows(scan: Scan, rows: NDArray[np.int64]) -> NDArray[Any]:
    return np.asarray(scan.load()[rows])
