"""Putting the windows of a cohort back together, to cut the scans in another way."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.scans import Scans
from sclcs.core.errors import InputError

__all__ = ["recut"]

NOT_FACTS = ("subject", "window", "scan", "start")


def recut(cohort: Cohort, length: int, stride: int) -> Cohort:
    """Cut the scans of a cohort into other windows.

    Overlapping or adjoining windows hold every time point of their scan, so that it can be
    put back together without the original files.

    Parameters
    ----------
    cohort : Cohort
        With the columns ``scan`` and ``start``; windows without gaps, not standardised.
    length, stride : int
        Of the new windows.

    Returns
    -------
    Cohort
    """
    missing = [name for name in ("scan", "start") if name not in cohort.samples.columns]
    if missing:
        raise InputError(
            f"Cutting scans again needs the columns scan and start, but {', '.join(missing)} is "
            "missing; import the cohort again."
        )
    if cohort.provenance.get("zscore", "none") == "window":
        raise InputError(
            "The windows were standardised one by one, so scans cannot be put back together; "
            "import the cohort with --zscore none."
        )
    facts = [name for name in cohort.samples.columns if name not in NOT_FACTS]
    signals, subjects, names, rows = [], [], [], []
    places = pd.Series(np.arange(len(cohort)), index=cohort.samples.index)
    for scan, windows in cohort.samples.groupby("scan", sort=False):
        starts = windows["start"].to_numpy(dtype=np.int64)
        members = places[windows.index].to_numpy()
        signals.append(_joined(str(scan), np.asarray(cohort.signals[members]), starts))
        subjects.append(str(windows["subject"].iloc[0]))
        names.append(str(scan))
        rows.append(windows.iloc[0])
    columns = {name: [row[name] for row in rows] for name in facts}
    scans = Scans.from_arrays(
        signals, subjects, facts=columns, scan_ids=names, regions=cohort.regions, tr=cohort.tr
    )
    return scans.windows(length, stride)


def _joined(
    scan: str, windows: NDArray[np.float32], starts: NDArray[np.int64]
) -> NDArray[np.float32]:
    order = np.argsort(starts)
    n_regions, length = windows.shape[1:]
    first, end = int(starts[order[0]]), int(starts[order[-1]]) + length
    whole = np.full((n_regions, end - first), np.nan, dtype=np.float32)
    for place in order:
        begin = int(starts[place]) - first
        whole[:, begin : begin + length] = windows[place]
    if np.isnan(whole).any():
        raise InputError(
            f"The windows of scan {scan} leave gaps, so it cannot be put back together; cut the "
            "cohort with a stride of at most the window length."
        )
    return whole
