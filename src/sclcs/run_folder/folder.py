"""The folder of a two-stage run: which file is what, and how to read it.

::

    RUN/
        config.yaml         what was asked; `sclcs run --config RUN/config.yaml --out OTHER`
        run.log             what happened, for a person
        state.json          the stages: done or not, how long, checksums of what they wrote
        check.json          what is in the cohort, its problems, what was left out
        plan.json           predicted costs
        core.csv, .json     the core-set
        encoder/            the training behind it (methods that train the encoder)
        fc.zarr             operators on the whole cohort: the best ones, and every other one
                            with full_benchmark
        fc-core.zarr        every operator on the core-set
        ranking.csv, .json  their ranking for the first task; ranking-TASK.csv for further ones
        confirmed.csv, .json   the best ones' ranking on the whole cohort; confirmed-TASK.csv
        truth.csv, .json    with full_benchmark: the ranking of every operator on everybody
        confirmation.json   how well the two rankings agree, what it cost and saved
        exports/            the best operators' matrices in other formats, if asked for
        report.html         all of it for a person
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    DamagedStoreError,
    InputError,
    NotFoundError,
    ReadOnce,
    UnreadableFileError,
    WriteError,
    explain_damage,
    explain_write_errors,
    path_digest,
    plain,
    sidecar_path,
    signed,
    write_bytes,
    write_json,
    write_text,
)
from sclcs.cohort import Cohort, CoreSet
from sclcs.run_folder.settings import RunConfig, config_text, make_config, read_config
from sclcs.run_folder.state import CONFIG, note_config, read_state
from sclcs.stats import Card, Evaluation, Ranking, Scatter
from sclcs.store import FCStore, files_digest

if TYPE_CHECKING:
    from sclcs.coresets import TrainedEncoder

__all__ = ["RunFolder", "load_answers", "save_answers"]


_FINISHED = frozenset({"done", "to be checked"})


class RunFolder:
    """A folder of a run, finished or not.

    Parameters
    ----------
    path : path-like
        The folder. Nothing is read until it is asked for, and then once, as long as the file
        stays as it is; what is returned is shared and must not be changed.

    Attributes
    ----------
    config_file, log_file, state_file : Path
        What was asked, what happened, the stages and what they wrote.
    check_file, plan_file, core_file : Path
        What is in the cohort, predicted costs, the core-set.
    encoder_folder : Path
        The training behind the core-set.
    whole_store, core_store : Path
        Operators on the whole cohort, and every operator on the core-set.
    confirmation_file, report_file : Path
        Agreement and costs, and the report.
    answer_file, geometry_file : Path
        Of a budgeted run: the answer to every task, and how the operators lie to each other.
    core_sets_file : Path
        Of the demo: how a core-set of SCLCS-Dense did beside random ones.
    export_folder : Path
        The best operators' matrices in other formats.
    scores_folder : Path
        While a run is at work whose matrices go at once: what was found out about them.

    Examples
    --------
    ``RunFolder("RUN").ranking("diagnosis").table.head()``
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = home = Path(path)
        self.config_file = home / "config.yaml"
        self.log_file = home / "run.log"
        self.state_file = home / "state.json"
        self.check_file = home / "check.json"
        self.plan_file = home / "plan.json"
        self.core_file = home / "core.csv"
        self.encoder_folder = home / "encoder"
        self.whole_store = home / "fc.zarr"
        self.core_store = home / "fc-core.zarr"
        self.confirmation_file = home / "confirmation.json"
        self.answer_file = home / "answer.json"
        self.geometry_file = home / "geometry.csv"
        self.export_folder = home / "exports"
        self.scores_folder = home / "scores"
        self.report_file = home / "report.html"
        self.core_sets_file = home / "core_sets.json"
        self._core_sets: ReadOnce[CoreSet] = ReadOnce(CoreSet.open)
        self._rankings: ReadOnce[Ranking] = ReadOnce(Ranking.open)
        self._cards: ReadOnce[Card] = ReadOnce(Card.open)
        self._json_files: ReadOnce[dict[str, Any]] = ReadOnce(self._json)
        self._states: ReadOnce[dict[str, Any]] = ReadOnce(read_state)
        self._digests: ReadOnce[str | None] = ReadOnce(path_digest)
        # A folder is as old as the file that says what it is.
        self._stores: ReadOnce[FCStore] = ReadOnce(lambda file: FCStore.open(file.parent))
        self._cohorts: ReadOnce[Cohort] = ReadOnce(lambda file: Cohort.open(file.parent))

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Make the folder, or return the one of an earlier run; anything else is refused."""
        folder = cls(path)
        if folder.state_file.exists():
            return folder
        if folder.path.exists() and not folder.path.is_dir():
            raise WriteError(
                f"Expected a folder for the run at {path}, but a file is there; choose another."
            )
        with explain_write_errors(folder.path):
            if folder.path.is_dir() and any(folder.path.iterdir()):
                raise InputError(
                    f"{path} holds files, but no run (there is no {folder.state_file.name}); "
                    "choose a new folder, or that of an earlier run."
                )
            folder.path.mkdir(parents=True, exist_ok=True)
            write_json(folder.state_file, signed({"stages": {}}))
        return folder

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Return the folder of a run; an error says so if it is none."""
        folder = cls(path)
        if not folder.state_file.exists() or not folder.config_file.exists():
            raise NotFoundError(
                f"Expected the folder of a run at {path} (with {folder.config_file.name} and "
                f"{folder.state_file.name}); `sclcs run` makes one."
            )
        return folder

    def ranking_file(self, task: str | None = None) -> Path:
        """Return the ranking on the core-set; of the first task by default."""
        return self._task_file("ranking", task)

    def confirmed_file(self, task: str | None = None) -> Path:
        """Return the ranking of the best operators on the whole cohort."""
        return self._task_file("confirmed", task)

    def truth_file(self, task: str | None = None) -> Path:
        """Return the ranking of every operator on the whole cohort."""
        return self._task_file("truth", task)

    def card_file(self, task: str | None = None) -> Path:
        """Return the card: what the operators on the whole cohort see besides the target."""
        return self._task_file("card", task)

    def _task_file(self, kind: str, task: str | None) -> Path:
        if task is None or task == self.tasks[0]:
            return self.path / f"{kind}.csv"
        if task not in self.tasks:
            raise InputError(f"The run has the tasks {', '.join(self.tasks)}, not {task!r}.")
        return self.path / f"{kind}-{quote(task, safe=' ')}.csv"

    @cached_property
    def _config(self) -> RunConfig:
        known = self.state().get(CONFIG) if self.state_file.exists() else None
        if known is not None and known != path_digest(self.config_file):
            raise self._changed(self.config_file)
        return make_config(read_config(self.config_file), str(self.config_file))

    def config(self) -> RunConfig:
        """Return what was asked; paths are absolute."""
        return self._config

    def assume_config(self, config: RunConfig) -> None:
        """Take a configuration for that of the folder until it is written there."""
        self.__dict__["_config"] = config

    def write_config(self, config: RunConfig) -> None:
        """Write what is asked."""
        write_text(self.config_file, config_text(config, self.path))
        if self.state_file.exists():
            note_config(self.state_file, self.config_file)
            self._states.forget(self.state_file)
        self.__dict__.pop("_config", None)

    @property
    def tasks(self) -> list[str]:
        """What operators are ranked for."""
        return self._config.tasks

    def state(self) -> dict[str, Any]:
        """Return the stages by name: status, started, finished, wall and CPU seconds."""
        return self._states(self.state_file)

    def changed_outputs(self) -> dict[str, str]:
        """Return the files that are not as the run left them, by place: the stage that wrote them.

        Stores are not read here.
        """
        return {
            place: stage
            for stage, record in self.state().get("stages", {}).items()
            if record.get("status") in _FINISHED
            for place, digest in record.get("outputs", {}).items()
            if self._digest(self.path / place) != digest
        }

    def _as_written(self, path: Path) -> Path:
        """Return the path of a file of the run; raise if it is not as its stage left it."""
        if not self.state_file.exists():
            return path
        for record in self.state().get("stages", {}).values():
            if record.get("status") in _FINISHED:
                known = record.get("outputs", {}).get(path.relative_to(self.path).as_posix())
                if known is not None and path.exists() and self._digest(path) != known:
                    raise self._changed(path)
        return path

    def _digest(self, path: Path) -> str | None:
        # A folder looks the same after a file in it has changed.
        return path_digest(path) if path.is_dir() else self._digests(path)

    def _changed(self, path: Path) -> DamagedStoreError:
        return DamagedStoreError(
            f"{path} is not as the run wrote it (edited or damaged); "
            f"`sclcs run --config {self.config_file}` makes it again."
        )

    def _facts(self, path: Path) -> dict[str, Any]:
        return self._json_files(self._as_written(path))

    def check(self) -> dict[str, Any]:
        """Return what the check found.

        Returns
        -------
        dict
            ``cohort`` (see :func:`~sclcs.cohort.describe.describe_cohort`), ``problems`` and
            ``excluded`` (lists of kind, where, detail), ``samples`` and ``fingerprint`` of what
            is used, ``tasks`` (by name: samples, subjects, classes, unlabelled).
        """
        return self._facts(self.check_file)

    def plan(self) -> dict[str, Any]:
        """Return the predicted costs."""
        return self._facts(self.plan_file)

    def confirmation(self) -> dict[str, Any]:
        """Return how well the core-set did, and what it cost.

        Returns
        -------
        dict
            ``tasks``, by name: ``winners`` (best by the core-set, in its order), ``best``
            (``core``, ``confirmed``), ``same_best``, ``inside_interval`` (whether the winner's
            score on everybody lies in its interval from the core-set), ``agreement`` (see
            :func:`~sclcs.stats.concordance`, of the winners' two orders), ``truth`` (the
            same of all operators with ``full_benchmark``, else null).
            ``costs``, in CPU seconds: ``select`` (training included), ``core``, ``top``,
            ``two_stage`` (their sum), ``everything`` (every operator on everybody, from
            the time per sample on the core-set), ``everything_measured`` (null without
            ``full_benchmark``), ``saved`` (share); and ``samples``, ``core_samples``,
            ``operators``.
        """
        return self._facts(self.confirmation_file)

    def core_sets(self) -> dict[str, Any] | None:
        """Return how the paper's core-set did in the demo; None if it was not tried."""
        return self._json_files(self.core_sets_file) if self.core_sets_file.exists() else None

    def answer(self) -> dict[str, Any]:
        """Return the answer of a budgeted run.

        Returns
        -------
        dict
            ``way`` (exact or estimated) and ``why``; ``stopped`` (a word) and ``sentence``;
            ``cost`` in predicted CPU seconds (``budget``, ``panel``, ``core``, ``confirmed``,
            ``spent``, ``everything``, ``share``); ``operators`` (how many); ``steps`` (what was
            computed on everybody one after another); ``tasks``, by name: ``effect_p``,
            ``best_set``, ``chosen``, ``probability_best``, ``probability_top``, ``regret``;
            ``another_hour``, what an hour more would compute and how much it is expected to gain.
        """
        return self._facts(self.answer_file)

    def geometry(self) -> pd.DataFrame | None:
        """Return how the operators of a budgeted run lie to each other; None if it has no map."""
        if not self.geometry_file.exists():
            return None
        with explain_damage(self.geometry_file, "a map of operators"):
            return pd.read_csv(self._as_written(self.geometry_file), index_col="spi")

    def given_cohort(self, path: str | os.PathLike[str] | None = None) -> Cohort:
        """Open the cohort of the configuration (or another one), with all its samples."""
        place = self.config().cohort if path is None else path
        if place is None:
            raise InputError("Expected a cohort: `sclcs run COHORT ...`, or the key cohort.")
        return self._cohorts(Path(place) / "zarr.json")

    def cohort(self) -> Cohort:
        """Return the cohort, without the samples that the check left out."""
        facts = self.check()
        if facts["excluded"]:
            return self._usable(facts)
        cohort = self.given_cohort()
        if cohort.fingerprint != facts["fingerprint"]:
            raise InputError(f"Another cohort than that of the run is at {self.config().cohort}.")
        return cohort

    def _usable(self, facts: dict[str, Any]) -> Cohort:
        cohort = self.given_cohort()
        excluded = {row["where"] for row in facts["excluded"]}
        usable = cohort.take([name for name in cohort.sample_ids if name not in excluded])
        usable.fingerprint = str(facts["fingerprint"])  # the check has hashed the signals already
        return usable

    def core_set(self) -> CoreSet:
        """Read the core-set."""
        return self._core_sets(self._as_written(self.core_file))

    def ranking(self, task: str | None = None) -> Ranking:
        """Read the ranking on the core-set."""
        return self._rankings(self._as_written(self.ranking_file(task)))

    def confirmed(self, task: str | None = None) -> Ranking:
        """Read the ranking of the best operators on the whole cohort.

        A budgeted run has one ranking, of exact and estimated scores together.
        """
        if self.config().budgeted:
            return self.ranking(task)
        return self._rankings(self._as_written(self.confirmed_file(task)))

    def truth(self, task: str | None = None) -> Ranking | None:
        """Read the ranking of every operator on the whole cohort; None if it was not made."""
        path = self.truth_file(task)
        return self._rankings(self._as_written(path)) if path.exists() else None

    def card(self, task: str | None = None) -> Card | None:
        """Read the card of a task; None if there is none."""
        path = self.card_file(task)
        return self._cards(self._as_written(path)) if path.exists() else None

    @property
    def core_matrices(self) -> FCStore:
        """Every operator on the core-set."""
        return self.open_store(self.core_store)

    @property
    def whole_matrices(self) -> FCStore:
        """Operators on the whole cohort."""
        return self.open_store(self.whole_store)

    def open_store(self, path: Path) -> FCStore:
        """Open one of the stores, once."""
        return self._stores(path / "zarr.json")

    def matrices_digest(self, path: Path, operators: Iterable[str]) -> str | None:
        """Return what a store holds of operators; None if not all, or not what was written."""
        try:
            return files_digest(self.open_store(path), operators)
        except (UnreadableFileError, OSError):
            return None

    def write_table(self, result: CoreSet | Ranking | Card, path: Path) -> None:
        """Save a table with its sidecar in place of the one of an earlier run."""
        path.unlink(missing_ok=True)
        sidecar_path(path).unlink(missing_ok=True)
        result.save(path)
        self._core_sets.forget(path)
        self._rankings.forget(path)
        self._cards.forget(path)
        self._digests.forget(path)

    def write_facts(self, facts: Mapping[str, Any], path: Path) -> None:
        """Write what a stage found as JSON."""
        write_json(path, plain(facts))
        self._json_files.forget(path)
        self._digests.forget(path)

    def trained_encoder(self) -> TrainedEncoder | None:
        """Read the training behind the core-set; None if the method trains no encoder."""
        if not self.encoder_folder.exists():
            return None
        from sclcs.coresets import TrainedEncoder

        return TrainedEncoder.open(self.encoder_folder)

    def _json(self, path: Path) -> dict[str, Any]:
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise NotFoundError(
                f"{path} is not there yet; finish the run with "
                f"`sclcs run --config {self.config_file}`."
            ) from error
        except ValueError as error:
            raise UnreadableFileError(
                f"{path} cannot be read ({error}); run the same command again."
            ) from error


