"""Opening what a user points at: an FC store, or a cohort to be computed on the fly."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from sclcs.benchmark.sources import FCSource
    from sclcs.cohort.cohort import Cohort

__all__ = ["open_matrices"]

STORE_MODULE = "sclcs.spi.fc_store"


def open_matrices(path: Path) -> Cohort | FCSource:
    """Open an FC store or a cohort, whichever is there.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Cohort or FCSource
    """
    from sclcs.cohort.cohort import Cohort
    from sclcs.core.files import require_existing

    require_existing(path, "cohort or FC store")
    if _kind(path) != "cohort" and find_spec(STORE_MODULE) is not None:
        return cast("FCSource", import_module(STORE_MODULE).FCStore.open(path))
    return Cohort.open(path)


def _kind(path: Path) -> str:
    """Return what the Zarr group says it is; empty if it is none (opening then explains)."""
    import json

    try:
        facts = json.loads((path / "zarr.json").read_text(encoding="utf-8"))
        return str(facts["attributes"]["sclcs_kind"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "fc-store" if (path / "matrices").is_dir() else "cohort"
