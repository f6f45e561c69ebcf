"""Large working arrays: in memory while they fit the budget, else on disk."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType

import numpy as np
import torch
from torch import Tensor

__all__ = ["Scratch"]

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
