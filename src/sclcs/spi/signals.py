"""Check the signals and bring them into the form that families expect."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sclcs._core import InputError, child_seed, name_first, real_numbers
from sclcs.spi.numerics.compiling import Array

__all__ = ["StandardSignals", "check_signals", "sample_seeds", "signal_numbers", "standardise"]

MINIMUM_REGIONS = 2
MINIMUM_TIMES = 2
# A region whose spread is a few units of rounding of its level holds no signal.
CONSTANT_ULPS = 8
ORDINARY_EXPONENT = 64  # of the largest value of a region, base 2


@dataclass(frozen=True)
class StandardSignals:
    """Z-scored signals and which regions can be used.

    Parameters
    ----------
    values : array, shape (sample, region, time)
        Mean 0 and variance 1 (divisor T - 1) along time; 0 in constant regions.
    usable : array of bool, shape (sample, region)
        False for constant regions.
    scales : array, shape (sample, region)
        The standard deviations that were divided by; 1 in constant regions.
    """

    values: Array
    usable: NDArray[np.bool_]
    scales: Array

    @cached_property
    def constant_regions(self) -> list[list[int]]:
        """The constant regions of each sample."""
        return [np.flatnonzero(~row).tolist() for row in self.usable]


def check_signals(signals: ArrayLike) -> Array:
    """Return the signals as a float64 batch, or say what is wrong with them.

    Parameters
    ----------
    signals : array_like, shape (sample, region, time) or (region, time)
        Real numbers.

    Returns
    -------
    array, shape (sample, region, time)

    Raises
    ------
    InputError
        On a wrong number of dimensions, fewer than two regions or time points,
        values that are not real numbers, NaN or infinite values.
    """
    array = signal_numbers(signals)
    if array.ndim not in {2, 3}:
        raise InputError(
            "Signals must have the axes (sample, region, time) or (region, time), "
            f"but their shape is {array.shape}."
        )
    array = array if array.ndim == 3 else array[None]
    batch = np.ascontiguousarray(array, dtype=np.float64)
    n_samples, n_regions, n_times = batch.shape
    if n_samples == 0:
        raise InputError("Signals hold no sample.")
    if n_regions < MINIMUM_REGIONS or n_times < MINIMUM_TIMES:
        raise InputError(
            f"Signals need at least {MINIMUM_REGIONS} regions and {MINIMUM_TIMES} time points, "
            f"but have {n_regions} regions x {n_times} time points; the time axis is the last."
        )
    finite = np.isfinite(batch).all(axis=(1, 2))
    if not finite.all():
        raise InputError(
            "Signals must be finite, but these samples hold NaN or infinite values: "
            f"{name_first(np.flatnonzero(~finite))}. Repair or leave out their regions or samples."
        )
    return batch


def signal_numbers(signals: object) -> NDArray[Any]:
    """Return signals as one array of real numbers, or say why they are none."""
    if isinstance(signals, list | tuple):
        shapes = {np.shape(sample) for sample in signals if hasattr(sample, "__array__")}
        if len(shapes) > 1:
            raise InputError(
                "Signals must be one array (sample, region, time), but the samples differ in "
                "shape; cut them to one length, or give data frames, whose lengths may differ."
            )
    return real_numbers(signals, "signals as one array (sample, region, time)")


def standardise(batch: Array) -> StandardSignals:
    """Z-score every region along time, with divisor T - 1.

    Parameters
    ----------
    batch : array, shape (sample, region, time)
        Finite.

    Returns
    -------
    StandardSignals
    """
    highest, lowest = batch.max(axis=-1, keepdims=True), batch.min(axis=-1, keepdims=True)
    _, exponent = np.frexp(np.maximum(np.abs(highest), np.abs(lowest)))
    exponents = None
    # Powers of two are exact: the squares of huge or tiny signals neither overflow nor vanish,
    # and ordinary signals give the same bits without them.
    if np.abs(exponent).max(initial=0) > ORDINARY_EXPONENT:
        batch, exponents = np.ldexp(batch, -exponent), exponent
    spread = np.ldexp(highest, -exponent) - np.ldexp(lowest, -exponent)
    usable = spread > CONSTANT_ULPS * np.finfo(np.float64).eps
    values = batch - batch.mean(axis=-1, keepdims=True)
    squares = (values * values).sum(axis=-1, keepdims=True)
    scales = np.where(usable, np.sqrt(squares / (batch.shape[-1] - 1)), 1.0)
    values /= scales
    # Huge or tiny signals were brought to order by powers of two that differ between regions.
    with np.errstate(over="ignore", under="ignore"):
        scales = scales if exponents is None else np.ldexp(scales, exponents)
    if not usable.all():
        values[~usable[..., 0]] = 0.0
    return StandardSignals(values=values, usable=usable[..., 0], scales=scales[..., 0])


def sample_seeds(batch: Array, seed: int) -> NDArray[np.uint64]:
    """Return one seed per sample, made of its content: its name and place do not matter.

    Parameters
    ----------
    batch : array, shape (sample, region, time)
        The signals.
    seed : int
        The user's seed.

    Returns
    -------
    array of uint64, shape (sample,)
    """
    keys = [hashlib.sha256(sample.tobytes()).hexdigest() for sample in batch]
    return np.array([child_seed(seed, "spi", key) for key in keys], dtype=np.uint64)
