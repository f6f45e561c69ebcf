"""Maps of chosen samples from kept weights."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.encoder.inputs import prepare_inputs
from sclcs.encoder.model import AttentionEncoder
from sclcs.encoder.scratch import Scratch
from sclcs.encoder.settings import EncoderSettings

__all__ = ["maps_of"]


def maps_of(
    cohort: Cohort, settings: EncoderSettings, weights: Mapping[str, NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Return the attention maps (sample, region, region) of a cohort's samples."""
    model = AttentionEncoder(settings, cohort.n_timepoints, seed=0)
    model.restore(weights)
    with Scratch() as scratch:
        inputs = prepare_inputs(cohort, np.arange(len(cohort)), settings.input_norm, scratch)
        with torch.no_grad():
            _, maps = model(inputs)
    return np.asarray(maps.numpy())
