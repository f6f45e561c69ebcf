"""Reading everything again: whether it is what sclcs wrote, and which command repairs it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sclcs.cohort.check import check_content
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.storage import REPAIR, seal_cohort
from sclcs.core.arguments import checked
from sclcs.core.errors import InputError, SclcsError, name_first
from sclcs.core.files import require_existing
from sclcs.core.provenance import read_sidecar, sidecar_path
from sclcs.core.seal import SEAL, check_seal, read_seal, write_seal
from sclcs.run_folder.folder import RunFolder
from sclcs.spi.fc_index import damaged_records, index_problems
from sclcs.spi.fc_records import write_index
from sclcs.spi.fc_store import RESUME, FCStore
from sclcs.spi.fc_writer import seal_store

__all__ = ["Finding", "Verification", "verify_path"]

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
    signed : bool
        Whether changes can be noticed; not in folders of older versions.
    findings : list of Finding
        Empty if all is well.
    """

    path: Path
    kind: str
    signed: bool
    findings: list[Finding]


@checked
def verify_path(path: str | os.PathLike[str], *, sign: bool = False) -> Verification:
    """Read a cohort, an FC store, a run, a training or a table completely.

    Parameters
    ----------
    path : path-like
        What sclcs wrote.
    sign : bool
        Sign what an older version wrote, if nothing is wrong with it.

    Returns
    -------
    Verification
    """
    place = require_existing(path)
    kind = _kind(place)
    if kind is None:
        raise InputError(
            f"Expected something that sclcs wrote at {path} (a cohort, an FC store, a run, a "
            "training, a core-set or a ranking), but found something else; check the path."
        )
    reader, signer = _KINDS[kind]
    findings = list(reader(place))
    if sign and not findings and signer is not None and read_seal(place.absolute()) is None:
        signer(place)
    return Verification(place, kind, _is_signed(place, kind), findings)


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
    if (path / "matrices").is_dir() and (path / "tasks").is_dir():
        return "fc-store"
    return "cohort" if (path / "signals").is_dir() else None


def _is_signed(path: Path, kind: str) -> bool:
    return kind in {"run", "table"} or (path / SEAL).exists()


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
        store = FCStore.open_unchecked(path)
    except SclcsError as error:
        yield Finding(str(path), str(error), repair)
        return
    wrong = index_problems(store.layout)
    for what in [*wrong, *(f"{name} is damaged" for name in damaged_records(store.layout))]:
        yield Finding(str(path), what, repair)
    for piece in [] if wrong else store.verify():
        what = f"block {piece.block} of {name_first(piece.operators)} is damaged or gone"
        yield Finding(str(path), what, repair)


def _training(path: Path) -> Iterator[Finding]:
    repair = "Remove it and train again."
    try:
        check_seal(path.absolute(), "training", repair, required=False)
    except SclcsError as error:
        yield Finding(str(path), str(error), repair)


def _table(path: Path) -> Iterator[Finding]:
    try:
        kind = json.loads(sidecar_path(path).read_bytes())["sclcs_kind"]
        read_sidecar(path, str(kind))
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


def _sign_store(path: Path) -> None:
    store = FCStore.open_unchecked(path)
    write_index(store.layout.path, store.layout.index().stamps)
    layout = store.layout
    seal_store(path, store.fingerprint, layout.block_size, layout.blocks_per_shard)


def _sign_training(path: Path) -> None:
    write_seal(path, [file.name for file in path.iterdir() if file.is_file()])


_Reader = Callable[[Path], Iterator[Finding]]
_KINDS: dict[str, tuple[_Reader, Callable[[Path], None] | None]] = {
    "cohort": (_cohort, seal_cohort),
    "fc-store": (_store, _sign_store),
    "run": (_run, None),
    "training": (_training, _sign_training),
    "table": (_table, None),
}
