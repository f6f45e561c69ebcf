"""A compact residual network that learns a label, and how each sample fared while it did.

torch is imported when training starts, never by importing this package.
"""

from sclcs.encoder.classifier.cache import trained_classifier
from sclcs.encoder.classifier.settings import ClassifierSettings
from sclcs.encoder.classifier.train import train_classifier
from sclcs.encoder.classifier.trained import TrainedClassifier

__all__ = ["ClassifierSettings", "TrainedClassifier", "train_classifier", "trained_classifier"]
