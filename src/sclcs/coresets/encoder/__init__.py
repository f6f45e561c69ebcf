"""The contrastive attention encoder and the structural perturbation score.

torch is imported when training starts, never by importing this package.
"""

from sclcs.coresets.encoder.settings import PRESETS, EncoderSettings, encoder_settings
from sclcs.coresets.encoder.train import train_encoder, trained_encoder
from sclcs.coresets.encoder.trained import TrainedEncoder

__all__ = [
    "PRESETS",
    "EncoderSettings",
    "TrainedEncoder",
    "encoder_settings",
    "train_encoder",
    "trained_encoder",
]
