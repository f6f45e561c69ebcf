"""Signals as the encoder takes them: standardised, samples in an order of their own."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.lengths import require_equal_lengths
from sclcs.cohort.signals import iterate_rows
from sclcs.core.errors import InputError, name_first
from sclcs.encoder.scratch import Scratch
from sclcs.encoder.settings import InputNorm

__all__ = ["prepare_inputs", "standardised"]

#: Keeps a nearly constant region from being blown up; relative to the sample's own variance,
#: so that the unit of the signals does not matter.
RELATIVE_EPSILON = 1e-5


def standardised(signals: NDArray[np.float32], norm: InputNorm) -> NDArray[np.float32]:
    """Give every region of every window mean 0 and variance 1 (or leave it, with ``none``)."""
    if norm == "none":
        return signals
    values = signals.astype(np.float64)
    values -= values.mean(axis=2, keepdims=True)
    variance = (values**2).mean(axis=2, keepdims=True)
    floor = RELATIVE_EPSILON * variance.mean(axis=1, keepdims=True)
    values /= np.sqrt(variance + np.where(floor > 0, floor, 1))
    return values.astype(np.float32)


def prepare_inputs(
    cohort: Cohort, order: NDArray[np.int64], norm: InputNorm, scratch: Scratch
) -> Tensor:
    """Read, check and standardise all signals.

    Parameters
    ----------
    cohort : Cohort
        What to read, block by block.
    order : array of int
        Row of the cohort that goes to each place of the result.
    norm : {"layernorm", "zscore", "none"}
        See :class:`~sclcs.encoder.settings.EncoderSettings`.
    scratch : Scratch
        Where the result is kept.

    Returns
    -------
    Tensor, shape (sample, region, time point + 1)
        The last feature is one: it carries every bias.
    """
    require_equal_lengths(cohort, "Training on signals")
    shape = (len(cohort), cohort.n_regions, cohort.n_timepoints + 1)
    inputs = scratch.zeros("inputs", shape)
    inputs[:, :, -1] = 1
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    start = 0
    for block in iterate_rows(cohort.signals):
        rows = slice(start, start + len(block))
        bad = np.flatnonzero(~np.isfinite(block).all(axis=(1, 2))) + start
        if len(bad):
            names = name_first(cohort.sample_ids[row] for row in bad)
            raise InputError(
                f"Signals must be finite, but these samples hold NaN or infinite values: {names}; "
                "leave them out or repair them."
            )
        inputs[torch.from_numpy(place[rows]), :, :-1] = torch.from_numpy(standardised(block, norm))
        start += len(block)
    return inputs
