"""What is known about the stages of a run: done or not, from what, how long, which files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sclcs.core.errors import UnreadableFileError
from sclcs.core.files import write_json
from sclcs.core.provenance import plain

__all__ = ["RunState", "digest", "digest_file", "digest_path"]

BLOCK_BYTES = 1 << 20
LOCKS = ".lock"  # folders of locks inside stores


def digest(facts: Mapping[str, Any]) -> str:
    """Return a hash of JSON values, the same whatever the order of the keys."""
    text = json.dumps(plain(facts), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest_path(path: Path) -> str | None:
    """Return a hash of a file's content, or of the names, sizes and times in a folder.

    The chunks of a store carry their own checksums, so reading all of them at every start
    would only cost time. None if nothing is there.
    """
    if path.is_dir():
        return _digest_tree(path)
    return digest_file(path) if path.exists() else None


def digest_file(path: Path) -> str:
    """Return a hash of a file's content."""
    content = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            content.update(block)
    return content.hexdigest()[:16]


def _digest_tree(folder: Path) -> str:
    content = hashlib.sha256()
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != LOCKS)
        for name in sorted(files):
            path = Path(root) / name
            facts = path.stat()
            place = path.relative_to(folder).as_posix()
            content.update(f"{place}\n{facts.st_size}\n{facts.st_mtime_ns}\n".encode())
    return content.hexdigest()[:16]


class RunState:
    """The records of the stages, kept in ``state.json``.

    Parameters
    ----------
    file : Path
        Read now if it is there; one that cannot be read is taken for empty, so that all is
        done again.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._records: dict[str, dict[str, Any]] = {}
        try:
            stages = json.loads(file.read_text(encoding="utf-8"))["stages"]
            self._records = {str(name): dict(record) for name, record in stages.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._records = {}

    @property
    def names(self) -> list[str]:
        """The stages that have a record."""
        return list(self._records)

    def record(self, name: str) -> dict[str, Any]:
        """Return the record of a stage; empty if it never started."""
        return dict(self._records.get(name, {}))

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Replace the record of a stage."""
        self._records[name] = dict(record)
        self._save()

    def forget(self, name: str) -> None:
        """Remove the record of a stage."""
        self._records.pop(name, None)
        self._save()

    def doubt(self, names: Iterable[str]) -> None:
        """Mark stages whose inputs may be about to change; their outputs may be outdated."""
        for name in names:
            if self._records.get(name, {}).get("status") == "done":
                self._records[name]["status"] = "to be checked"
        self._save()

    def is_current(self, name: str, key: str) -> bool:
        """Say whether a stage was done from these inputs and its outputs are as it left them."""
        record = self._records.get(name, {})
        if record.get("status") not in {"done", "to be checked"} or record.get("key") != key:
            return False
        outputs: dict[str, str] = record.get("outputs", {})
        return all(digest_path(self.inside(place)) == kept for place, kept in outputs.items())

    def inside(self, place: str) -> Path:
        """Return the path of an output; never one outside the folder of the run."""
        home = self._file.parent
        path = home / place
        if not path.resolve().is_relative_to(home.resolve()):
            raise UnreadableFileError(
                f"{self._file} names {place}, which is outside the run; remove {self._file.name}."
            )
        return path

    def _save(self) -> None:
        write_json(self._file, {"stages": self._records})
