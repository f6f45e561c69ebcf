"""Scans from .npz, .npy, or a folder of csv, tsv, txt, .1D or .npy files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from sclcs.cohort.labels import By, attach_labels, read_label_table
from sclcs.cohort.readers.array_block import name_by_rows, read_block, scans_of_block
from sclcs.cohort.readers.scan_folder import Layout, read_scan_folder
from sclcs.cohort.regions import choose_regions
from sclcs.cohort.scans import Scans
from sclcs.core.errors import InputError
from sclcs.core.files import require_existing

__all__ = ["read_arrays"]


def read_arrays(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    regions: str | Sequence[str] | None = None,
    tr: float | None = None,
    key: str | None = None,
    layout: Layout = "scan-time-region",
    id_column: str | None = None,
    labels_by: By | None = None,
    pattern: str = "*",
    strip_suffix: str = "",
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
        - a folder of ``.csv``, ``.tsv``, ``.txt``, ``.1D`` or ``.npy`` files, one scan each, time x
          region, with or without a header. The scan id is the file name without its ending;
          the region names are those of the header.
    labels : path-like, optional
        A csv, tsv or xlsx table. It is joined by its ids; if the scans have none (an
        array without ids), its rows are taken in the order of the scans.
    regions : str or sequence of str, optional
        A region set such as ``"dosenbach-dmn33"``, or region names; all if not given.
    tr : float, optional
        Repetition time in seconds; otherwise ``tr`` of the .npz, if all scans share it.
    key : str, optional
        Name of the signals in the .npz; by default ``timeseries``, ``signals``, ``X``, or the
        only 3-D array of numbers.
    layout : {'scan-time-region', 'scan-region-time'}
        Order of the axes.
    id_column : str, optional
        Column of the table that holds the ids; recognised by its name if not given.
    labels_by : {'subject', 'scan'}, optional
        What the ids of the table name; found by comparing if not given.
    pattern, strip_suffix : str
        For a folder: which files, and text removed from the end of their stems to get the
        scan id (``"_rois_dosenbach160"`` makes ``Pitt_0050003_rois_dosenbach160.1D`` the
        scan ``Pitt_0050003``).

    Returns
    -------
    Scans
        Signals are loaded scan by scan. The subject is the one the file or the table
        names, else the scan id.
    """
    source = require_existing(path)
    if layout not in get_args(Layout):
        raise InputError(f"Expected layout to be one of {get_args(Layout)}, got {layout!r}.")
    options = {
        "labels": None if labels is None else str(labels),
        "regions": regions if regions is None or isinstance(regions, str) else list(regions),
        "tr": tr,
        "key": key,
        "layout": layout,
        "id_column": id_column,
        "labels_by": labels_by,
        "pattern": pattern,
        "strip_suffix": strip_suffix,
    }
    table = None if labels is None else read_label_table(labels, id_column)
    if source.is_dir():
        ignore = [] if table is None else [table.source]
        scans = read_scan_folder(
            source, layout=layout, pattern=pattern, strip_suffix=strip_suffix, ignore=ignore
        )
    else:
        block = read_block(source, key)
        if table is not None and block.scan_ids is None and block.subjects is None:
            block, table = name_by_rows(block, table, id_column), None
        scans = scans_of_block(block, layout)
    scans = _with_source(scans, tr, {"reader": "arrays", "source": str(source), "options": options})
    scans = choose_regions(scans, regions)
    return scans if table is None else attach_labels(scans, table, labels_by)


def _with_source(scans: Scans, tr: float | None, provenance: Mapping[str, Any]) -> Scans:
    problems = [problem for problem in scans.problems if problem.kind != "duplicate-id"]
    return Scans(list(scans), scans.regions, scans.tr if tr is None else tr, provenance, problems)
