from .classifier import ClassifierParameters, RepeatedParameters, train
from .encoder import PRESETS, TrainedEncoder, encoder_settings, train_encoder, trained_encoder
from .methods import SELECTORS, find_selector, select
from .perturbation import EncoderParameters, training_of
from .registry import Choice, Selector, core_size
from .scored import StablePool, draw_balanced, stable_pool
from .training import VERSIONS

__all__ = [
    "PRESETS",
    "SELECTORS",
    "VERSIONS",
    "Choice",
    "ClassifierParameters",
    "EncoderParameters",
    "RepeatedParameters",
    "Selector",
    "StablePool",
    "TrainedEncoder",
    "core_size",
    "draw_balanced",
    "encoder_settings",
    "find_selector",
    "select",
    "stable_pool",
    "train",
    "train_encoder",
    "trained_encoder",
    "training_of",
]
