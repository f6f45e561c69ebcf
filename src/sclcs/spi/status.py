"""What became of an operator on a sample, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sclcs._core import InputError, checked, name_first
from sclcs.spi.numerics.compiling import Array

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["OperatorOutcome", "Status", "judge_matrices", "main_reason", "status_table"]


class Status(StrEnum):
    """The four things that can become of an operator on a sample."""

    OK = "ok"
    PARTIAL = "partial-nan"  # some pairs have no finite value
    FAILED = "failed"  # an error, or no pair has a finite value
    SKIPPED = "skipped"  # not tried: the sample does not meet the operator's needs


@dataclass(frozen=True)
class OperatorOutcome:
    """One operator on a block of samples.

    Parameters
    ----------
    matrices : array, shape (sample, region, region)
        NaN on the diagonal and wherever the operator is undefined.
    status : list of Status
        One per sample.
    reason : list of str
        One per sample; empty where the status is ``ok``.
    seconds : float
        CPU time spent. Operators of a family are computed together and share it equally.
    """

    matrices: Array
    status: list[Status]
    reason: list[str]
    seconds: float = 0.0


def main_reason(exceptions: Iterable[tuple[str, str]]) -> str:
    """Return the most frequent of (status, reason); that of a loss before that of a gap."""
    found = Counter(exceptions)
    lost = {str(Status.FAILED), str(Status.SKIPPED)}
    _, reason = max(found, key=lambda pair: (pair[0] in lost, found[pair]), default=("", ""))
    return reason


def judge_matrices(matrices: Array, constant: list[list[int]]) -> tuple[list[Status], list[str]]:
    """Derive status and reason of each sample from the values of an operator.

    Parameters
    ----------
    matrices : array, shape (sample, region, region)
        With a NaN diagonal.
    constant : list of list of int
        The constant regions of each sample.

    Returns
    -------
    status : list of Status
    reason : list of str
    """
    n_regions = matrices.shape[-1]
    n_pairs = n_regions * (n_regions - 1)
    n_missing = n_pairs - np.isfinite(matrices).sum(axis=(1, 2))
    if not n_missing.any():
        return [Status.OK] * len(matrices), [""] * len(matrices)
    status, reason = [], []
    for missing, regions in zip(n_missing.tolist(), constant, strict=True):
        usable = n_regions - len(regions)
        undefined = missing - (n_pairs - usable * (usable - 1))
        causes = []
        if regions:
            causes.append(f"constant region {name_first(regions)}")
        if undefined:
            causes.append(f"{undefined} of {usable * (usable - 1)} values are not finite")
        reason.append("; ".join(causes))
        if missing == 0:
            status.append(Status.OK)
        else:
            status.append(Status.FAILED if missing == n_pairs else Status.PARTIAL)
    return status, reason


@checked
def status_table(result: xr.DataArray) -> pd.DataFrame:
    """Tabulate what became of every operator on every sample.

    Parameters
    ----------
    result : xarray.DataArray
        As returned by :func:`sclcs.spi.compute`.

    Returns
    -------
    pandas.DataFrame
        With the columns ``spi``, ``scan``, ``status`` and ``reason``, one row per
        operator and sample.

    Examples
    --------
    >>> fc = sclcs.compute(np.random.default_rng(0).normal(size=(3, 80, 5)), "kendalltau")
    >>> status_table(fc)["status"].tolist()
    ['ok', 'ok', 'ok']
    """
    if "spi" not in getattr(result, "coords", ()):
        raise InputError(
            "status_table(): `result` must be the DataArray that compute() returns, got "
            f"{type(result).__name__}."
        )
    names, samples = result["spi"].to_numpy(), result["scan"].to_numpy()
    return pd.DataFrame(
        {
            "spi": np.repeat(names, len(samples)),
            "scan": np.tile(samples, len(names)),
            "status": result["status"].to_numpy().ravel(),
            "reason": result["reason"].to_numpy().ravel(),
        }
    )
