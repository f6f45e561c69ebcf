"""Cross-validated prediction: folds, kernel ridge regression, scores, harmonised features."""

from sclcs.benchmark.prediction.combat import Combat, Harmoniser, fit_combat
from sclcs.benchmark.prediction.cross_fit import Scorer, cross_fit
from sclcs.benchmark.prediction.ridge import PENALTIES, FoldRules, Predictor, make_folds
from sclcs.benchmark.prediction.scores import (
    area_under_curve,
    correlation,
    explained_variance,
)

__all__ = [
    "PENALTIES",
    "Combat",
    "FoldRules",
    "Harmoniser",
    "Predictor",
    "Scorer",
    "area_under_curve",
    "correlation",
    "cross_fit",
    "explained_variance",
    "fit_combat",
    "make_folds",
]
