"""Scores of operators on many core-sets, each computed once and kept."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import Identity, write_bytes
from sclcs.cohort import CoreSet, id_order
from sclcs.stats import (
    RANKING_VERSION,
    Criterion,
    Inquiry,
    PairRules,
    Question,
    equivalence_groups,
    evaluate,
    find_criterion,
    find_target,
    make_question,
    share_scores,
)
from sclcs.store import FCStore

Floats = NDArray[np.float64]
#: The well-conditioned score, and the one that comes near the paper's numbers; both the paper's
#: way: every pair counts alike, and windows that share time points are compared.
SCORES = ("cohen_d", "ratio")
#: The default score of each task, over pairs that share nothing, classes counting alike.
SOUND = "sound"


class Scorer:
    """How well operators separate the classes of tasks, on any core-set.

    Parameters
    ----------
    source : FCStore
        The matrices of all samples.
    operators : sequence of str
        Which operators.
    folder : Path
        Where scores are kept; shared by experiments on one store.
    jobs : int
        Threads.
    sound : bool
        Score by the default of each task instead of the paper's way.
    """

    def __init__(
        self,
        source: FCStore,
        operators: Sequence[str],
        folder: Path,
        *,
        jobs: int = 1,
        sound: bool = False,
    ) -> None:
        self.scores = (SOUND,) if sound else SCORES
        self._rules = PairRules() if sound else PairRules.paper()
        self.source = source
        self.operators = list(operators)
        self._folder = folder
        self._jobs = jobs
        self._groups = equivalence_groups(self.operators)
        # A score is known only if these matrices gave it.
        self._versions = {name: str(source.stamp(name)) for name in self.operators}

    def full(self, task: str) -> pd.DataFrame:
        """Return the scores on all samples; one row per operator, one column per score."""
        return self.core([(task, None)])[0]

    def core(self, requests: Sequence[tuple[str, CoreSet | None]]) -> list[pd.DataFrame]:
        """Return the scores on core-sets, all evaluated in one pass over the operators.

        Parameters
        ----------
        requests : sequence of (task, core-set)
            None as core-set means all samples.

        Returns
        -------
        list of DataFrame
            Operators by scores; NaN where a score does not exist.
        """
        paths = [self._path("scores", task, core) for task, core in requests]
        known = {path: self._current(self._read(path)) for path in dict.fromkeys(paths)}
        todo = {
            path: request
            for path, request in zip(paths, requests, strict=True)
            if not set(self.operators) <= set(known[path].index)
        }
        if todo:
            known |= self._evaluate(todo, known)
        return [self._shared(known[path]) for path in paths]

    def _evaluate(
        self,
        todo: dict[Path, tuple[str, CoreSet | None]],
        known: dict[Path, pd.DataFrame],
    ) -> dict[Path, pd.DataFrame]:
        missing = {name for path in todo for name in set(self.operators) - set(known[path].index)}
        wanted = [name for name in self.operators if name in missing]
        asked = [self._criteria(task) for task, _ in todo.values()]
        inquiries = [
            Inquiry(self._question(*request), tuple(criteria.values()))
            for request, criteria in zip(todo.values(), asked, strict=True)
        ]
        answers = evaluate(self.source, wanted, inquiries, n_jobs=self._jobs)
        found = {}
        for path, answer, criteria in zip(todo, answers, asked, strict=True):
            points = {score: answer.point[row.name] for score, row in criteria.items()}
            new = pd.DataFrame(points, index=answer.operators)
            kept = known[path].drop(index=wanted, errors="ignore")
            found[path] = pd.concat([kept, new]) if len(kept) else new
            columns = {name: found[path][name].to_numpy(dtype=np.float64) for name in self.scores}
            names = [str(name) for name in found[path].index]
            stamps = [self._version(name) for name in names]
            _write(path, columns | {"operators": np.array(names), "versions": np.array(stamps)})
        return found

    def _version(self, name: str) -> str:
        """Return what decides an operator's numbers in the store; nothing if it is not there."""
        if name not in self._versions:
            known = name in self.source.stamps
            self._versions[name] = str(self.source.stamp(name)) if known else ""
        return self._versions[name]

    def _current(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the scores that the store's matrices gave, and not earlier ones."""
        good = [
            version == self._version(str(name)) for name, version in table.pop("versions").items()
        ]
        return table[good]

    def halves(self, task: str, splits: int, seed: int = 0) -> dict[str, Floats]:
        """Return the scores (operator, half) on random halves of the subjects.

        Columns 2i and 2i + 1 are the two halves of split i.
        """
        path = self._path("halves", task, None, splits=splits, seed=seed)
        if not path.exists():
            question = self._question(task, None)
            criteria = self._criteria(task)
            halves = question.halves(splits, seed)
            inquiry = Inquiry(question, tuple(criteria.values()), halves)
            (answer,) = evaluate(self.source, self.operators, [inquiry], n_jobs=self._jobs)
            _write(path, {score: answer.drawn[row.name] for score, row in criteria.items()})
        with np.load(path, allow_pickle=False) as stored:
            return {score: share_scores(stored[score], self._groups) for score in self.scores}

    def _criteria(self, task: str) -> dict[str, Criterion]:
        """Return what a task is scored by, under the names of the columns."""
        if self.scores == SCORES:
            return {name: find_criterion(name) for name in SCORES}
        return {SOUND: find_criterion(None, find_target(self.source.samples, task))}

    def _question(self, task: str, core: CoreSet | None) -> Question:
        return make_question(
            self.source.samples,
            task,
            core,
            rules=self._rules,
            n_timepoints=self.source.n_timepoints,
        )

    def _path(
        self, kind: str, task: str, core: CoreSet | None, *, splits: int = 0, seed: int = 0
    ) -> Path:
        """Return the file of scores: another one whenever what they depend on is different."""
        inputs: dict[str, Any] = {"cohort": self.source.fingerprint}
        if core is not None:
            order = id_order(core.sample_ids)
            inputs["samples"] = [core.sample_ids[row] for row in order]
            if core.weight is not None:
                inputs["weights"] = [float(core.weight[row]) for row in order]
        if splits:  # one file for all operators, which is not added to
            inputs["operators"] = self._versions
        criteria = self._criteria(task).values()
        identity = Identity(
            kind,
            inputs=inputs,
            parameters={
                "task": task,
                "scores": [criterion.name for criterion in criteria],
                "rules": asdict(self._rules),
                "splits": splits,
            },
            versions={
                "ranking": RANKING_VERSION,
                **{criterion.name: criterion.version for criterion in criteria},
            },
            seeds={"splits": seed},
        )
        return self._folder / f"{kind}-{identity.digest(24)}.npz"

    def _shared(self, table: pd.DataFrame) -> pd.DataFrame:
        """Give equivalent operators one score, as a ranking does."""
        chosen = table.loc[self.operators]
        shared = {name: share_scores(chosen[name].to_numpy(), self._groups) for name in self.scores}
        return pd.DataFrame(shared, index=self.operators)

    def _read(self, path: Path) -> pd.DataFrame:
        if not path.exists():
            return pd.DataFrame(columns=[*self.scores, "versions"], dtype=np.float64)
        with np.load(path, allow_pickle=False) as stored:
            columns = {name: stored[name] for name in (*self.scores, "versions")}
            return pd.DataFrame(columns, index=stored["operators"])


def _write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content.getvalue())
