"""Facts that go into the JSON sidecar of every result."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sclcs.core.errors import UnreadableFileError
from sclcs.core.files import refuse_existing, write_json, write_text

__all__ = ["plain", "read_sidecar", "sidecar_path", "versions", "write_with_sidecar"]


def versions() -> dict[str, str]:
    """Return the versions that decide the numbers."""
    from importlib.metadata import version

    return {name: version(name) for name in ("sclcs", "numpy", "scipy", "pandas")}


def plain(value: Any) -> Any:  # noqa: ANN401
    """Turn a value into one that JSON can hold: NaN and infinities become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def sidecar_path(path: str | os.PathLike[str]) -> Path:
    """Return where the sidecar of a table is: ``core.csv`` has ``core.json`` beside it."""
    return Path(path).with_suffix(".json")


def write_with_sidecar(
    path: str | os.PathLike[str], text: str, kind: str, facts: Mapping[str, Any]
) -> Path:
    """Write a new table and the sidecar that says what it is; neither is ever overwritten.

    Parameters
    ----------
    path : path-like
        The table, for example ``core.csv``.
    text : str
        Its content.
    kind : str
        What it is; :func:`read_sidecar` asks for it.
    facts : mapping
        What the sidecar holds besides.

    Returns
    -------
    Path
        The table.
    """
    path = refuse_existing(path)
    place = refuse_existing(sidecar_path(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(place, plain({"sclcs_kind": kind, **facts}))
    return write_text(path, text)


def read_sidecar(path: str | os.PathLike[str], kind: str) -> dict[str, Any] | None:
    """Read the sidecar of a table; None if there is none."""
    place = sidecar_path(path)
    if not place.exists():
        return None
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        found = content.pop("sclcs_kind")
    except (ValueError, KeyError, AttributeError) as error:
        raise UnreadableFileError(
            f"Expected the JSON sidecar of a {kind} at {place}, but it cannot be read ({error}); "
            f"remove it or write {path} again."
        ) from error
    if found != kind:
        raise UnreadableFileError(
            f"Expected a {kind} at {path}, but its sidecar says it is a {found}; check the path."
        )
    return dict(content)
