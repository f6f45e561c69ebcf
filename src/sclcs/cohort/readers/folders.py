"""What the name of a file says: subject, session, task, run."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sclcs._core import InputError, NotFoundError, UnreadableFileError, name_first
from sclcs.cohort.labels import fact_name
from sclcs.cohort.readers.bids_files import BidsFile, parse_bids_name
from sclcs.cohort.readers.bids_metadata import split_tr
from sclcs.cohort.readers.series_files import (
    SERIES_ENDINGS,
    Layout,
    SeriesFile,
    is_series_file,
    look_at,
    oriented,
    series_stem,
)
from sclcs.cohort.scans import Scan, Scans

__all__ = ["Layout", "NameTemplate", "name_facts", "read_scan_folder"]


_FIELD = re.compile(r"\{(\w+)\}|(\*\*?)")


def name_facts(stem: str) -> tuple[str, str, dict[str, Any]]:
    """Return the scan id, subject and facts that a name of BIDS tells.

    Parameters
    ----------
    stem : str
        A file name without its ending.

    Returns
    -------
    scan_id, subject : str
        The name itself if it is not one of BIDS.
    facts : dict
        `session`, `task`, `run` as far as the name has them.

    Examples
    --------
    >>> name_facts("sub-01_ses-2_task-rest_timeseries")
    ('sub-01_ses-2_task-rest', 'sub-01', {'session': '2', 'task': 'rest'})
    >>> name_facts("Pitt_0050003")
    ('Pitt_0050003', 'Pitt_0050003', {})
    """
    for text in (f"{stem}.x", f"{stem}_x.x"):  # with or without a suffix
        name = parse_bids_name(text)
        if name is not None and "sub" in name.entities:
            file = BidsFile(Path(text), name)
            facts = {key: label for key, label in file.facts().items() if label is not None}
            return name.scan_id, file.subject, facts
    return stem, stem, {}


class NameTemplate:
    """What a user says about the names of files.

    Parameters
    ----------
    template : str
        The name (or path below the folder) of a file without its ending, with fields:
        ``"{subject}_{session}"``, ``"{subject}/MNINonLinear/Results/{run}/*"``. Each field but
        the subject becomes a fact; ``*`` is any text inside a name.
    """

    def __init__(self, template: str) -> None:
        fields = [found[1] for found in _FIELD.finditer(template) if found[1]]
        if "subject" not in fields or len(set(fields)) < len(fields):
            raise InputError(
                f"Expected names with the field {{subject}} and each field once, such as "
                f"'{{subject}}_{{session}}', got {template!r}."
            )
        self._template = template
        self._with_folders = "/" in template
        pattern, start = "", 0
        for found in _FIELD.finditer(template):
            pattern += re.escape(template[start : found.start()])
            pattern += f"(?P<{found[1]}>[^/]+?)" if found[1] else "[^/]*"
            start = found.end()
        self._pattern = re.compile(pattern + re.escape(template[start:]))

    def facts(self, path: Path, stem: str) -> tuple[str, str, dict[str, Any]]:
        """Take the name of a file apart.

        Parameters
        ----------
        path : Path
            Below the folder that is read.
        stem : str
            Its name without the ending.

        Returns
        -------
        scan_id, subject : str
        facts : dict
            The other fields.
        """
        text = (path.parent / stem).as_posix() if self._with_folders else stem
        found = self._pattern.fullmatch(text)
        if found is None:
            raise InputError(
                f"Expected names like {self._template!r}, but {text!r} is not; correct --names "
                "(names=...), or choose the files with --pattern."
            )
        fields = found.groupdict()
        subject = fields.pop("subject")
        scan_id = "_".join([subject, *(f"{key}-{value}" for key, value in fields.items())])
        return scan_id, subject, {fact_name(key): value for key, value in fields.items()}


def read_scan_folder(
    folder: Path,
    *,
    layout: Layout = "auto",
    pattern: str = "*",
    strip_suffix: str = "",
    names: str | None = None,
    n_regions: int | None = None,
    ignore: Sequence[Path] = (),
) -> Scans:
    """Read a folder of text, .npy or .ptseries.nii files, one scan each.

    Parameters
    ----------
    folder : Path
        The folder.
    layout : {'auto', 'scan-time-region', 'scan-region-time'}
        Whether the rows of a file are time points or regions; ``auto`` finds out or asks.
    pattern : str
        Which files, for example ``"*_rois_dosenbach160.1D"`` or ``"**/*.csv"``.
    strip_suffix : str
        Text removed from the end of the file stem; what is left is the scan id.
    names : str, optional
        What the names of files say, for example ``"{subject}_{session}"``; see
        :class:`~sclcs.cohort.readers.folders.NameTemplate`. Without it names of BIDS
        (``sub-01_ses-2_...``) are understood.
    n_regions : int, optional
        How many regions the atlas has, if that is known.
    ignore : sequence of Path
        Files that are not scans, such as the table of labels.

    Returns
    -------
    Scans
        The subject of each scan is what its name says, else its id, until labels say
        otherwise.
    """
    left_out = {os.path.realpath(path) for path in ignore}
    paths = [
        path
        for path in _matching(folder, pattern)
        if is_series_file(path) and os.path.realpath(path) not in left_out
    ]
    if not paths:
        raise NotFoundError(
            f"Expected files {', '.join(SERIES_ENDINGS)} that match {pattern!r} in {folder}, "
            "found none."
        )
    files = oriented([look_at(path, layout) for path in paths], n_regions)
    regions, from_header = _common_regions(files, folder)
    template = None if names is None else NameTemplate(names)
    shared_tr, tr_facts = split_tr([file.tr for file in files])
    scans = []
    for file, tr in zip(files, tr_facts, strict=True):
        stem = series_stem(file.path).removesuffix(strip_suffix)
        load = _checked(file, regions) if from_header else file.load
        if template is None:
            scan_id, subject, facts = name_facts(stem)
        else:
            scan_id, subject, facts = template.facts(file.path.relative_to(folder), stem)
        known = {name: value for name, value in tr.items() if value is not None}
        scans.append(Scan(scan_id, subject, load, {**facts, **known}))
    return Scans(scans, regions, shared_tr)


def _matching(folder: Path, pattern: str) -> list[Path]:
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise InputError(
            f"Expected a pattern of names inside the folder, such as '*.csv', got {pattern!r}."
        )
    try:
        return sorted(folder.glob(pattern))
    except (ValueError, NotImplementedError, IndexError) as error:
        raise InputError(f"The pattern {pattern!r} cannot be used: {error}.") from error


def _common_regions(files: Sequence[SeriesFile], folder: Path) -> tuple[tuple[str, ...], bool]:
    """Return the region names of most files, and whether they come from the files."""
    readable = [file for file in files if not file.damaged]
    if not readable:
        files[0].load()  # says what is wrong with the first
        raise UnreadableFileError(f"None of the {len(files)} files in {folder} can be read.")
    names, _ = Counter(file.names for file in readable).most_common(1)[0]
    if names is None:
        count, _ = Counter(file.n_regions for file in readable).most_common(1)[0]
        return tuple(f"region-{i}" for i in range(count or 0)), False
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        example = next(file.path for file in readable if file.names == names)
        raise InputError(
            f"Expected each region once in the header of {example}; repeated: "
            f"{name_first(repeated)}; correct the headers."
        )
    return names, True


def _checked(file: SeriesFile, regions: tuple[str, ...]) -> Callable[[], NDArray[Any]]:
    """Refuse a file whose regions are named differently: they would be mixed up."""
    if file.n_regions != len(regions) or file.names == regions:
        return file.load  # another number of regions is found and named by the quality check
    if file.names is None:
        found = "has no header"
    else:
        pairs = zip(regions, file.names, strict=True)
        found = "has " + next(f"{b} in place of {a}" for a, b in pairs if a != b)
    error = UnreadableFileError(
        f"Expected the regions {name_first(regions, 3)} in the header of {file.path} as in most "
        f"files, but it {found}; put all files in one order of regions."
    )
    return partial(_raise, error)


def _raise(error: UnreadableFileError) -> NDArray[Any]:
    raise error
