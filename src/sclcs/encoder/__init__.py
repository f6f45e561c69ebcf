"""The contrastive attention encoder and the structural perturbation score.

torch is imported when training starts, never by importing this package.
"""

from sclcs.encoder.cache import trained_encoder
from sclcs.encoder.grid import grid_search
from sclcs.encoder.settings import PRESETS, EncoderSettings, encoder_settings
from sclcs.encoder.train import train_encoder
from sclcs.encoder.trained import TrainedEncoder

__all__ = [
    "PRESETS",
    "EncoderSettings",
    "TrainedEncoder",
    "encoder_settings",
    "grid_search",
    "train_encoder",
    "trained_encoder",
]
