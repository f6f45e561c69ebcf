"""Large working arrays: in memory while they fit the budget, else on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sclcs.coresets.encoder.model import BLOCK, AttentionEncoder, BlockMaps
from sclcs.coresets.encoder.settings import EncoderSettings

__all__ = ["EveryEpoch", "LoggedMaps", "RunningScore", "Scratch", "Tracker", "make_tracker"]


SHARE_OF_AVAILABLE = 0.25


class Scratch:
    """Gives out float32 arrays and removes their files at the end.

    Parameters
    ----------
    memory_gb : float, optional
        What all arrays together may take in memory. A quarter of what is available now by
        default.
    """

    def __init__(self, memory_gb: float | None = None) -> None:
        if memory_gb is None:
            import psutil

            self._bytes_left = float(psutil.virtual_memory().available * SHARE_OF_AVAILABLE)
        else:
            self._bytes_left = memory_gb * 1e9
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def on_disk(self) -> bool:
        """Whether an array had to go to disk."""
        return self._folder is not None

    def zeros(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Return an array of zeros; one on disk is used through the same tensor."""
        n_bytes = 4 * int(np.prod(shape))
        if n_bytes <= self._bytes_left:
            self._bytes_left -= n_bytes
            return torch.zeros(shape)
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="sclcs-encoder-")
        path = Path(self._folder.name) / f"{name}.f32"
        return torch.from_numpy(np.memmap(path, dtype=np.float32, mode="w+", shape=shape))


Floats = NDArray[np.float64]


class RunningScore:
    """Mean perturbation of each sample over the epochs that count.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    settings : EncoderSettings
        Which epochs count, and the power of the norm.
    keep_curves : bool
        Also keep every difference (sample, epoch), NaN where there is none.
    """

    def __init__(self, n_samples: int, settings: EncoderSettings, keep_curves: bool) -> None:
        self.settings = settings
        self.total = np.zeros(n_samples)
        self.count = np.zeros(n_samples, dtype=np.int64)
        shape = (n_samples, settings.epochs if keep_curves else 0)
        self.curves = np.full(shape, np.nan, dtype=np.float32)
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Forget the differences of the last epoch."""
        self._epoch_total, self._epoch_count = 0.0, 0

    def add(self, rows: slice | NDArray[np.int64], norms: Tensor, epoch: int) -> None:
        """Add Frobenius norms of differences that end at this epoch."""
        differences = norms.double().numpy() ** self.settings.power
        self._epoch_total += float(differences.sum())
        self._epoch_count += len(differences)
        if self.settings.counts(epoch):
            self.total[rows] += differences
            self.count[rows] += 1
        if self.curves.shape[1]:
            self.curves[rows, epoch - 1] = differences

    @property
    def epoch_mean(self) -> float:
        """Mean difference of the samples that had one in this epoch."""
        return self._epoch_total / self._epoch_count if self._epoch_count else float("nan")

    @property
    def scores(self) -> Floats:
        """The score; infinite for a sample without any difference."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.count > 0, self.total / self.count, np.inf)

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint keeps."""
        return {
            "total": torch.from_numpy(self.total.copy()),
            "count": torch.from_numpy(self.count.copy()),
            "curves": torch.from_numpy(self.curves.copy()),
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from :meth:`state`; a longer training has room for more epochs."""
        self.total[:] = state["total"].numpy()
        self.count[:] = state["count"].numpy()
        known = state["curves"].shape[1]
        self.curves[:, :known] = state["curves"].numpy()


class Tracker:
    """Follows the maps during training and keeps the running score.

    Parameters
    ----------
    inputs : Tensor, shape (sample, region, feature)
        All samples.
    score : RunningScore
        Where differences are added.
    scratch : Scratch
        Gives the place for one map per sample.
    """

    def __init__(self, inputs: Tensor, score: RunningScore, scratch: Scratch) -> None:
        n_samples, n_regions, _ = inputs.shape
        self._inputs = inputs
        self._maps = scratch.zeros("maps", (n_samples, n_regions, n_regions))
        self._seen = np.zeros(n_samples, dtype=bool)
        self.score = score

    def start(self, model: AttentionEncoder) -> None:
        """Look at the model before it is trained."""

    def after_batch(self, rows: NDArray[np.int64], maps: Tensor, epoch: int) -> None:
        """Look at the maps of a batch, computed before its update."""

    def after_epoch(self, model: AttentionEncoder, epoch: int) -> None:
        """Look at the model at the end of an epoch."""

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint keeps; the maps follow from the weights."""
        return self.score.state()

    def restore(self, state: Mapping[str, Tensor], model: AttentionEncoder) -> None:
        """Continue from :meth:`state` with the model of that moment."""
        self.score.restore(state)
        self.start(model)


class EveryEpoch(Tracker):
    """Compares the maps of all samples after every epoch with those of the epoch before."""

    def start(self, model: AttentionEncoder) -> None:
        """Take the maps of the model as it is now."""
        self._pass(model, None)

    def after_epoch(self, model: AttentionEncoder, epoch: int) -> None:
        """Compare the maps of all samples with those of the epoch before."""
        self._pass(model, epoch)

    def _pass(self, model: AttentionEncoder, epoch: int | None) -> None:
        device = model.output_weight.device
        compute = BlockMaps(model)

        def work(start: int) -> Tensor:
            rows = slice(start, start + BLOCK)
            new = compute(self._inputs[rows].to(device)).cpu()
            kept = self._maps[rows]
            norms: Tensor = torch.linalg.vector_norm(kept.sub_(new), dim=(1, 2))
            kept.copy_(new)
            return norms

        norms = torch.cat(model.crew.map(work, range(0, len(self._inputs), BLOCK)))
        if epoch is not None:
            self.score.add(slice(None), norms, epoch)


class LoggedMaps(Tracker):
    """Compares each drawn sample's map with the one of the last time it was drawn.

    This is what the published scripts do: maps come from the training batches, before
    their update, and gaps between two draws are of any length.
    """

    def after_batch(self, rows: NDArray[np.int64], maps: Tensor, epoch: int) -> None:
        """Compare the maps of the batch with the last ones of the same samples."""
        new = maps.detach().cpu()
        places = torch.from_numpy(rows)
        norms = torch.linalg.vector_norm(new - self._maps[places], dim=(1, 2))
        again = self._seen[rows]
        self.score.add(rows[again], norms[torch.from_numpy(again)], epoch)
        self._maps[places] = new
        self._seen[rows] = True

    def state(self) -> dict[str, Tensor]:
        """Return the sums, and the last maps, which no later weights can give again."""
        kept = {"maps": self._maps.clone(), "seen": torch.from_numpy(self._seen.copy())}
        return self.score.state() | kept

    def restore(self, state: Mapping[str, Tensor], model: AttentionEncoder) -> None:  # noqa: ARG002
        """Put the sums and the last maps back."""
        self.score.restore(state)
        self._maps.copy_(state["maps"])
        self._seen[:] = state["seen"].numpy()


def make_tracker(
    inputs: Tensor, settings: EncoderSettings, scratch: Scratch, *, keep_curves: bool
) -> Tracker:
    """Return the tracker that the settings ask for."""
    score = RunningScore(len(inputs), settings, keep_curves)
    kind = EveryEpoch if settings.tracking == "every-epoch" else LoggedMaps
    return kind(inputs, score, scratch)
