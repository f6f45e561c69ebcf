"""Making an experiment: measure what is missing, then write tables, figure and record."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from paper.options import WHICH_CELLS, Options, known_methods, selector_of
from paper.scorer import SCORES
from paper.setup import EXPERIMENTS, Experiment, Outcome, Setup, find_experiment
from sclcs._core import (
    Identity,
    InputError,
    UnreadableFileError,
    explain_write_errors,
    plain,
    progress,
    text_digest,
    versions,
    write_json,
    write_text,
)
from sclcs.cohort import Cohort
from sclcs.coresets import VERSIONS as TRAINING_VERSIONS
from sclcs.decision import ESTIMATION_VERSION
from sclcs.spi import operator_version, resolve
from sclcs.stats import RANKING_VERSION, find_criterion

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


FIGURE_DPI = 80  # figures are kept in the repository


def run_experiment(
    name: str,
    cohort: Cohort | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    fc: str | os.PathLike[str] | None = None,
    toy: bool = False,
    command: str | None = None,
    **options: Any,  # noqa: ANN401
) -> pd.DataFrame:
    """Make one of the paper's tables and figures on a cohort.

    A run that was stopped resumes where it stopped when it is called again with the same
    arguments; more repeats, ratios or methods only add what is missing.

    Parameters
    ----------
    name : str
        A key of :data:`~paper.setup.EXPERIMENTS`.
    cohort : Cohort or path
        On which cohort.
    out : path-like
        Folder for ``cells.csv`` (one row per measurement), ``summary.csv`` (the paper's
        numbers beside ours), ``table.md``, ``table.tex``, ``figure.png``, ``figure.svg``,
        and ``config.json``.
    fc : path-like, optional
        FC store of the cohort; ``out/fc`` by default. Operators that it lacks are computed.
    toy : bool
        Try the machinery: few operators, epochs and repeats.
    command : str, optional
        What the user typed, for the record.
    **options : object
        See :class:`~paper.options.Options`.

    Returns
    -------
    DataFrame
        The summary.
    """
    experiment = find_experiment(name)
    chosen = Options.make(toy=toy, **options)
    whole = cohort if isinstance(cohort, Cohort) else Cohort.open(cohort)
    folder = _own_folder(out)
    setup = Setup(whole, Path(fc) if fc else folder / "fc", chosen)
    setup.require_tasks()
    started = time.perf_counter()
    book = CellBook(folder / "cells.jsonl", _identity(experiment, setup), _cell_versions)
    cells = experiment.cells(setup)
    _measure(experiment, setup, cells, book)
    measured = book.table(cells)
    record = _record(experiment, setup, len(cells), command)
    record["cpu_seconds"] = round(book.cpu_seconds, 1)
    record["seconds_of_this_run"] = round(time.perf_counter() - started, 1)
    return _write(experiment, setup, measured, folder, record)


def run_all(
    cohort: Cohort | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    fc: str | os.PathLike[str] | None = None,
    **options: Any,  # noqa: ANN401
) -> dict[str, pd.DataFrame]:
    """Run every experiment into its own folder of `out`; they share one FC store.

    Parameters
    ----------
    cohort, out, fc, **options
        As for :func:`run_experiment`.

    Returns
    -------
    dict of str to DataFrame
        The summary of each experiment.
    """
    whole = cohort if isinstance(cohort, Cohort) else Cohort.open(cohort)
    folder = Path(out)
    store = Path(fc) if fc else folder / "fc"
    return {
        name: run_experiment(name, whole, folder / name, fc=store, **options)
        for name in EXPERIMENTS
    }


def _own_folder(out: str | os.PathLike[str]) -> Path:
    folder = Path(out)
    if any(path.exists() and not path.is_dir() for path in (folder, *folder.parents)):
        raise InputError(f"Expected out to be a folder, new or of this experiment, got {folder}.")
    return folder


def _identity(experiment: Experiment, setup: Setup) -> Identity:
    """Return what decides the value of every cell."""
    parameters = setup.options.deciding()
    operators = resolve(list(experiment.operators(setup)))
    return Identity(
        "experiment",
        inputs={"cohort": setup.cohort.fingerprint},
        parameters={"experiment": experiment.name, **parameters},
        versions={
            "experiment": experiment.version,
            "ranking": RANKING_VERSION,
            "estimation": ESTIMATION_VERSION,
            "scores": {name: find_criterion(name).version for name in (*SCORES, "share")},
            "operators": {name: operator_version(name) for name in operators},
        },
        seeds={"seed": setup.options.seed},
    )


def _cell_versions(cell: Mapping[str, Any]) -> dict[str, int]:
    """Return the versions of what a cell uses by itself: a method, a training."""
    found = {}
    if "method" in cell and cell["method"] in known_methods():
        selector = selector_of(cell["method"])
        found["method"] = selector.version
        if selector.network:
            found[selector.network] = TRAINING_VERSIONS[selector.network]
    if "preset" in cell:
        found["encoder"] = TRAINING_VERSIONS["encoder"]
    return found


def _measure(experiment: Experiment, setup: Setup, cells: list[Any], book: CellBook) -> None:
    missing = [cell for cell in cells if cell not in book]
    if not missing:
        return
    with progress(f"experiment {experiment.name}", len(missing)) as ticker:
        before = time.process_time()
        for cell, rows in experiment.measure(setup, missing):
            now = time.process_time()
            book.add(cell, rows, now - before)
            before = now
            ticker.advance()


def _record(
    experiment: Experiment, setup: Setup, cells: int, command: str | None
) -> dict[str, Any]:
    cohort = setup.cohort
    return {
        **experiment.to_dict(),
        "version": experiment.version,
        "command": command or f"python -m paper {experiment.name}",
        "cohort": {
            "fingerprint": cohort.fingerprint,
            "samples": len(cohort),
            "subjects": cohort.n_subjects,
            "regions": cohort.n_regions,
            "timepoints": cohort.n_timepoints,
        },
        "options": setup.options.deciding()
        | {"seed": setup.options.seed}
        | {name: getattr(setup.options, name) for name in WHICH_CELLS if name != "jobs"},
        "cells": cells,
        "versions": _versions(),
        "commit": _commit(),
        "python": sys.version.split()[0],
        "machine": platform.machine(),
    }


def _commit() -> str:
    """Return the commit of the checkout, with a plus if files differ from it."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=10"]
    done = subprocess.run([*git, "--dirty=+"], capture_output=True, text=True, check=False)  # noqa: S603 (git)
    return done.stdout.strip() or "unknown"


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = versions()
    try:
        found["torch"] = version("torch")
    except PackageNotFoundError:
        found["torch"] = "none"
    return found


def _write(
    experiment: Experiment,
    setup: Setup,
    measured: pd.DataFrame,
    folder: Path,
    record: dict[str, Any],
) -> pd.DataFrame:
    from sclcs.report import save_figure

    write_text(folder / "cells.csv", _csv(measured))
    path = write_text(folder / "summary.csv", _csv(experiment.summarise(measured)))
    summary = pd.read_csv(path)  # tables show the file's digits, whoever makes them again
    tables = experiment.tables(summary)
    write_text(folder / "table.md", "\n".join(table.markdown() for table in tables))
    write_text(folder / "table.tex", "\n".join(table.latex() for table in tables))
    figure = experiment.draw(Outcome(setup, measured, summary))
    for ending in ("png", "svg"):
        save_figure(figure, folder / f"figure.{ending}", FIGURE_DPI)
    write_json(folder / "config.json", plain(record))
    return summary


def _csv(table: pd.DataFrame) -> str:
    return str(table.to_csv(index=False, lineterminator="\n", float_format="%.5g"))
