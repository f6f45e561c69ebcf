"""Reading everything again: whether it is what sclcs wrote, and which command repairs it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sclcs._core import (
    InputError,
    SclcsError,
    check_seal,
    name_first,
    read_sidecar,
    require_existing,
    sidecar_path,
)
from sclcs.cohort import REPAIR, Cohort, check_content, labelled_since
from sclcs.run_folder.folder import RunFolder
from sclcs.store import RESUME, FCStore

__all__ = ["Finding", "Verification", "kind_of", "verify_path"]

_TRAINING = "run.json"


@dataclass(frozen=True)
class Finding:
    """Something that is not as sclcs wrote it.

    Parameters
    ----------
    where, what : str
    repair : str
        What to do about it.
    """

    where: str
    what: str
    repair: str

    def to_dict(self) -> dict[str, str]:
        """Return JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Verification:
    """What was read and what was found.

    Parameters
    ----------
    path : Path
    kind : str
        What is there: cohort, FC store, run, training, core-set or ranking.
    findings : list of Finding
        Empty if all is well.
    """

    path: Path
    kind: str
    findings: list[Finding]


def verify_path(path: str | os.PathLike[str]) -> Verification:
    """Read a cohort, an FC store, a run, a training or a table completely.

    Parameters
    ----------
    path : path-like
        What sclcs wrote.

    Returns
    -------
    Verification
    """
    place, kind = Path(path), kind_of(path)
    return Verification(place, kind, list(_KINDS[kind](place)))


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return what sclcs wrote at a path: run, training, cohort, fc-store or table."""
    kind = _kind(require_existing(path))
    if kind is None:
        raise InputError(
            f"Expected something that sclcs wrote at {path} (a cohort, an FC store, a run, a "
            "training, a core-set or a ranking), but found something else; check the path."
        )
    return kind


def _kind(path: Path) -> str | None:
    if path.is_file():
        return "table" if path.suffix == ".csv" and sidecar_path(path).exists() else None
    if (path / "state.json").exists():
        return "run"
    if (path / _TRAINING).exists():
        return "training"
    return _zarr_kind(path)


def _zarr_kind(path: Path) -> str | None:
    """Tell a cohort from an FC store, even if its metadata is damaged."""
    try:
        told = json.loads((path / "zarr.json").read_bytes())["attributes"]["sclcs_kind"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        told = None
    if told in {"cohort", "fc-store"}:
        return str(told)
    if (path / "matrices").is_dir():
        return "fc-store"
    return "cohort" if (path / "signals").is_dir() else None


def _cohort(path: Path) -> Iterator[Finding]:
    try:
        cohort = Cohort.open(path)
    except SclcsError as error:
        yield Finding(str(path), str(error), REPAIR)
        return
    for problem in check_content(cohort):
        if problem.kind != "damaged":
            continue
        yield Finding(str(path), f"{problem.where}: {problem.detail}", REPAIR)


def _store(path: Path) -> Iterator[Finding]:
    repair = f"{RESUME[0].upper()}{RESUME[1:]}."
    try:
        store = FCStore.open(path)
    except SclcsError as error:
        yield Finding(str(path), str(error), repair)
        return
    stale = labelled_since(store.cohort_path, store.fingerprint)
    if stale:
        yield Finding(str(path), stale, repair)
    for piece in store.verify():
        file = store.layout.piece_file(piece.family, piece.block).relative_to(store.layout.path)
        what = f"{file} is damaged or gone: {name_first(piece.operators)}"
        yield Finding(str(path), what, repair)


def _training(path: Path) -> Iterator[Finding]:
    repair = "Remove it and train again."
    try:
        check_seal(path.absolute(), "training", repair)
    except SclcsError as error:
        yield Finding(str(path), str(error), repair)


def _table(path: Path) -> Iterator[Finding]:
    try:
        kind = json.loads(sidecar_path(path).read_bytes())["sclcs_kind"]
        facts = read_sidecar(path, str(kind)) or {}
        told = facts.get("provenance", facts)
        stale = labelled_since(told.get("cohort"), str(told.get("cohort_fingerprint")))
        if stale:
            yield Finding(str(path), stale, "Make it again with the command that wrote it.")
    except (SclcsError, OSError, ValueError, LookupError, TypeError) as error:
        yield Finding(str(path), str(error), "Make it again with the command that wrote it.")


def _run(path: Path) -> Iterator[Finding]:
    folder = RunFolder(path)
    repair = f"`sclcs run --config {folder.config_file}` makes it again."
    try:
        stages = folder.state().get("stages", {})
        changed = folder.changed_outputs()
        cohort = folder.config().cohort
    except SclcsError as error:
        yield Finding(str(path), str(error), repair)
        return
    for place, stage in changed.items():
        yield Finding(str(path / place), f"not as the stage {stage} left it", repair)
    for store in (folder.whole_store, folder.core_store):
        for found in _store(store) if store.exists() else ():
            yield Finding(found.where, found.what, repair)
    yield from (Finding(str(path), what, repair) for what in _other_matrices(folder, stages))
    if cohort is not None and Path(cohort).exists():
        yield from _cohort(Path(cohort))


def _other_matrices(folder: RunFolder, stages: dict[str, dict[str, object]]) -> Iterator[str]:
    """Name the stores of finished stages that are gone."""
    for stage, record in stages.items():
        made = record.get("matrices")
        for place in made if isinstance(made, dict) else ():
            if record.get("status") == "done" and not (folder.path / place).exists():
                yield f"{place} of the stage {stage} is gone"


_KINDS: dict[str, Callable[[Path], Iterator[Finding]]] = {
    "cohort": _cohort,
    "fc-store": _store,
    "run": _run,
    "training": _training,
    "table": _table,
}
