from .classifier_training import ClassifierParameters, RepeatedParameters, train
from .encoder import encoder_settings, train_encoder, trained_encoder
from .encoder.train import VERSIONS
from .encoder.trained import TrainedEncoder
from .methods import SELECTORS, find_selector, select
from .perturbation import EncoderParameters, training_of
from .registry import Choice, Selector, core_size
from .scored import StablePool, draw_balanced, stable_pool

__all__ = [
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
