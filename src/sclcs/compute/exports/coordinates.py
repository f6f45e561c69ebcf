"""Where regions are: from a table of the user, or known for the Dosenbach regions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sclcs.cohort.regions import dosenbach_places, region_set
from sclcs.cohort.table_files import read_table_file
from sclcs.compute.exports.order import Coordinates
from sclcs.core.errors import InputError, MissingDependencyError, name_first

__all__ = ["find_coordinates"]


def find_coordinates(
    regions: Sequence[str], table: str | os.PathLike[str] | None
) -> Coordinates | None:
    """Find the coordinates of regions in mm.

    Parameters
    ----------
    regions : sequence of str
        Their names.
    table : path-like, optional
        A csv or tsv table with the columns region (or name), x, y, z. Without it the
        coordinates of the Dosenbach regions are taken from nilearn, if it is installed.

    Returns
    -------
    mapping of str to tuple, or None
        By name; None if not all regions are known.
    """
    if table is not None:
        return _from_table(Path(table), regions)
    if not set(regions) <= set(region_set("dosenbach-160").names):
        return None
    try:
        return dosenbach_places()
    except MissingDependencyError:
        return None


def _from_table(path: Path, regions: Sequence[str]) -> Coordinates:
    columns = {name.strip().lower(): cells for name, cells in read_table_file(path).items()}
    names = next((columns[c] for c in ("region", "name", "label") if c in columns), None)
    if names is None or not {"x", "y", "z"} <= set(columns):
        raise InputError(
            f"Expected the columns region, x, y, z in {path}, found {name_first(columns, 10)}; "
            "name them so."
        )
    try:
        rows = zip(names, columns["x"], columns["y"], columns["z"], strict=True)
        found = {name.strip(): (float(x), float(y), float(z)) for name, x, y, z in rows}
    except ValueError as error:
        raise InputError(
            f"Expected numbers (mm) in the columns x, y, z of {path} ({error}); correct them."
        ) from error
    missing = [name for name in regions if name not in found]
    if missing:
        raise InputError(
            f"Expected a row for every region in {path}, but {name_first(missing)} are missing; "
            "add them."
        )
    return found
