"""What is known about the stages of a run: done or not, from what, how long, which files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sclcs._core import (
    DamagedStoreError,
    UnreadableFileError,
    is_signed,
    path_digest,
    read_json,
    signed,
    write_json,
)

__all__ = ["CONFIG", "RunState", "note_config", "read_state"]

CONFIG = "config"

FORMAT = 1


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
        self._config: str | None = None
        try:
            content = read_state(file)
            records = {str(name): dict(record) for name, record in content["stages"].items()}
            self._records, self._config = records, content.get(CONFIG)
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
        """Say whether a stage was done from these inputs and its files are as it left them."""
        record = self._records.get(name, {})
        if record.get("status") not in {"done", "to be checked"} or record.get("key") != key:
            return False
        outputs: dict[str, str] = record.get("outputs", {})
        return all(path_digest(self.inside(place)) == kept for place, kept in outputs.items())

    def place(self, path: Path) -> str:
        """Return how an output is named: by its path inside the folder of the run."""
        return path.relative_to(self._file.parent).as_posix()

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
        _write(self._file, {"format": FORMAT, "stages": self._records, CONFIG: self._config})


def read_state(file: Path) -> dict[str, Any]:
    """Read ``state.json``; one that is not as it was written is an error."""
    content = read_json(file, "the state of a run")
    if not is_signed(content) or not isinstance(content.get("stages"), dict):
        raise DamagedStoreError(
            f"{file} is not as the run wrote it (edited or damaged); run the same command again: "
            "what cannot be trusted is done again."
        )
    return content


def note_config(file: Path, config: Path) -> None:
    """Remember in the state which configuration the run has written."""
    try:
        content = read_state(file)
    except (OSError, UnreadableFileError):
        content = {"stages": {}}
    _write(file, {**content, CONFIG: path_digest(config)})


def _write(file: Path, content: Mapping[str, Any]) -> None:
    write_json(file, signed(json.loads(json.dumps(content))))  # as it will be read
