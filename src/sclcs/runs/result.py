"""What a run found, and where it is."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sclcs._core import card, checked, plain
from sclcs.cohort import CoreSet
from sclcs.report import run_answers
from sclcs.run_folder import RunFolder
from sclcs.stats import Ranking, entry_name

__all__ = ["RunResult"]

SHOWN = 3


@dataclass(frozen=True)
class RunResult:
    """What a run found, and where it is.

    Parameters
    ----------
    folder : RunFolder
        All files.
    core_set : CoreSet or None
        The samples on which every operator was computed; None if everything was computed on
        everybody.
    rankings, confirmed : dict of str to Ranking
        By task: every operator (on the core-set, or exact and estimated together), and those
        that were computed on the whole cohort.
    report : Path
        The page for a person.
    stages : list of str
        The stages that had to be done; the others were done before.
    """

    folder: RunFolder
    core_set: CoreSet | None
    rankings: dict[str, Ranking]
    confirmed: dict[str, Ranking]
    report: Path
    stages: list[str]

    @property
    def answer(self) -> dict[str, Any] | None:
        """The answer of a budgeted run, see :meth:`sclcs.run_folder.RunFolder.answer`."""
        return self.folder.answer() if self.folder.config().budgeted else None

    def __repr__(self) -> str:
        core = self.core_set
        what = "everything on everybody" if core is None else f"{len(core)} samples in core-set"
        lines = [f"RunResult({str(self.folder.path)!r}, {what})"]
        said = self._headlines()
        for task, rows in self.best().items():
            found = ", ".join(_with_interval(row) for row in rows)
            lines += [f"  {task}: {said[task]}"] if task in said else []
            lines.append(f"  {task}, highest scores: {found}")
        lines.append(f"  report: {self.report}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (task, _named(row), row["score"], row["low"], row["high"])
            for task, found in self.best().items()
            for row in found
        ]
        core = self.core_set
        computed = "everything on everybody" if core is None else f"{len(core)} samples in core-set"
        facts = {"folder": self.folder.path, "computed": computed, "report": self.report}
        header = ["task", "operator", "score", "low", "high"]
        said = [f"{task}: {text}" for task, text in self._headlines().items()]
        return card("Run", facts, header, rows, said)

    def _headlines(self) -> dict[str, str]:
        """Return the answer of every task: scores alone would say that something was found."""
        if not self.folder.path.exists():  # an object is shown, whatever became of its files
            return {}
        return {task: sentences[0] for task, sentences in self.answers().items()}

    @classmethod
    @checked
    def open(
        cls, folder: RunFolder | str | os.PathLike[str], stages: Sequence[str] = ()
    ) -> RunResult:
        """Read the result of a finished run.

        Parameters
        ----------
        folder : path-like or RunFolder
            The folder of the run.
        stages : sequence of str
            The stages that had to be done.

        Returns
        -------
        RunResult

        Examples
        --------
        ``RunResult.open("RUN").rankings["diagnosis"].table``
        """
        if not isinstance(folder, RunFolder):
            folder = RunFolder.open(folder)
        return cls(
            folder,
            folder.core_set() if folder.core_file.exists() else None,
            {task: folder.ranking(task) for task in folder.tasks},
            {task: folder.confirmed(task) for task in folder.tasks},
            folder.report_file,
            list(stages),
        )

    def best(self, count: int = SHOWN) -> dict[str, list[dict[str, Any]]]:
        """Return the best operators of each task on the whole cohort.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        dict of str to list of dict
            By task: ``spi``, its ``name``, its ``equivalents`` (which have the same score by
            construction), ``score``, ``low``, ``high``, and ``best_set``: whether the data
            cannot tell it from the best; and the ``source`` of the score.
        """
        return {
            task: [_entry(row) for _, row in ranking.groups.head(count).iterrows()]
            for task, ranking in self.confirmed.items()
        }

    def answers(self) -> dict[str, list[str]]:
        """Return what may be said about each task, in sentences, the answer first."""
        return run_answers(self.folder)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        facts = {
            "folder": str(self.folder.path),
            "report": str(self.report),
            "core_set": None
            if self.core_set is None
            else {"samples": len(self.core_set), "method": self.core_set.method},
            "answers": self.answers(),
            "best": self.best(),
            "answer": self.answer,
            "confirmation": self.folder.confirmation(),
            "stages": self.stages,
        }
        return dict(plain(facts))


def _entry(row: pd.Series) -> dict[str, Any]:
    names = ("spi", "name", "score", "low", "high", "source")
    facts = {name: row[name] for name in names}
    return facts | {"equivalents": list(row["also"]), "best_set": bool(row["best_set"])}


def _named(row: dict[str, Any]) -> str:
    return entry_name({**row, "also": row["equivalents"]})


def _with_interval(row: dict[str, Any]) -> str:
    found = f"{_named(row)} {row['score']:.4f}"
    return found if math.isnan(row["low"]) else f"{found} [{row['low']:.4f}, {row['high']:.4f}]"
