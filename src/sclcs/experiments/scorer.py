"""Scores of operators on many core-sets, each computed once and kept."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.design import PairDesign, make_design
from sclcs.benchmark.draws import half_draws
from sclcs.benchmark.evaluate import Question, evaluate
from sclcs.benchmark.fc_source import FCSource
from sclcs.benchmark.ranks import equivalence_groups, share_scores
from sclcs.benchmark.scores import find_score
from sclcs.benchmark.tasks import make_task
from sclcs.cohort.coreset import CoreSet
from sclcs.core.files import write_bytes

__all__ = ["SCORES", "Scorer"]

Floats = NDArray[np.float64]
#: The well-conditioned score, and the one that comes near the paper's numbers.
SCORES = ("cohen_d", "ratio")


class Scorer:
    """How well operators separate the classes of tasks, on any core-set.

    Parameters
    ----------
    source : FCSource
        The matrices of all samples.
    operators : sequence of str
        Which operators.
    folder : Path
        Where scores are kept; shared by experiments on one store.
    jobs : int
        Threads.
    """

    def __init__(
        self, source: FCSource, operators: Sequence[str], folder: Path, *, jobs: int = 1
    ) -> None:
        self.source = source
        self.operators = list(operators)
        self._folder = folder
        self._jobs = jobs
        self._groups = equivalence_groups(self.operators)

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
        places = [self._folder / self._name(task, core) for task, core in requests]
        known = {place: _read(place) for place in dict.fromkeys(places)}
        todo = {
            place: request
            for place, request in zip(places, requests, strict=True)
            if not set(self.operators) <= set(known[place].index)
        }
        if todo:
            known |= self._evaluate(todo, known)
        return [self._shared(known[place]) for place in places]

    def _evaluate(
        self,
        todo: dict[Path, tuple[str, CoreSet | None]],
        known: dict[Path, pd.DataFrame],
    ) -> dict[Path, pd.DataFrame]:
        missing = {name for place in todo for name in set(self.operators) - set(known[place].index)}
        wanted = [name for name in self.operators if name in missing]
        scores = tuple(find_score(name) for name in SCORES)
        questions = [Question(self._design(*request), scores) for request in todo.values()]
        answers = evaluate(self.source, wanted, questions, n_jobs=self._jobs)
        found = {}
        for place, answer in zip(todo, answers, strict=True):
            new = pd.DataFrame(answer.point, index=answer.operators)
            kept = known[place].drop(index=wanted, errors="ignore")
            found[place] = pd.concat([kept, new]) if len(kept) else new
            columns = {name: found[place][name].to_numpy(dtype=np.float64) for name in SCORES}
            _write(place, columns | {"operators": np.asarray(found[place].index, dtype=str)})
        return found

    def halves(self, task: str, splits: int, seed: int = 0) -> dict[str, Floats]:
        """Return the scores (operator, half) on random halves of the subjects.

        Columns 2i and 2i + 1 are the two halves of split i.
        """
        name = hashlib.sha256(repr((task, splits, seed, self.operators)).encode()).hexdigest()
        place = self._folder / f"halves-{self.source.fingerprint[:8]}-{name[:16]}.npz"
        if not place.exists():
            design = self._design(task, None)
            scores = tuple(find_score(name) for name in SCORES)
            question = Question(design, scores, half_draws(design, splits, seed))
            (answer,) = evaluate(self.source, self.operators, [question], n_jobs=self._jobs)
            _write(place, answer.drawn)
        with np.load(place, allow_pickle=False) as stored:
            return {score: share_scores(stored[score], self._groups) for score in SCORES}

    def _design(self, task: str, core: CoreSet | None) -> PairDesign:
        return make_design(self.source.samples, make_task(task), core)

    def _name(self, task: str, core: CoreSet | None) -> str:
        facts: list[object] = [self.source.fingerprint, task, SCORES]
        if core is not None:
            order = np.argsort(np.asarray(core.sample_ids, dtype=str))
            facts.append([core.sample_ids[place] for place in order])
            if core.weight is not None:
                facts.append([float(core.weight[place]) for place in order])
        return f"{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]}.npz"

    def _shared(self, table: pd.DataFrame) -> pd.DataFrame:
        """Give equivalent operators one score, as a ranking does."""
        chosen = table.loc[self.operators]
        shared = {name: share_scores(chosen[name].to_numpy(), self._groups) for name in SCORES}
        return pd.DataFrame(shared, index=self.operators)


def _read(place: Path) -> pd.DataFrame:
    if not place.exists():
        return pd.DataFrame(columns=list(SCORES), dtype=np.float64)
    with np.load(place, allow_pickle=False) as stored:
        return pd.DataFrame({name: stored[name] for name in SCORES}, index=stored["operators"])


def _write(place: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    place.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(place, content.getvalue())
