"""Training a network: one harness for the encoder and the classifier.

A training continues from its last checkpoint, is saved as a folder, and is kept in a cache under
the identity of everything that decides its numbers. torch is imported when training starts, never
by importing this module.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import (
    DamagedStoreError,
    Identity,
    InputError,
    OutputExistsError,
    SclcsError,
    Settings,
    UnreadableFileError,
    atomic_directory,
    bytes_digest,
    cache_folder,
    check_seal,
    explain_damage,
    explain_write_errors,
    get_logger,
    import_extra,
    name_first,
    plain,
    progress,
    remove_partials,
    require_existing,
    setting,
    versions,
    write_bytes,
    write_json,
    write_seal,
    write_text,
)
from sclcs.cohort import Cohort, iterate_rows, require_equal_lengths

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Integers = NDArray[np.int64]

#: Raised when the same settings would give other scores or dynamics than before.
VERSIONS = {"encoder": 1, "classifier": 1}

_log = get_logger(__name__)


class TrainingDivergedError(SclcsError, ArithmeticError):
    """The loss is no longer a number."""


class KeptTraining(Settings):
    """Where a training runs and is kept: parameters of every method that trains a network."""

    train_seed: int | None = setting(
        "seed of the training, if it should differ from the seed of the draw", None, ge=0
    )
    device: str = setting("auto, cpu, cuda, cuda:1, ...", "auto", decides=False)
    cache: str | os.PathLike[str] | bool | None = setting(
        "folder of finished trainings; False keeps none", None, decides=False
    )

    def seed_of(self, seed: int) -> int:
        """Return the seed of the training; that of the draw unless another was asked for."""
        return seed if self.train_seed is None else self.train_seed


def training_identity(
    kind: str,
    fingerprint: str,
    settings: Mapping[str, Any],
    seed: int,
    **more: Any,  # noqa: ANN401
) -> Identity:
    """Return what two trainings must share to be the same.

    The device is no part of it: it decides last digits only.
    """
    return Identity(
        kind,
        inputs={"cohort": fingerprint},
        parameters={**settings, **more},
        versions={kind: VERSIONS[kind]},
        seeds={"training": seed},
    )


def choose_device(device: str) -> torch.device:
    """Return the device of that name; ``auto`` is CUDA where there is one, else the CPU."""
    torch_module = import_extra("torch", "torch")
    if device == "auto":
        device = "cuda" if torch_module.cuda.is_available() else "cpu"
    try:
        chosen: torch.device = torch_module.device(device)
        torch_module.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"Expected device to be auto, cpu or an available CUDA device, got {device!r} "
            f"({str(error).splitlines()[0]})."
        ) from error
    return chosen


#: Keeps a nearly constant region from being blown up; relative to the sample's own variance,
#: so that the unit of the signals does not matter.
RELATIVE_EPSILON = 1e-5
#: Signals and maps may each take this share of the available memory.
SHARE_OF_AVAILABLE = 0.125


def standardised(signals: NDArray[np.float32], norm: str) -> NDArray[np.float32]:
    """Give every region of every window mean 0 and variance 1 (or leave it, with ``none``)."""
    if norm == "none":
        return signals
    values = signals.astype(np.float64)
    values -= values.mean(axis=2, keepdims=True)
    variance = (values**2).mean(axis=2, keepdims=True)
    floor = RELATIVE_EPSILON * variance.mean(axis=1, keepdims=True)
    values /= np.sqrt(variance + np.where(floor > 0, floor, 1))
    return values.astype(np.float32)


def working_array(shape: tuple[int, ...], memory_gb: float | None = None) -> Tensor:
    """Return zeros, in a temporary file if they take more than `memory_gb`."""
    import torch

    if memory_gb is None:
        import psutil

        memory_gb = psutil.virtual_memory().available * SHARE_OF_AVAILABLE / 1e9
    if 4 * np.prod(shape) <= memory_gb * 1e9:
        return torch.zeros(shape)
    # The file goes with the last reference to it, also after a crash.
    file = tempfile.TemporaryFile(prefix="sclcs-training-")  # noqa: SIM115
    return torch.from_numpy(np.memmap(file, np.float32, "w+", shape=shape))


def prepare_inputs(
    cohort: Cohort, order: Integers, norm: str, memory_gb: float | None = None
) -> Tensor:
    """Read, check and standardise all signals: (sample, region, time point + 1).

    Samples are in the given order of the cohort's rows. The last feature is one: it carries
    every bias.
    """
    import torch

    require_equal_lengths(cohort, "Training on signals")
    shape = (len(cohort), cohort.n_regions, cohort.n_timepoints + 1)
    inputs = working_array(shape, memory_gb)
    inputs[:, :, -1] = 1
    target = torch.from_numpy(inverse(order))
    start = 0
    for block in iterate_rows(cohort.signals):
        bad = np.flatnonzero(~np.isfinite(block).all(axis=(1, 2))) + start
        if len(bad):
            names = name_first(cohort.sample_ids[row] for row in bad)
            raise InputError(
                f"Signals must be finite, but these samples hold NaN or infinite values: {names}; "
                "leave them out or repair them."
            )
        rows = slice(start, start + len(block))
        inputs[target[rows], :, :-1] = torch.from_numpy(standardised(block, norm))
        start += len(block)
    return inputs


def inverse(order: Integers) -> Integers:
    """Return the permutation that undoes `order`."""
    undone = np.empty(len(order), dtype=np.int64)
    undone[order] = np.arange(len(order))
    return undone


_SIGNATURE = b"\nsclcs:sha256:"


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Write a checkpoint in one step: a crash leaves the old one."""
    import torch

    stream = io.BytesIO()
    torch.save(content, stream)
    payload = stream.getvalue()
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_partials(path.parent, path.name)
    write_bytes(path, payload + _SIGNATURE + bytes_digest(payload).encode())


