"""Work on SLURM: array jobs of submitit, sent again until every piece is there.

The process that waits (``sclcs run`` or ``sclcs compute``) is the only one that decides: it sends
the pieces as array jobs, looks which results have arrived, and sends again what a job left that
was killed or ran out of time. docs/development/cluster_engine.md says why it is submitit and why
its signal handling is not used.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import AfterValidator

from sclcs._core import (
    InputError,
    Settings,
    WorkerDiedError,
    explain_write_errors,
    get_logger,
    import_extra,
    read_yaml,
    require_existing,
    setting,
    text_digest,
    write_bytes,
)
from sclcs.store.executors import ExecutorKind
from sclcs.store.executors.local import LocalExecutor

Item = TypeVar("Item")
Result = TypeVar("Result")

log = get_logger(__name__)

POLL_SECONDS = 5.0
SECONDS_TO_ANSWER = 60
#: So often in a row SLURM may not answer (its controller may be restarting) before we give up.
MOST_SILENCES = 120
#: A piece at which so many jobs died is not sent again.
MOST_DEATHS = 3
#: States of a job that will do nothing more; ``squeue`` forgets it some minutes later.
ENDED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"}
ENDED |= {"OUT_OF_MEMORY", "REVOKED", "TIMEOUT"}


def _one_line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("one line of text")
    return text


Line = Annotated[str, AfterValidator(_one_line)]


class SlurmConfig(Settings):
    """What to ask SLURM for: the keys of the YAML file."""

    array: int = setting("array jobs among which the work is divided", 20, ge=1)
    max_running: int | None = setting("how many of them may run at the same time", None, ge=1)
    cpus: int = setting("processors per array job; it runs as many processes", 1, ge=1)
    memory: Line = setting("per array job, as SLURM writes it", "4G")
    time: Line = setting("limit of an array job; what it leaves is sent again", "04:00:00")
    partition: Line | None = setting("where to run", None)
    account: Line | None = setting("who pays", None)
    options: dict[str, Line | int | bool] = setting(
        "further options of sbatch, for example constraint: skylake", {}
    )
    setup: list[Line] = setting("lines of shell before the work", [])
    python: Line | None = setting("the interpreter; by default the one that sends the jobs", None)
    own_cpus: int = setting("`sclcs run`: processes of the command itself, for rankings", 1, ge=1)

    @classmethod
    def noun(cls) -> str:
        """Return what a field is called."""
        return "key"

    def parameters(self, name: str) -> dict[str, Any]:
        """Return what submitit has to ask for."""
        asked = {"cpus-per-task": self.cpus, "mem": self.memory, "time": self.time}
        named = {"partition": self.partition, "account": self.account}
        return {
            "name": name,
            "slurm_array_parallelism": self.max_running or self.array,
            "slurm_setup": self.setup,
            # Under srun submitit would raise an error inside an operator when time runs out, and
            # the operator would be recorded as failed.
            "slurm_use_srun": False,
            "slurm_additional_parameters": {
                **asked,
                **{key: value for key, value in named.items() if value is not None},
                **self.options,
            },
        }


def read_slurm_config(path: str | os.PathLike[str]) -> SlurmConfig:
    """Read a YAML file; a key that is not known is an error."""
    path = require_existing(path, "SLURM configuration")
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(f"Expected `key: value` lines in {path}, for example `array: 20`.")
    try:
        return SlurmConfig(**{str(name): value for name, value in content.items()})
    except InputError as error:
        raise InputError(
            f"{path} is not a SLURM configuration: {error} Known keys are "
            f"{', '.join(SlurmConfig.model_fields)}."
        ) from error


@dataclass(frozen=True)
class _Sent:
    """A job of an array: the pieces it has to do, by index."""

    job: Any
    indices: Sequence[int]


class SlurmExecutor:
    """Do the work in array jobs of SLURM.

    Every result is a file in the job folder, written as soon as it is there. So the waiting
    process sees progress piece by piece, and a job that SLURM requeues (preemption, a node that
    went away) skips what it has done before.

    Parameters
    ----------
    config : SlurmConfig
        What to ask SLURM for.
    folder : Path
        Where jobs, results and logs go; on a disk that all nodes see. It is removed when all is
        done.
    """

    cluster: ClassVar[str] = "slurm"

    def __init__(self, config: SlurmConfig, folder: Path) -> None:
        self._submitit = import_extra("submitit", "slurm")
        self._config, self._folder = config, folder.absolute()
        # The queue knows jobs by name: those of an earlier command that was killed, too.
        self._name = f"sclcs-{text_digest(str(self._folder.resolve()), 8)}"
        self._rounds = self._silences = 0

    def __enter__(self) -> Self:
        self._cancel()
        self._remove()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._remove()  # else the logs may say why

    def prepare(self, functions: Sequence[Callable[[], None]]) -> None:
        """Compile here; nodes with the same processors find the kernels in the user's cache."""
        for function in functions:
            function()

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Call a function on every item; the results come in any order."""
        missing = dict(enumerate(items))
        results = self._folder / f"results-{self._rounds}"
        self._rounds += 1
        with explain_write_errors(results):
            results.mkdir(parents=True, exist_ok=True)
        deaths: Counter[int] = Counter()
        running: list[_Sent] = []
        todo = list(missing)
        try:
            while missing:
                running += self._send(function, {i: missing[i] for i in todo}, results, running)
                time.sleep(POLL_SECONDS)
                ended = self._ended(running)  # first: what has ended has written all it will
                for index in _arrived(results, missing):
                    yield _result(results / str(index))
                    del missing[index]
                todo = []
                for sent in ended:
                    running.remove(sent)
                    left = [index for index in sent.indices if index in missing]
                    todo += left
                    if left:
                        log.warning(
                            "SLURM job %s ended before its work was done; the rest is sent again.",
                            sent.job.job_id,
                        )
                    for index in left[: self._config.cpus]:  # those it was at
                        deaths[index] += 1
                        if deaths[index] == MOST_DEATHS:
                            raise self._gave_up(missing[index], sent)
        finally:
            self._cancel()

    def _send(
        self,
        function: Callable[[Item], Result],
        items: Mapping[int, Item],
        results: Path,
        running: Sequence[_Sent],
    ) -> list[_Sent]:
        """Send pieces as one array: consecutive ones together, they read the same samples."""
        if not items:
            return []
        count = min(len(items), max(1, self._config.array - len(running)))
        indices, bounds = list(items), [len(items) * k // count for k in range(count + 1)]
        shares = [indices[start:stop] for start, stop in pairwise(bounds)]
        task = partial(_do_share, results, self._config.cpus, function)
        python = {} if self._config.python is None else {"slurm_python": self._config.python}
        sender = self._submitit.AutoExecutor(self._folder, cluster=self.cluster, **python)
        sender.update_parameters(**self._config.parameters(self._name))
        try:
            with _outside_any_job():
                jobs = sender.map_array(task, [[(i, items[i]) for i in own] for own in shares])
        except self._submitit.core.utils.FailedJobError as error:
            raise InputError(f"SLURM refused the jobs: {_last_lines(str(error), 2)}") from error
        log.info("Sent %d jobs to SLURM; their logs are in %s.", len(jobs), self._folder)
        return [_Sent(job, own) for job, own in zip(jobs, shares, strict=True)]

    def _ended(self, running: Sequence[_Sent]) -> list[_Sent]:
        """Return the jobs that will do nothing more."""
        try:
            states = self._states(running)
        except WorkerDiedError:
            self._silences += 1
            if self._silences > MOST_SILENCES:
                raise
            return []
        self._silences = 0
        return [sent for sent in running if states.get(sent.job.job_id, "COMPLETED") in ENDED]

    def _states(self, running: Sequence[_Sent]) -> dict[str, str]:  # noqa: ARG002 (for tests)
        """Ask the queue; unlike ``sacct`` it needs no accounting, which small clusters lack."""
        asked = ["--noheader", "--array", "--states=all", "--format=%i|%T", f"--name={self._name}"]
        rows = (line.partition("|") for line in _ask("squeue", *asked).splitlines())
        return {number.strip(): state.strip() for number, _, state in rows}

    def _cancel(self) -> None:
        with suppress(WorkerDiedError):
            _ask("scancel", f"--name={self._name}")

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _gave_up(self, item: object, sent: _Sent) -> WorkerDiedError:
        file, said = Path(sent.job.paths.stderr), ""
        with suppress(OSError):
            said = _last_lines(file.read_text(encoding="utf-8", errors="replace"), 3)
        return WorkerDiedError(
            f"{MOST_DEATHS} SLURM jobs ended before they had done {item}: killed, out of time or "
            f"of memory. The last one said: {said or 'nothing'} (log: {file}). Nothing that is "
            "finished is lost; raise `time` or `memory` and run the same command again."
        )


def _do_share(
    results: Path,
    processes: int,
    function: Callable[[Item], Result],
    items: Sequence[tuple[int, Item]],
) -> None:
    """Do pieces of work inside a job; those of an earlier start of this job are kept."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # submitit ignores it: SLURM would have to wait
    left = [(index, item) for index, item in items if not (results / str(index)).exists()]
    for _ in LocalExecutor(processes).run(partial(_do_and_note, results, function), left):
        pass


