"""What the saved folders of all trainings have in common: their facts and their epochs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from sclcs.core.errors import DamagedStoreError, UnreadableFileError
from sclcs.core.files import atomic_directory, require_existing, write_json, write_text
from sclcs.core.provenance import plain
from sclcs.core.seal import check_seal, write_seal

__all__ = [
    "Trained",
    "read_table",
    "reading_training",
    "training_facts",
    "write_table",
    "writing_training",
]

FACTS, EPOCHS = "run.json", "epochs.csv"


class Settings(Protocol):
    """Settings of a training."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""


class Trained(Protocol):
    """What every finished training knows about itself."""

    @property
    def history(self) -> pd.DataFrame:
        """One row per epoch."""

    @property
    def settings(self) -> Settings:
        """Of the training."""

    @property
    def seed(self) -> int:
        """Of the training."""

    @property
    def fingerprint(self) -> str:
        """Of the cohort."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Device, threads, seconds, versions."""


@contextmanager
def writing_training(path: str | os.PathLike[str], kind: str, trained: Trained) -> Iterator[Path]:
    """Write facts and epochs into a new folder; the caller adds its own files.

    Parameters
    ----------
    path : path-like
        A folder that does not exist yet; it appears when all is written.
    kind : str
        For example ``trained encoder``.
    trained : Trained
        What to write.
    """
    facts = {
        "sclcs_kind": kind.replace(" ", "-"),
        "settings": trained.settings.to_dict(),
        "seed": trained.seed,
        "cohort_fingerprint": trained.fingerprint,
        "facts": dict(trained.facts),
    }
    with atomic_directory(path) as folder:
        write_json(folder / FACTS, plain(facts))
        write_table(folder / EPOCHS, trained.history)
        yield folder
        write_seal(folder, [path.name for path in folder.iterdir()])


@contextmanager
def reading_training(
    path: str | os.PathLike[str], kind: str
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Open the folder of a training; whatever is wrong inside is the folder's fault."""
    folder = require_existing(path, f"folder of a saved {kind}")
    check_seal(folder.absolute(), f"saved {kind}", "Remove it and train again.", required=False)
    try:
        yield folder, json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except DamagedStoreError:
        raise
    # Without a seal, damage can be of any kind.
    except (OSError, ValueError, LookupError, TypeError, AttributeError, BadZipFile) as error:
        raise UnreadableFileError(
            f"Expected the folder of a saved {kind} at {folder}, but it is incomplete or damaged "
            f"({error}); remove it and train again."
        ) from error


def training_facts(folder: Path, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that every run is made of, except its settings."""
    history = read_table(folder / EPOCHS).map(float).astype({"epoch": np.int64})
    return {
        "history": history,
        "seed": int(stored["seed"]),
        "fingerprint": str(stored["cohort_fingerprint"]),
        "facts": stored["facts"],
    }


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV."""
    write_text(path, str(table.to_csv(index=False, lineterminator="\r\n", na_rep="nan")))


def read_table(path: Path) -> pd.DataFrame:
    """Read a table with its cells as text: float() keeps every digit, pandas' parser may not."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)
