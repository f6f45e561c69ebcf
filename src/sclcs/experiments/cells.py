"""The cells of an experiment that are done: one line each, so that a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sclcs.core.errors import InputError, UnreadableFileError
from sclcs.core.files import explain_write_errors
from sclcs.core.provenance import plain

__all__ = ["CellBook"]

IDENTITY = "identity"


class CellBook:
    """A file with one line of JSON per finished cell.

    The first line says what the cells belong to. A line that was cut off by a crash is
    dropped; its cell is measured again.

    Parameters
    ----------
    path : Path
        A new file, or one begun by a run of the same identity.
    identity : mapping
        What decides the value of a cell besides its own parameters.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self._path = path
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self.cpu_seconds = 0.0
        # As JSON would give it back, so that tuples equal lists.
        wanted = json.loads(json.dumps(plain(identity)))
        if path.exists():
            self._read(wanted)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({IDENTITY: wanted})

    def _read(self, wanted: dict[str, Any]) -> None:
        text = self._path.read_bytes().decode("utf-8", errors="replace")
        complete = text[: text.rfind("\n") + 1]
        lines = complete.splitlines()
        try:
            found = json.loads(lines[0])[IDENTITY]
            for line in lines[1:]:
                entry = json.loads(line)
                self._rows[_key(entry["cell"])] = entry["rows"]
                self.cpu_seconds += entry["cpu_seconds"]
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise UnreadableFileError(
                f"Expected the cells of an experiment in {self._path}, but a line cannot be read "
                f"({error}); remove the file and run again."
            ) from error
        differing = [name for name in wanted if found.get(name) != wanted[name]]
        if differing:
            what = ", ".join(f"{n} {found.get(n)!r}, now {wanted[n]!r}" for n in differing[:3])
            raise InputError(
                f"{self._path.parent} holds an experiment with another {what}; choose another "
                "folder, or remove it."
            )
        if len(complete) < len(text):
            self._path.write_bytes(complete.encode("utf-8"))

    def __contains__(self, cell: Mapping[str, Any]) -> bool:
        return _key(cell) in self._rows

    def add(
        self, cell: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], cpu_seconds: float
    ) -> None:
        """Keep what was measured in a cell."""
        entry = {"cell": dict(cell), "rows": [dict(row) for row in rows]}
        self._append(entry | {"cpu_seconds": round(cpu_seconds, 4)})
        self._rows[_key(cell)] = json.loads(json.dumps(entry["rows"], default=_number))
        self.cpu_seconds += cpu_seconds

    def _append(self, entry: Mapping[str, Any]) -> None:
        with explain_write_errors(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, default=_number) + "\n")

    def table(self, cells: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Return one row per measurement of these cells, in their order, parameters first."""
        return pd.DataFrame(
            [{**cell, **row} for cell in cells for row in self._rows.get(_key(cell), ())]
        )


def _key(cell: Mapping[str, Any]) -> str:
    return json.dumps(cell, sort_keys=True, default=_number)


def _number(value: Any) -> Any:  # noqa: ANN401
    return value.item()  # numpy scalars; anything else is a programming error
