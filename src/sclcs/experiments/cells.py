"""The cells of an experiment that are done: one line each, so that a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sclcs.core.errors import InputError, UnreadableFileError
from sclcs.core.files import explain_write_errors
from sclcs.core.identity import Identity, text_digest

__all__ = ["CellBook"]

IDENTITY = "identity"
Cell = Mapping[str, Any]


class CellBook:
    """A file with one line of JSON per finished cell.

    The first line says what the cells belong to. A line that was cut off by a crash is
    dropped, and so are cells that another version of an algorithm measured: they are measured
    again.

    Parameters
    ----------
    path : Path
        A new file, or one begun with the same identity. If only versions differ, what is there
        is put aside and the book begins anew.
    identity : Identity
        What decides the value of a cell besides its own parameters.
    versions : callable, optional
        From a cell to the versions of what only it uses, for example its selection method.
    """

    def __init__(
        self,
        path: Path,
        identity: Identity,
        versions: Callable[[Cell], Mapping[str, Any]] = lambda _cell: {},
    ) -> None:
        self._path, self._identity, self._versions = path, identity, versions
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self.cpu_seconds = 0.0
        if not (path.exists() and self._read()):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({IDENTITY: identity.to_dict()})

    def _read(self) -> bool:
        """Read the book; say whether it can be continued."""
        text = self._path.read_bytes().decode("utf-8", errors="replace")
        complete = text[: text.rfind("\n") + 1]
        lines = complete.splitlines()
        try:
            found = dict(json.loads(lines[0])[IDENTITY])
            self._refuse_another(found)
            if self._identity.differences(found, ("versions",)):
                self._put_aside(text)
                return False
            for line in lines[1:]:
                self._take(json.loads(line))
        except (ValueError, KeyError, IndexError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise UnreadableFileError(
                f"Expected the cells of an experiment in {self._path}, but a line cannot be read "
                f"({error}); remove the file and run again."
            ) from error
        if len(complete) < len(text):
            self._path.write_bytes(complete.encode("utf-8"))
        return True

    def _take(self, entry: Mapping[str, Any]) -> None:
        if entry.get("versions", {}) == dict(self._versions(entry["cell"])):
            self._rows[_key(entry["cell"])] = entry["rows"]
            self.cpu_seconds += entry["cpu_seconds"]

    def _refuse_another(self, found: Mapping[str, Any]) -> None:
        differing = self._identity.differences(found, ("inputs", "parameters", "seeds"))
        if differing:
            pairs = list(differing.items())[:3]
            what = ", ".join(f"{name} {was!r}, now {now!r}" for name, (was, now) in pairs)
            raise InputError(
                f"{self._path.parent} holds an experiment with another {what}; choose another "
                "folder, or remove it."
            )

    def _put_aside(self, text: str) -> None:
        """Keep what another version measured under another name."""
        self._path.rename(self._path.with_name(f"cells-{text_digest(text, 8)}.jsonl"))

    def __contains__(self, cell: Cell) -> bool:
        return _key(cell) in self._rows

    def add(self, cell: Cell, rows: Sequence[Mapping[str, Any]], cpu_seconds: float) -> None:
        """Keep what was measured in a cell."""
        entry: dict[str, Any] = {"cell": dict(cell), "versions": dict(self._versions(cell))}
        entry |= {"rows": [dict(row) for row in rows], "cpu_seconds": round(cpu_seconds, 4)}
        self._append(entry)
        self._rows[_key(cell)] = json.loads(json.dumps(entry["rows"], default=_number))
        self.cpu_seconds += cpu_seconds

    def _append(self, entry: Mapping[str, Any]) -> None:
        with explain_write_errors(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, default=_number) + "\n")

    def table(self, cells: Sequence[Cell]) -> pd.DataFrame:
        """Return one row per measurement of these cells, in their order, parameters first."""
        return pd.DataFrame(
            [{**cell, **row} for cell in cells for row in self._rows.get(_key(cell), ())]
        )


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True, default=_number)


def _number(value: Any) -> Any:  # noqa: ANN401
    return value.item()  # numpy scalars; anything else is a programming error
