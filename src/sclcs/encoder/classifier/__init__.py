"""A compact residual network that learns a label, and how each sample fared while it did.

torch is imported when training starts, never by importing this package.
"""

from sclcs.encoder.classifier.cache import trained_classifier
from sclcs.encoder.classifier.run import ClassifierRun
from sclcs.encoder.classifier.settings import ClassifierSettings
from sclcs.encoder.classifier.train import train_classifier

__all__ = ["ClassifierRun", "ClassifierSettings", "train_classifier", "trained_classifier"]
