"""What the saved folders of all trainings have in common: their facts and their epochs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    DamagedStoreError,
    InputError,
    UnreadableFileError,
    atomic_directory,
    check_seal,
    guard_cell,
    import_extra,
    name_first,
    plain,
    read_seal,
    require_existing,
    unguard_cell,
    write_json,
    write_seal,
    write_text,
)
from sclcs.cohort import Cohort
from sclcs.coresets.encoder.settings import EncoderSettings

__all__ = [
    "TrainedEncoder",
    "maps_of",
    "read_table",
    "reading_training",
    "training_facts",
    "write_table",
    "writing_training",
]


FACTS, EPOCHS = "run.json", "epochs.csv"


@contextmanager
def writing_training(path: str | os.PathLike[str], kind: str, trained: Any) -> Iterator[Path]:  # noqa: ANN401
    """Write facts and epochs into a new folder; the caller adds its own files.

    Parameters
    ----------
    path : path-like
        A folder that does not exist yet; it appears when all is written.
    kind : str
        For example ``trained encoder``.
    trained : TrainedEncoder or TrainedClassifier
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
    check_seal(folder.absolute(), f"saved {kind}", "Remove it and train again.")
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


KIND = "trained encoder"
SCORES, WEIGHTS, CURVES = "scores.csv", "weights.npz", "curves.npz"
Weights = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class TrainedEncoder:
    """A trained encoder's scores and how they came about.

    Parameters
    ----------
    sample_ids : sequence of str
        All samples of the cohort, in its order.
    scores : array of float
        Structural perturbation score of each sample; infinite for a sample that was drawn
        fewer than twice with ``tracking="logged"``.
    history : DataFrame
        One row per epoch: loss, alignment, uniformity, perturbation (mean over samples),
        head_0, head_1, ...
    settings : EncoderSettings
        Of the training.
    seed : int
        Of the training.
    fingerprint : str
        Of the cohort.
    snapshots : mapping from epoch to weights
        Weights at some epochs, from which maps can be drawn again.
    curves : array, shape (sample, epoch), optional
        Perturbation of each sample at each epoch, if asked for.
    facts : mapping
        Device, threads, seconds, versions.
    """

    sample_ids: Sequence[str]
    scores: NDArray[np.float64]
    history: pd.DataFrame
    settings: EncoderSettings
    seed: int
    fingerprint: str
    snapshots: Mapping[int, Weights] = field(default_factory=dict)
    curves: NDArray[np.float32] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"TrainedEncoder({len(self.sample_ids)} samples, {self.settings.epochs} epochs, "
            f"seed {self.seed})"
        )

    def maps(self, cohort: Cohort, sample_ids: Sequence[str], epoch: int) -> NDArray[np.float32]:
        """Compute attention maps with the weights of an epoch.

        Parameters
        ----------
        cohort : Cohort
            Where the signals are.
        sample_ids : sequence of str
            Which samples.
        epoch : int
            One of the epochs of `snapshots`; 0 is the untrained model.

        Returns
        -------
        array, shape (sample, region, region)
        """
        if epoch not in self.snapshots:
            raise InputError(
                f"Weights were kept at the epochs {name_first(sorted(self.snapshots), 30)}, "
                f"not at {epoch}."
            )
        weights = self.snapshots[epoch]
        return maps_of(cohort.take(list(sample_ids)), self.settings, weights)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the training as a folder of CSV, JSON and npz; :meth:`open` reads it back.

        Parameters
        ----------
        path : path-like
            A folder that does not exist yet.

        Returns
        -------
        Path
            The folder.
        """
        with writing_training(path, KIND, self) as folder:
            names = [guard_cell(name) for name in self.sample_ids]
            scores = pd.DataFrame({"sample_id": names, "sps": self.scores})
            write_table(folder / SCORES, scores)
            arrays = {
                f"{epoch}/{name}": array
                for epoch, weights in self.snapshots.items()
                for name, array in weights.items()
            }
            np.savez(folder / WEIGHTS, **arrays)  # type: ignore[arg-type]
            if self.curves is not None:
                np.savez_compressed(folder / CURVES, curves=self.curves)
        return Path(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> TrainedEncoder:
        """Read a training written by :meth:`save`."""
        with reading_training(path, KIND) as (folder, stored):
            scores = read_table(folder / SCORES)
            signed = read_seal(folder.absolute()) is not None  # before, texts were not marked
            names = [unguard_cell(n) if signed else n for n in scores["sample_id"].tolist()]
            return cls(
                sample_ids=names,
                scores=scores["sps"].map(float).to_numpy(dtype=np.float64),
                settings=EncoderSettings().change(stored["settings"]),
                snapshots=_read_weights(folder / WEIGHTS),
                curves=_read_curves(folder / CURVES),
                **training_facts(folder, stored),
            )


def _read_curves(path: Path) -> NDArray[np.float32] | None:
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as stored:
        curves: NDArray[np.float32] = stored["curves"]
    return curves


def _read_weights(path: Path) -> dict[int, Weights]:
    snapshots: dict[int, Weights] = {}
    with np.load(path, allow_pickle=False) as stored:
        for key in stored.files:
            epoch, _, name = key.partition("/")
            snapshots.setdefault(int(epoch), {})[name] = stored[key]
    return snapshots


def maps_of(
    cohort: Cohort, settings: EncoderSettings, weights: Mapping[str, NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Return the attention maps (sample, region, region) of a cohort's samples."""
    # Saved trainings are read where torch is not installed; only their maps need it.
    torch = import_extra("torch", "torch")
    from sclcs.coresets.encoder.model import AttentionEncoder
    from sclcs.coresets.encoder.score import Scratch
    from sclcs.coresets.encoder.training import prepare_inputs

    model = AttentionEncoder(settings, cohort.n_timepoints, seed=0)
    model.restore(weights)
    with Scratch() as scratch:
        inputs = prepare_inputs(cohort, np.arange(len(cohort)), settings.input_norm, scratch)
        with torch.no_grad():
            _, maps = model(inputs)
    return np.asarray(maps.numpy())
