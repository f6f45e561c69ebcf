"""Facts that go into the JSON sidecar of every result."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sclcs.core.errors import DamagedStoreError, InputError, UnreadableFileError
from sclcs.core.files import explain_write_errors, refuse_existing, write_json, write_text
from sclcs.core.gate import read_json
from sclcs.core.identity import file_digest, text_digest
from sclcs.core.seal import is_signed, signed

__all__ = [
    "plain",
    "read_sidecar",
    "refuse_table",
    "sidecar_path",
    "versions",
    "write_with_sidecar",
]


def versions() -> dict[str, str]:
    """Return the versions that decide the numbers."""
    return {name: _version(name) for name in ("sclcs", "numpy", "scipy", "pandas")}


@cache
def _version(name: str) -> str:
    from importlib.metadata import version

    return version(name)


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
    if not Path(path).name:
        raise InputError(f"Expected the name of a CSV file, got the folder {str(path)!r}.")
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
    path = refuse_table(path)
    place = sidecar_path(path)
    content = plain({"sclcs_kind": kind, **facts, "table": text_digest(text)})
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_json(place, signed(content))
            return write_text(path, text)
        except BaseException:
            place.unlink(missing_ok=True)
            raise


def refuse_table(path: str | os.PathLike[str]) -> Path:
    """Return the path of a new table, or raise if it or its sidecar is there or cannot be."""
    path = Path(path)
    if path.suffix != ".csv":
        raise InputError(f"A table is saved as .csv, got {path.name!r}; choose such a name.")
    refuse_existing(sidecar_path(refuse_existing(path)))
    return path


def read_sidecar(path: str | os.PathLike[str], kind: str) -> dict[str, Any] | None:
    """Read the sidecar of a table; None if there is none."""
    place = sidecar_path(path)
    if not place.exists():
        return None
    try:
        content = read_json(place, f"the JSON sidecar of a {kind}")
        intact = is_signed(content)
        found = content.pop("sclcs_kind")
    except KeyError as error:
        raise UnreadableFileError(
            f"Expected the JSON sidecar of a {kind} at {place}, but it cannot be read ({error}); "
            f"remove it or write {path} again."
        ) from error
    if found != kind:
        raise UnreadableFileError(
            f"Expected a {kind} at {path}, but its sidecar says it is a {found}; check the path."
        )
    if not intact or content.get("table") not in {None, file_digest(Path(path))}:
        raise DamagedStoreError(
            f"{path} and {place.name} beside it are not as sclcs wrote them (edited or damaged); "
            f"make the {kind} again, or remove {place.name} to use the table as it is."
        )
    return {name: value for name, value in content.items() if name not in {"table", "digest"}}
