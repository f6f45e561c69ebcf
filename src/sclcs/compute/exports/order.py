"""What a format is asked to write, and small helpers that several formats share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.compute.exports.names import SampleName, sample_names
from sclcs.compute.exports.rows import ExportRows, Matrix
from sclcs.core.errors import InputError, name_first
from sclcs.core.progress import Ticker

__all__ = [
    "Coordinates",
    "ExportOrder",
    "file_labels",
    "plain_number",
    "text_matrix",
    "without_diagonal",
]

Coordinates = Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True)
class ExportOrder:
    """Everything a format needs.

    Parameters
    ----------
    rows : ExportRows
        The matrices.
    operators : list of str
        Which operators.
    folder : Path
        Where to write.
    ticker : Ticker
        Advanced by one for every matrix.
    coordinates : mapping of str to tuple, optional
        x, y, z of the regions in mm (MNI).
    group : str, optional
        Label column for the design of a group comparison.
    """

    rows: ExportRows
    operators: list[str]
    folder: Path
    ticker: Ticker
    coordinates: Coordinates | None = None
    group: str | None = None

    @property
    def regions(self) -> tuple[str, ...]:
        """Names of the regions."""
        return self.rows.store.regions

    @property
    def samples(self) -> pd.DataFrame:
        """One row of facts per matrix."""
        return self.rows.samples

    def names(self) -> list[SampleName]:
        """Return the names of the files of each matrix."""
        return sample_names(self.samples, mean=self.rows.per == "subject")

    def require_coordinates(self, who: str) -> NDArray[np.float64]:
        """Return x, y, z of the regions, or ask for them."""
        known = self.coordinates or {}
        missing = [name for name in self.regions if name not in known]
        if missing:
            raise InputError(
                f"{who} draws regions where they are, but the coordinates of {name_first(missing)} "
                "are not known; give a table with the columns region, x, y, z (in mm) with "
                "--coordinates (coordinates=...)."
            )
        return np.array([known[name] for name in self.regions], dtype=np.float64)


def file_labels(order: ExportOrder) -> list[str]:
    """Return a safe, unique name for the files of each matrix, without folders."""
    return [name.stem for name in order.names()]


def without_diagonal(matrix: Matrix) -> NDArray[np.float64]:
    """Return a matrix with 0 on the diagonal and where it has no value, as other tools expect."""
    values = np.nan_to_num(matrix.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    np.fill_diagonal(values, 0.0)
    return values


def plain_number(value: float) -> str:
    """Write a number with as many digits as bring a float32 back exactly."""
    return f"{value:.9g}"


def text_matrix(values: NDArray[np.float64], separator: str = " ") -> str:
    """Write a matrix as lines of numbers."""
    rows: Sequence[Sequence[float]] = values.tolist()
    return "\n".join(separator.join(map(plain_number, row)) for row in rows) + "\n"