FACTS = "facts"
TABLES = ("point", "drawn", "statistics", "cross_fit")


def save_answers(path: Path, key: str, answers: Sequence[Evaluation], seconds: float = 0.0) -> None:
    """Write the answers to some inquiries, every number as it is.

    Parameters
    ----------
    path : Path
    key : str
        Of everything that decides them.
    answers : sequence of Evaluation
        One per inquiry, of one operator each.
    seconds : float
        CPU time they took.
    """
    arrays: dict[str, NDArray[Any]] = {}
    said = []
    for place, answer in enumerate(answers):
        for table in TABLES:
            for name, values in getattr(answer, table).items():
                arrays[f"{place}|{table}|{name}"] = values
        arrays[f"{place}|n_samples"] = answer.n_samples
        (scatter,) = answer.scatter
        if scatter is not None:
            arrays[f"{place}|scatter"] = scatter.statistics
            arrays[f"{place}|widest"] = np.array([scatter.ratio, scatter.widest])
        said.append([answer.operators, answer.status, answer.reason])
    facts = {"key": key, "seconds": seconds, "said": said}
    arrays[FACTS] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    write_bytes(path, content.getvalue())


def load_answers(path: Path, key: str) -> tuple[list[Evaluation], float] | None:
    """Read what :func:`save_answers` wrote; None if it is not there, damaged, or of another key."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = json.loads(arrays[FACTS].tobytes())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    if facts["key"] != key:
        return None
    found = [_answer(arrays, place, *said) for place, said in enumerate(facts["said"])]
    return found, float(facts["seconds"])


def _answer(
    arrays: dict[str, NDArray[Any]],
    place: int,
    operators: list[str],
    status: list[str],
    reason: list[str],
) -> Evaluation:
    tables: dict[str, dict[str, NDArray[Any]]] = {table: {} for table in TABLES}
    for name, values in arrays.items():
        parts = name.split("|", 2)
        if parts[0] == str(place) and len(parts) == 3:
            tables[parts[1]][parts[2]] = values
    scatter = None
    if f"{place}|scatter" in arrays:
        ratio, widest = arrays[f"{place}|widest"].tolist()
        scatter = Scatter(ratio, int(widest), arrays[f"{place}|scatter"])
    return Evaluation(
        operators,
        tables["point"],
        tables["drawn"],
        tables["statistics"],
        [scatter],
        arrays[f"{place}|n_samples"],
        status,
        reason,
        tables["cross_fit"],
    )
