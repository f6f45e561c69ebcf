"""The contrastive attention encoder and the structural perturbation score.

torch is imported when training starts, never by importing this package.
"""

from sclcs.encoder.cache import trained_run
from sclcs.encoder.run import EncoderRun
from sclcs.encoder.settings import PRESETS, EncoderSettings, encoder_settings
from sclcs.encoder.train import train_encoder

__all__ = [
    "PRESETS",
    "EncoderRun",
    "EncoderSettings",
    "encoder_settings",
    "train_encoder",
    "trained_run",
]
