"""Making an experiment: measure what is missing, then write tables, figure and record."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import sclcs.experiments.studies  # noqa: F401 (registers all experiments)
from sclcs.benchmark import find_criterion
from sclcs.benchmark.versions import RANKING_VERSION
from sclcs.cohort.cohort import Cohort
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError
from sclcs.core.files import write_json, write_text
from sclcs.core.identity import Identity
from sclcs.core.progress import progress
from sclcs.core.provenance import plain, versions
from sclcs.encoder.identity import VERSIONS as TRAINING_VERSIONS
from sclcs.estimation import ESTIMATION_VERSION
from sclcs.experiments.cells import CellBook
from sclcs.experiments.options import WHICH_CELLS, Options
from sclcs.experiments.readme import readme
from sclcs.experiments.registry import EXPERIMENTS, Experiment, Outcome, find_experiment
from sclcs.experiments.scorer import SCORES
from sclcs.experiments.setup import Setup
from sclcs.experiments.variants import known_methods, selector_of
from sclcs.spi.sets import resolve
from sclcs.spi.versions import operator_version

__all__ = ["run_all", "run_experiment"]

FIGURE_DPI = 80  # figures are kept in the repository


@checked
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
        A key of :data:`~sclcs.experiments.registry.EXPERIMENTS`.
    cohort : Cohort or path
        On which cohort.
    out : path-like
        Folder for ``cells.csv`` (one row per measurement), ``summary.csv`` (the paper's
        numbers beside ours), ``table.md``, ``table.tex``, ``figure.png``, ``figure.svg``,
        ``config.json`` and ``README.md``.
    fc : path-like, optional
        FC store of the cohort; ``out/fc`` by default. Operators that it lacks are computed.
    toy : bool
        Try the machinery: few operators, epochs and repeats.
    command : str, optional
        What the user typed, for the record.
    **options : object
        See :class:`~sclcs.experiments.options.Options`.

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
    facts = _facts(experiment, setup, len(cells), command)
    facts["cpu_seconds"] = round(book.cpu_seconds, 1)
    facts["seconds_of_this_run"] = round(time.perf_counter() - started, 1)
    return _write(experiment, setup, measured, folder, facts)


@checked
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
    if any(place.exists() and not place.is_dir() for place in (folder, *folder.parents)):
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


def _facts(experiment: Experiment, setup: Setup, cells: int, command: str | None) -> dict[str, Any]:
    cohort = setup.cohort
    return {
        **experiment.to_dict(),
        "version": experiment.version,
        "command": command or f"sclcs experiment {experiment.name}",
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
        "python": sys.version.split()[0],
        "machine": platform.machine(),
    }


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
    facts: dict[str, Any],
) -> pd.DataFrame:
    from sclcs.report.style import save_figure

    write_text(folder / "cells.csv", _csv(measured))
    place = write_text(folder / "summary.csv", _csv(experiment.summarise(measured)))
    summary = pd.read_csv(place)  # tables show the file's digits, whoever makes them again
    tables = experiment.tables(summary)
    write_text(folder / "table.md", "\n".join(table.markdown() for table in tables))
    write_text(folder / "table.tex", "\n".join(table.latex() for table in tables))
    figure = experiment.draw(Outcome(setup, measured, summary))
    for ending in ("png", "svg"):
        save_figure(figure, folder / f"figure.{ending}", FIGURE_DPI)
    write_json(folder / "config.json", plain(facts))
    write_text(folder / "README.md", readme(facts))
    return summary


def _csv(table: pd.DataFrame) -> str:
    return str(table.to_csv(index=False, lineterminator="\n", float_format="%.5g"))
