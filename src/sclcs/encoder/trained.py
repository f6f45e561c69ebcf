"""What a training leaves: scores, the table of epochs, weights at some epochs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.arguments import checked, checked_methods
from sclcs.core.cells import guard_cell, unguard_cell
from sclcs.core.errors import InputError, name_first
from sclcs.core.seal import read_seal
from sclcs.encoder.settings import EncoderSettings
from sclcs.encoder.training_folder import (
    read_table,
    reading_training,
    training_facts,
    write_table,
    writing_training,
)

__all__ = ["TrainedEncoder"]

KIND = "trained encoder"
SCORES, WEIGHTS, CURVES = "scores.csv", "weights.npz", "curves.npz"
Weights = dict[str, NDArray[np.float32]]


@checked_methods
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
        from sclcs.encoder.replay import maps_of

        if epoch not in self.snapshots:
            raise InputError(
                f"Weights were kept at the epochs {name_first(sorted(self.snapshots), 30)}, "
                f"not at {epoch}."
            )
        weights = self.snapshots[epoch]
        return maps_of(cohort.take(list(sample_ids)), self.settings, weights)

    @checked
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
    @checked
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