def read_checkpoint(path: Path, expected_identity: str, epochs: int) -> dict[str, Any] | None:
    """Read a checkpoint of this very training, at most `epochs` long; None if there is none."""
    import torch

    if not path.exists():
        return None
    payload, signature, digest = path.read_bytes().rpartition(_SIGNATURE)
    if not signature or bytes_digest(payload).encode() != digest:
        raise DamagedStoreError(f"The checkpoint {path} is damaged; remove it to start again.")
    with explain_damage(path, "a checkpoint of sclcs (remove it to start again)"):
        stream = io.BytesIO(payload)
        content: dict[str, Any] = torch.load(stream, map_location="cpu", weights_only=True)
        found, epoch = content["identity"], content["epoch"]
    if found != expected_identity:
        raise InputError(
            f"The checkpoint {path} belongs to another cohort, seed or settings; "
            "remove it or name another file."
        )
    if epoch > epochs:
        raise InputError(
            f"The checkpoint {path} is at epoch {epoch}, past the {epochs} epochs asked for; "
            "ask for more epochs or name another file."
        )
    return content


class Training:
    """A network in training: epoch after epoch, from the last checkpoint if there is one.

    Everything random depends on the seed and the epoch only, so that a training that was
    interrupted ends with the same bits.
    """

    kind: ClassVar[str]
    model: torch.nn.Module
    epoch = 0
    history: list[dict[str, float]]

    def begin(self) -> None:
        """Do what must be done before the first epoch."""

    def train_epoch(self) -> None:
        """Train for one epoch; `epoch` is its number, the first is 1."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps besides model, optimiser and history."""
        raise NotImplementedError

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state`; model, optimiser and history are restored already."""
        raise NotImplementedError

    def start_optimiser(self, learning_rate: float, weight_decay: float) -> None:
        """Begin with Adam."""
        import torch

        parameters = self.model.parameters()
        self.optimiser = torch.optim.Adam(parameters, lr=learning_rate, weight_decay=weight_decay)

    def update(self, loss: Tensor, learning_rate: float) -> float:
        """Take one step down the gradient and return the loss, or say that it diverged."""
        value = float(loss.detach())
        if not np.isfinite(value):
            raise TrainingDivergedError(
                f"Training diverged: the loss of epoch {self.epoch} is {value}; lower "
                f"learning_rate (now {learning_rate:g}) or standardise the signals."
            )
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        return value

    def run(
        self, epochs: int, checkpoint: str | os.PathLike[str] | None, identity: str, every: int
    ) -> dict[str, Any]:
        """Train to the last epoch and return how: device, threads, seconds, versions.

        `identity` says whose checkpoint it is; one is written after so many epochs.
        """
        import torch

        started = time.perf_counter()
        path = Path(checkpoint) if checkpoint else None
        known = read_checkpoint(path, identity, epochs) if path else None
        if known is None:
            self.begin()
        else:
            self.epoch, self.history = known["epoch"], list(known["history"])
            self.model.load_state_dict(known["model"])
            self.optimiser.load_state_dict(known["optimiser"])
            self.restore(known)
        # Epochs of an earlier process are not counted: they would make the time left too short.
        with progress(f"Training the {self.kind}", total=epochs - self.epoch) as ticker:
            while self.epoch < epochs:
                self.epoch += 1
                self.train_epoch()
                ticker.advance()
                if path and (self.epoch == epochs or self.epoch % every == 0):
                    write_checkpoint(path, self._content(identity))
        weights = list(self.model.parameters())
        return {
            "device": str(weights[0].device),
            "threads": torch.get_num_threads(),
            "parameters": sum(weight.numel() for weight in weights),
            "versions": versions() | {"torch": str(torch.__version__)},
            "seconds": round(time.perf_counter() - started, 3),
        }

    def _content(self, identity: str) -> dict[str, Any]:
        return self.state() | {
            "epoch": self.epoch,
            "identity": identity,
            "history": self.history,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }

    def table(self) -> pd.DataFrame:
        """Return one row per epoch."""
        return pd.DataFrame(self.history).astype({"epoch": np.int64})


INFO, EPOCHS = "run.json", "epochs.csv"


@dataclass(frozen=True, eq=False, kw_only=True)
class Trained:
    """What every finished training has.

    Parameters
    ----------
    sample_ids : sequence of str
        All samples of the cohort, in its order.
    history : DataFrame
        One row per epoch.
    settings : Settings
        Of the training.
    seed : int
        Of the training.
    fingerprint : str
        Of the cohort.
    info : mapping
        Device, threads, seconds, versions.
    """

    sample_ids: Sequence[str]
    history: pd.DataFrame
    settings: Any
    seed: int
    fingerprint: str
    info: Mapping[str, Any] = field(default_factory=dict)

    kind: ClassVar[str]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self.sample_ids)} samples, {self.settings.epochs} epochs, "
            f"seed {self.seed})"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the training as a folder of CSV, JSON and npz; :meth:`open` reads it back.

        Parameters
        ----------
        path : path-like
            A folder that does not exist yet; it appears when all is written.

        Returns
        -------
        Path
            The folder.
        """
        info = {
            "sclcs_kind": f"trained-{self.kind}",
            "settings": self.settings.to_dict(),
            "seed": self.seed,
            "cohort_fingerprint": self.fingerprint,
            "info": dict(self.info),
        }
        with atomic_directory(path) as folder:
            write_json(folder / INFO, plain(info))
            write_table(folder / EPOCHS, self.history)
            self._write(folder)
            write_seal(folder, [path.name for path in folder.iterdir()])
        return Path(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Read a training written by :meth:`save`."""
        folder = require_existing(path, f"folder of a saved trained {cls.kind}")
        check_seal(folder.absolute(), f"saved trained {cls.kind}", "Remove it and train again.")
        try:
            stored = json.loads((folder / INFO).read_text(encoding="utf-8"))
            return cls(
                history=read_table(folder / EPOCHS).map(float).astype({"epoch": np.int64}),
                seed=int(stored["seed"]),
                fingerprint=str(stored["cohort_fingerprint"]),
                info=stored["info"],
                **cls._read(folder, stored["settings"]),
            )
        except DamagedStoreError:
            raise
        # Sealed by another program: whatever is wrong inside is the folder's fault.
        except (OSError, ValueError, LookupError, TypeError, AttributeError, BadZipFile) as error:
            raise UnreadableFileError(
                f"Expected the folder of a saved trained {cls.kind} at {folder}, but it is "
                f"incomplete or damaged ({error}); remove it and train again."
            ) from error

    def _write(self, folder: Path) -> None:
        """Write what only this kind of training has."""
        raise NotImplementedError

    @classmethod
    def _read(cls, folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the remaining fields, the sample ids and settings among them."""
        raise NotImplementedError


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV."""
    write_text(path, str(table.to_csv(index=False, lineterminator="\r\n", na_rep="nan")))


def read_table(path: Path) -> pd.DataFrame:
    """Read a table with its cells as text: float() keeps every digit, pandas' parser may not."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


Run = TypeVar("Run", bound=Trained)
NAME_DIGITS = 12


def kept_training(
    kind: type[Run],
    train: Callable[..., Run],
    cohort: Cohort,
    settings: Any,  # noqa: ANN401
    *,
    seed: int,
    cache: str | os.PathLike[str] | bool | None,
    label: str = "",
    **options: Any,  # noqa: ANN401
) -> Run:
    """Read a training from the cache, or train (with a checkpoint) and keep it.

    The folder's name can be read by people, and differs whenever the identity does.
    """
    options |= {"seed": seed}
    if cache is False:
        return train(cohort, settings, **options)
    identity = training_identity(kind.kind, cohort.fingerprint, settings.to_dict(), seed)
    root = cache_folder(None if isinstance(cache, bool) else cache) / kind.kind
    name = f"{label}{settings.epochs}epochs-seed{seed}-{identity.digest(NAME_DIGITS)}"
    folder = root / f"{cohort.fingerprint[:8]}-{name}"
    if folder.exists():
        _log.info("Taking a finished training from %s", folder)
        try:
            return kind.open(folder)
        except UnreadableFileError as error:  # the cache is ours: what is damaged is made again
            _log.warning("%s Training again.", error)
            shutil.rmtree(folder, ignore_errors=True)
    options["checkpoint"] = checkpoint = folder.with_name(f"{folder.name}.checkpoint")
    try:
        trained = train(cohort, settings, **options)
    except UnreadableFileError as error:
        if not checkpoint.exists():
            raise
        _log.warning("%s Starting again.", error)
        checkpoint.unlink()
        trained = train(cohort, settings, **options)
    try:
        trained.save(folder)
    except OutputExistsError:
        _log.info("Another process has finished the same training meanwhile.")
    checkpoint.unlink(missing_ok=True)
    return trained
