"""Where sclcs keeps things that the user did not name a place for."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["CACHE_VARIABLE", "cache_folder"]

CACHE_VARIABLE = "SCLCS_CACHE"


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return where results are kept: the argument, $SCLCS_CACHE, or the user's cache folder."""
    if folder is not None:
        return Path(folder)
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE])
    import platformdirs

    return Path(platformdirs.user_cache_dir("sclcs", appauthor=False))
