"""Signatures of folders and small files: what sclcs wrote is what is read again.

A *seal* lists the digests of the small files of a folder (metadata, tables) and of itself.
Chunks of matrices and signals carry checksums of their own. A seal protects against damage and
careless edits, not against somebody who makes a new one: there is no secret in it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sclcs._core.errors import DamagedStoreError, InputError, UnreadableFileError, name_first
from sclcs._core.files import (
    ReadOnce,
    explain_write_errors,
    refuse_existing,
    write_json,
    write_text,
)
from sclcs._core.gate import read_json
from sclcs._core.identity import file_digest, text_digest

SEAL = "seal.json"
_DIGEST = "digest"


def signed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON content with a digest of itself."""
    values = {name: value for name, value in content.items() if name != _DIGEST}
    return {**values, _DIGEST: text_digest(json.dumps(values, sort_keys=True))}


def is_signed(content: Mapping[str, Any]) -> bool:
    """Say whether JSON content is as it was signed."""
    return bool(content.get(_DIGEST) == signed(content)[_DIGEST])


@dataclass(frozen=True)
class Seal:
    """What a folder held when it was signed."""

    files: Mapping[str, str]  # digests of small files by their path inside the folder
    metadata: Mapping[str, Any] = field(default_factory=dict)  # what else was signed

    def differences(self, folder: Path) -> list[str]:
        """Return the files that are gone or not as they were signed."""
        return [name for name, digest in self.files.items() if _content(folder / name) != digest]


def _content(path: Path) -> str | None:
    try:
        return file_digest(path)
    except OSError:
        return None


def write_seal(
    folder: Path, names: Iterable[str], metadata: Mapping[str, Any] | None = None
) -> None:
    """Sign files of a folder; the seal is written last."""
    files = {name: file_digest(folder / name) for name in sorted(names)}
    content = {"format": 1, "files": files, "metadata": dict(metadata or {})}
    write_json(folder / SEAL, signed(content))
    _seals.forget(folder / SEAL)


def _read(path: Path) -> Seal | None:
    try:
        content = read_json(path, "a seal of sclcs")
    except FileNotFoundError:
        return None
    except UnreadableFileError as error:
        raise DamagedStoreError(f"The seal {path} is damaged.") from error
    files, metadata = content.get("files"), content.get("metadata")
    if (
        not is_signed(content)
        or not isinstance(files, dict)
        or not isinstance(metadata, dict)
        or any(Path(name).is_absolute() or ".." in Path(name).parts for name in files)
    ):
        raise DamagedStoreError(f"The seal {path} is damaged.")
    return Seal(files, metadata)


_seals: ReadOnce[Seal | None] = ReadOnce(_read, most=256)


def read_seal(folder: Path) -> Seal | None:
    """Return the seal of a folder; None if it has none. A damaged one is an error."""
    return _seals(folder / SEAL)


def check_seal(folder: Path, kind: str, repair: str) -> Seal:
    """Compare a folder of a kind (``"cohort"``) with its seal; errors end with the repair."""
    try:
        seal = read_seal(folder)
    except DamagedStoreError as error:
        raise DamagedStoreError(f"The {kind} at {folder} is damaged: {error} {repair}") from error
    if seal is None:
        raise DamagedStoreError(f"The {kind} at {folder} is damaged: its {SEAL} is gone. {repair}")
    wrong = seal.differences(folder)
    if wrong:
        raise DamagedStoreError(
            f"The {kind} at {folder} is incomplete or damaged: {name_first(wrong)} gone or not as "
            f"it was written. {repair}"
        )
    return seal


@cache
def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("sclcs", "numpy", "scipy", "pandas")}


def versions() -> dict[str, str]:
    """Return the versions that decide the numbers."""
    return dict(_versions())


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
    """
    path = refuse_table(path)
    sidecar = sidecar_path(path)
    content = plain({"sclcs_kind": kind, **facts, "table": text_digest(text)})
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_json(sidecar, signed(content))
            return write_text(path, text)
        except BaseException:
            sidecar.unlink(missing_ok=True)
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
    sidecar = sidecar_path(path)
    if not sidecar.exists():
        return None
    content = read_json(sidecar, f"the JSON sidecar of a {kind}")
    intact, found = is_signed(content), content.pop("sclcs_kind", None)
    if found is None:
        raise UnreadableFileError(
            f"Expected the JSON sidecar of a {kind} at {sidecar}, but it does not say what it is; "
            f"remove it or write {path} again."
        )
    if found != kind:
        raise UnreadableFileError(
            f"Expected a {kind} at {path}, but its sidecar says it is a {found}; check the path."
        )
    if not intact or content.get("table") not in {None, file_digest(Path(path))}:
        raise DamagedStoreError(
            f"{path} and {sidecar.name} beside it are not as sclcs wrote them (edited or damaged); "
            f"make the {kind} again, or remove {sidecar.name} to use the table as it is."
        )
    return {name: value for name, value in content.items() if name not in {"table", _DIGEST}}
