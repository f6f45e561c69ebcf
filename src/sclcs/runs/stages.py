"""Stages that are done once: each knows what it depends on and what it writes.

A stage is done again if what it depends on has changed, or if its outputs are gone or were
edited. It depends on the *content* of what earlier stages wrote: if they come to the same
result as before, later stages have nothing to do.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

import sclcs
from sclcs._core import (
    Identity,
    SclcsError,
    StoreInUseError,
    UnknownNameError,
    WriteError,
    explain_write_errors,
    path_digest,
    plain,
    versions,
    write_json,
)
from sclcs.run_folder import RunFolder, RunState

__all__ = ["RunLog", "Stage", "StoppedInStageError", "require_stage", "run_lock", "run_stages"]


#: CPU seconds that other processes spent for a stage, among the facts it returns.
WORKERS = "worker_cpu_seconds"


#: Attempts whose seconds count for the next one.
UNFINISHED = {"stopped", "failed"}


@dataclass(frozen=True)
class Stage:
    """One step of a run.

    Parameters
    ----------
    name : str
        In ``state.json``.
    title : str
        What it does, for a person.
    identity : callable
        Returns everything its outputs depend on; called when its turn comes.
    work : callable
        Does it, whatever an earlier attempt left behind. It may return facts to keep.
    outputs : callable
        Returns the files and folders it wrote, which nobody else writes.
    matrices : callable
        Returns what it made in stores that other stages fill, too: operators by store.
    """

    name: str
    title: str
    identity: Callable[[], Identity]
    work: Callable[[], Mapping[str, Any] | None]
    outputs: Callable[[], Sequence[Path]] = list
    matrices: Callable[[], Mapping[Path, Sequence[str]]] = dict


class StoppedInStageError(KeyboardInterrupt):
    """Ctrl-C while a stage was at work.

    Parameters
    ----------
    stage : str
        Number and title of the stage.
    """

    def __init__(self, stage: str) -> None:
        super().__init__(stage)
        self.stage = stage


def run_stages(
    folder: RunFolder,
    stages: Sequence[Stage],
    tell: Callable[[str], None],
    *,
    until: str | None = None,
) -> list[str]:
    """Do the stages that are not done yet, one after another.

    Parameters
    ----------
    folder : RunFolder
        What is known there from before is kept up to date.
    stages : sequence of Stage
    tell : callable
        Is given a line for a person now and then.
    until : str, optional
        Name of the last stage to do.

    Returns
    -------
    list of str
        Names of the stages that had to be done.
    """
    names, state = require_stage(stages, until), RunState(folder.state_file)
    _forget_others(state, names)
    done: list[str] = []
    for number, stage in enumerate(stages, start=1):
        label = f"[{number}/{len(stages)}] {stage.title}"
        key = stage.identity().digest()
        if _is_current(folder, state, stage, key):
            _confirm(state, stage.name)
            tell(f"{label}: done before")
        else:
            tell(label)
            state.doubt(names[number:])
            seconds = _Attempt(folder, state, stage, key).run(f"stage {number} ({stage.title})")
            tell(f"      {seconds:.1f} s")
            done.append(stage.name)
        if stage.name == until:
            break
    return done


def require_stage(stages: Sequence[Stage], until: str | None) -> list[str]:
    """Return the names of the stages; raise if the one to stop after is none of them."""
    names = [stage.name for stage in stages]
    if until is not None and until not in names:
        raise UnknownNameError(f"No stage is called {until!r}; choose from {', '.join(names)}.")
    return names


def _forget_others(state: RunState, names: Sequence[str]) -> None:
    """Remove what stages wrote that this run does not have."""
    for name in state.names:
        if name not in names:
            for place in state.record(name).get("outputs", {}):
                _remove(state.inside(place))
            state.forget(name)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_current(folder: RunFolder, state: RunState, stage: Stage, key: str) -> bool:
    """Say whether a stage was done from these inputs and all it made is as it left it."""
    if not state.is_current(stage.name, key):
        return False
    made = state.record(stage.name).get("matrices", {})
    return bool(made == _matrices(folder, state, stage))


def _matrices(folder: RunFolder, state: RunState, stage: Stage) -> dict[str, str | None]:
    """Return what a stage has in stores, by place."""
    return {
        state.place(store): folder.matrices_digest(store, operators)
        for store, operators in stage.matrices().items()
    }


def _confirm(state: RunState, name: str) -> None:
    record = state.record(name)
    if record["status"] != "done":
        state.write(name, record | {"status": "done"})


class _Attempt:
    """One attempt at a stage, recorded from start to end."""

    def __init__(self, folder: RunFolder, state: RunState, stage: Stage, key: str) -> None:
        self._folder, self._state, self._stage, self._key = folder, state, stage, key
        before = state.record(stage.name)
        again = before.get("key") == key and before.get("status") in UNFINISHED
        self._earlier = {
            name: float(before.get(name, 0.0)) if again else 0.0
            for name in ("wall_seconds", "cpu_seconds")
        }
        self._before: Mapping[str, str] = before.get("outputs", {})
        self._old_outputs = [state.inside(place) for place in self._before]
        self._wall, self._cpu, self._started = time.perf_counter(), _cpu_seconds(), _now()

    def run(self, label: str) -> float:
        """Do the stage; return the seconds it took."""
        self._record("running", 0.0)
        try:
            with explain_write_errors(self._folder.path):
                for path in self._old_outputs:
                    if not path.is_dir():  # what is in a folder is the stage's own business
                        path.unlink(missing_ok=True)
                facts = dict(self._stage.work() or {})
        except KeyboardInterrupt as error:
            self._note("stopped")
            raise StoppedInStageError(label) from error
        except WriteError as error:
            self._note("failed", str(error))
            raise WriteError(
                f"{error} The run stopped in {label}; what is finished is kept, and the same "
                "command resumes it."
            ) from error
        except SclcsError as error:
            self._note("failed", str(error))
            raise
        workers = float(facts.pop(WORKERS, 0.0))
        state = self._state
        outputs = {state.place(path): path_digest(path) for path in self._stage.outputs()}
        matrices = _matrices(self._folder, state, self._stage)
        for path in self._old_outputs:
            if state.place(path) not in {*outputs, *matrices}:
                _remove(path)  # what an earlier version of the stage made
        made = {"outputs": outputs, "matrices": matrices}
        self._record("done", workers, **made, versions=versions(), facts=plain(facts))
        return time.perf_counter() - self._wall

    def _note(self, status: str, problem: str = "") -> None:
        """Record an attempt that did not succeed; on a full disk even that may be impossible."""
        with suppress(OSError):
            self._record(status, 0.0, **({"problem": problem} if problem else {}))

    def _record(self, status: str, workers: float, **more: Any) -> None:  # noqa: ANN401
        cpu = _cpu_seconds() - self._cpu + workers
        wall = time.perf_counter() - self._wall
        record: dict[str, Any] = {
            "key": self._key,
            "status": status,
            "started": self._started,
            "finished": None if status == "running" else _now(),
            "wall_seconds": round(self._earlier["wall_seconds"] + wall, 3),
            "cpu_seconds": round(self._earlier["cpu_seconds"] + cpu, 3),
            "outputs": dict(self._before),  # so that the next attempt can remove them
        }
        self._state.write(self._stage.name, record | more)


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of those it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


LOCK = ".lock"
HOLDER = ".lock.json"


@contextmanager
def run_lock(folder: RunFolder) -> Iterator[None]:
    """Hold the folder alone, or say who holds it.

    The lock belongs to the operating system: it vanishes with the process, however it ends.
    """
    lock = FileLock(folder.path / LOCK)
    holder = folder.path / HOLDER
    try:
        with explain_write_errors(folder.path):
            lock.acquire(timeout=0)
    except Timeout as error:
        raise StoreInUseError(
            f"Another run is at work in {folder.path} ({_holder(folder)}); wait until it ends, "
            "stop it, or choose another folder."
        ) from error
    try:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(holder, {"pid": os.getpid(), "host": socket.gethostname(), "since": since})
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release()


def _holder(folder: RunFolder) -> str:
    with suppress(OSError, ValueError, KeyError):
        facts = json.loads((folder.path / HOLDER).read_text(encoding="utf-8"))
        return f"process {facts['pid']} on {facts['host']}, since {facts['since']}"
    return "a process that has just begun"


class RunLog(logging.Handler):
    """Appends lines to a file; a full disk never stops the work because of its log.

    Parameters
    ----------
    file : Path
    tell : callable, optional
        Is given the lines that are meant for a person, too.
    """

    def __init__(self, file: Path, tell: Callable[[str], None] | None = None) -> None:
        super().__init__(logging.INFO)
        self._file, self._tell = file, tell

    def say(self, line: str) -> None:
        """Append a line and tell it to the person who waits."""
        self.write(line)
        if self._tell is not None:
            self._tell(line)

    def write(self, line: str) -> None:
        """Append a line with the time."""
        stamp = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        with suppress(OSError), self._file.open("a", encoding="utf-8") as stream:
            stream.write(f"{stamp}  {line}\n")

    def emit(self, record: logging.LogRecord) -> None:
        """Append what the package logs (warnings, or more with ``--verbose``)."""
        self.write(f"{record.levelname.lower()}: {record.getMessage()}")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Write when the work begins and how it ends, and what the package logs meanwhile."""
        logger = logging.getLogger("sclcs")
        logger.addHandler(self)
        self.write(
            f"--- sclcs {sclcs.__version__}, process {os.getpid()} on {socket.gethostname()}"
        )
        try:
            yield
            self.write("finished")
        except KeyboardInterrupt:
            self.write("stopped by Ctrl-C")
            raise
        except Exception as error:
            self.write(f"failed: {error}")
            raise
        finally:
            logger.removeHandler(self)
