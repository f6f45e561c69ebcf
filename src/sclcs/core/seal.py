"""Signatures of folders and small files: what sclcs wrote is what is read again.

A *seal* lists the digests of the small files of a folder (metadata, tables) and of itself.
Chunks of matrices and signals carry checksums of their own, which the seal or the records of a
store name. A seal protects against damage and careless edits, not against somebody who makes a
new one: there is no secret in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sclcs.core.errors import DamagedStoreError, UnreadableFileError, name_first
from sclcs.core.files import ReadOnce, write_json
from sclcs.core.gate import read_json
from sclcs.core.identity import file_digest, text_digest
from sclcs.core.logging import get_logger

__all__ = [
    "SEAL",
    "Seal",
    "check_seal",
    "is_signed",
    "note_unsigned",
    "read_seal",
    "signed",
    "write_seal",
]

SEAL = "seal.json"
_DIGEST = "digest"

_log = get_logger(__name__)
_noted: set[Path] = set()


def signed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON content with a digest of itself."""
    facts = {name: value for name, value in content.items() if name != _DIGEST}
    return {**facts, _DIGEST: _digest(facts)}


def is_signed(content: Mapping[str, Any], *, required: bool = False) -> bool:
    """Say whether JSON content is as it was signed; content without a digest passes.

    Parameters
    ----------
    content : mapping
    required : bool
        Whether a digest must be there.

    Returns
    -------
    bool
    """
    if _DIGEST not in content:
        return not required
    facts = {name: value for name, value in content.items() if name != _DIGEST}
    return bool(content[_DIGEST] == _digest(facts))


def _digest(facts: Mapping[str, Any]) -> str:
    return text_digest(json.dumps(facts, sort_keys=True))


@dataclass(frozen=True)
class Seal:
    """What a folder held when it was signed.

    Parameters
    ----------
    files : mapping of str to str
        Digests of small files by their path inside the folder.
    facts : mapping
        What else was signed.
    """

    files: Mapping[str, str]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def differences(self, folder: Path) -> list[str]:
        """Return the files that are gone or not as they were signed."""
        return [name for name, digest in self.files.items() if _content(folder / name) != digest]


def _content(path: Path) -> str | None:
    try:
        return file_digest(path)
    except OSError:
        return None


def write_seal(folder: Path, names: Iterable[str], facts: Mapping[str, Any] | None = None) -> None:
    """Sign files of a folder; the seal is written last."""
    files = {name: file_digest(folder / name) for name in sorted(names)}
    write_json(folder / SEAL, signed({"format": 1, "files": files, "facts": dict(facts or {})}))
    _seals.forget(folder / SEAL)


def _read(path: Path) -> Seal | None:
    try:
        content = read_json(path, "a seal of sclcs")
    except FileNotFoundError:
        return None
    except UnreadableFileError as error:
        raise DamagedStoreError(f"The seal {path} is damaged.") from error
    files, facts = content.get("files"), content.get("facts")
    if (
        not is_signed(content, required=True)
        or not isinstance(files, dict)
        or not isinstance(facts, dict)
        or any(not _inside(name) for name in files)
    ):
        raise DamagedStoreError(f"The seal {path} is damaged.")
    return Seal(files, facts)


def _inside(name: object) -> bool:
    place = Path(str(name))
    return not place.is_absolute() and ".." not in place.parts


_seals: ReadOnce[Seal | None] = ReadOnce(_read, most=256)


def read_seal(folder: Path) -> Seal | None:
    """Return the seal of a folder; None if it has none. A damaged one is an error."""
    return _seals(folder / SEAL)


def check_seal(folder: Path, kind: str, repair: str, *, required: bool) -> Seal | None:
    """Compare a folder with its seal; say what is wrong and what repairs it.

    Parameters
    ----------
    folder : Path
    kind : str
        What it is, for messages: ``"cohort"``.
    repair : str
        What to do if it is damaged.
    required : bool
        Whether it must have a seal; older ones are read with a note.

    Returns
    -------
    Seal or None
    """
    try:
        seal = read_seal(folder)
    except DamagedStoreError as error:
        raise DamagedStoreError(f"The {kind} at {folder} is damaged: {error} {repair}") from error
    if seal is None:
        if required:
            raise DamagedStoreError(
                f"The {kind} at {folder} is damaged: its {SEAL} is gone. {repair}"
            )
        note_unsigned(folder, kind)
        return None
    wrong = seal.differences(folder)
    if wrong:
        raise DamagedStoreError(
            f"The {kind} at {folder} is incomplete or damaged: {name_first(wrong)} gone or not as "
            f"it was written. {repair}"
        )
    return seal


def note_unsigned(folder: Path, kind: str) -> None:
    """Say once that changes in a folder cannot be noticed."""
    if folder not in _noted:
        _noted.add(folder)
        _log.warning(
            "The %s at %s was written before sclcs signed its files: changes in its tables cannot "
            "be noticed. `sclcs verify %s --sign` checks what can be checked and signs it.",
            kind,
            folder,
            folder,
        )
