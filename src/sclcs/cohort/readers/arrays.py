"""Scans from .npz, .npy, or a folder with one file per scan."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from sclcs.cohort.labels import By, attach_labels, read_label_table
from sclcs.cohort.readers.array_block import name_by_rows, read_block, scans_of_block
from sclcs.cohort.readers.scan_folder import read_scan_folder
from sclcs.cohort.readers.series_files import require_layout
from sclcs.cohort.regions import ATLAS_SIZES, REGION_SETS, choose_regions
from sclcs.cohort.scans import Scans
from sclcs.core.arguments import checked
from sclcs.core.files import require_existing

__all__ = ["read_arrays"]


@checked
def read_arrays(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    regions: str | Sequence[str] | None = None,
    tr: float | None = None,
    key: str | None = None,
    layout: str = "auto",
    id_column: str | None = None,
    labels_by: By | None = None,
    by_position: bool = False,
    pattern: str = "*",
    strip_suffix: str = "",
    names: str | None = None,
) -> Scans:
    """Read scans from arrays.

    Parameters
    ----------
    path : path-like
        One of:

        - an ``.npz`` file: signals in a 3-D array; optional ``n_timepoints`` (real lengths,
          the rest is padding and never read), ``roi_names``, ``subject``, ``scan_id`` or
          ``file_id``, ``tr``. Every other array with one value per scan is a fact.
        - an ``.npy`` file with a 3-D array;
        - a folder of ``.csv``, ``.tsv``, ``.txt``, ``.1D`` (also with ``.gz``), ``.npy`` or CIFTI
          ``.ptseries.nii`` files, one scan each, with or without a header. The scan id is the
          file name without its ending; the region names are those of the header, of the
          parcels, or of the first column.
    labels : path-like, optional
        A csv, tsv or xlsx table. It is joined by its ids.
    regions : str or sequence of str, optional
        A region set such as ``"dosenbach-dmn33"``, or region names; all if not given.
    tr : float, optional
        Repetition time in seconds; otherwise ``tr`` of the .npz, if all scans share it.
    key : str, optional
        Name of the signals in the .npz; by default ``timeseries``, ``signals``, ``X``, or the
        only 3-D array of numbers.
    layout : {'auto', 'time-region', 'region-time'}
        Order of the axes of a scan. ``auto`` finds it out from headers, names of regions and
        lengths, and asks where these allow both.
    id_column : str, optional
        Column of the table that holds the ids; recognised by its name if not given.
    labels_by : {'subject', 'scan'}, optional
        What the ids of the table name; found by comparing if not given.
    by_position : bool
        For an array without ids: row n of the table belongs to scan n. Refused otherwise.
    pattern, strip_suffix : str
        For a folder: which files, and text removed from the end of their stems to get the
        scan id (``"_rois_dosenbach160"`` makes ``Pitt_0050003_rois_dosenbach160.1D`` the
        scan ``Pitt_0050003``).
    names : str, optional
        For a folder: what file names say, for example ``"{subject}_{session}"``. Names of BIDS
        (``sub-01_ses-2_...``) are understood without it.

    Returns
    -------
    Scans
        Signals are loaded scan by scan. The subject is the one the file or the table
        names, else the scan id.
    """
    source = require_existing(path)
    known_layout = require_layout(layout)
    options = {
        "labels": None if labels is None else str(labels),
        "regions": regions if regions is None or isinstance(regions, str) else list(regions),
        "tr": tr,
        "key": key,
        "layout": known_layout,
        "id_column": id_column,
        "labels_by": labels_by,
        "pattern": pattern,
        "strip_suffix": strip_suffix,
        "names": names,
        "by_position": by_position,
    }
    table = None if labels is None else read_label_table(labels, id_column)
    if source.is_dir():
        ignore = [] if table is None else [table.source]
        scans = read_scan_folder(
            source,
            layout=known_layout,
            pattern=pattern,
            strip_suffix=strip_suffix,
            names=names,
            n_regions=_atlas_size(regions),
            ignore=ignore,
        )
    else:
        block = read_block(source, key)
        if table is not None and block.scan_ids is None and block.subjects is None:
            block, table = name_by_rows(block, table, id_column, by_position), None
        scans = scans_of_block(block, known_layout)
    scans = _with_source(scans, tr, {"reader": "arrays", "source": str(source), "options": options})
    scans = choose_regions(scans, regions)
    return scans if table is None else attach_labels(scans, table, labels_by)


def _with_source(scans: Scans, tr: float | None, provenance: Mapping[str, Any]) -> Scans:
    problems = [problem for problem in scans.problems if problem.kind != "duplicate-id"]
    return Scans(list(scans), scans.regions, scans.tr if tr is None else tr, provenance, problems)


def _atlas_size(regions: str | Sequence[str] | None) -> int | None:
    chosen = REGION_SETS.get(regions) if isinstance(regions, str) else None
    return None if chosen is None else ATLAS_SIZES[chosen.atlas]