def _do_and_note(
    results: Path, function: Callable[[Item], Result], numbered: tuple[int, Item]
) -> None:
    index, item = numbered
    try:
        outcome: tuple[Result | None, Exception | None] = (function(item), None)
    except Exception as error:  # noqa: BLE001 (raised again where somebody waits)
        outcome = (None, error)
    write_bytes(results / str(index), pickle.dumps(outcome), durable=False)


def _arrived(results: Path, missing: Mapping[int, object]) -> list[int]:
    names = (entry.name for entry in os.scandir(results))
    return sorted(int(name) for name in names if name.isdecimal() and int(name) in missing)


def _result(path: Path) -> Any:  # noqa: ANN401 (whatever the function returned)
    value, error = pickle.loads(path.read_bytes())  # noqa: S301 (our own jobs wrote it)
    if error is not None:
        raise error
    return value


@contextmanager
def _outside_any_job() -> Iterator[None]:
    """Hide from new jobs that the process that sends them may be a job itself."""
    hidden = {
        name: os.environ.pop(name)
        for name in list(os.environ)
        if name.startswith(("SLURM_", "SBATCH_", "SUBMITIT_")) and name != "SLURM_CONF"
    }
    try:
        yield
    finally:
        os.environ.update(hidden)


def _last_lines(text: str, count: int) -> str:
    lines = [line.strip() for line in text.splitlines()]
    # Neither the marks of a traceback nor what submitit says of every signal.
    telling = [line for line in lines if line.strip("^~") and not line.startswith("submitit ")]
    return " / ".join(telling[-count:])


def _ask(program: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [program, *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS_TO_ANSWER,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = _last_lines(str(getattr(error, "stderr", "") or error), 1)
        raise WorkerDiedError(
            f"SLURM does not answer `{program}` ({said}); no finished work is lost. Run the same "
            "command again when it does."
        ) from error
    return done.stdout


def require_slurm(_argument: str = "") -> None:
    """Raise if SLURM or the package that talks to it is not on this machine."""
    missing = [name for name in ("sbatch", "squeue", "scancel") if shutil.which(name) is None]
    if missing:
        raise InputError(
            f"Expected SLURM on this machine, but {', '.join(missing)} cannot be found; go to a "
            "login node of the cluster, or choose --on local:4."
        )
    import_extra("submitit", "slurm")


KIND = ExecutorKind(
    name="slurm",
    argument="a YAML file that says what to ask SLURM for",
    example="slurm:slurm.yaml",
    start=lambda argument, store: SlurmExecutor(
        read_slurm_config(argument), store.with_name(f"{store.name}-slurm")
    ),
    check=read_slurm_config,
    processes=lambda argument: read_slurm_config(argument).own_cpus,
    elsewhere=True,
    reach=require_slurm,
    from_anywhere=lambda argument: str(Path(argument).absolute()),
)
