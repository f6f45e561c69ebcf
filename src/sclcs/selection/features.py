"""Numbers that describe a sample, for methods that compare samples."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.lengths import iterate_samples, require_equal_lengths
from sclcs.core.errors import InputError
from sclcs.core.settings import setting
from sclcs.selection.classifier_training import ClassifierParameters, train, training_facts

__all__ = ["FeatureParameters", "sample_features"]


class FeatureParameters(ClassifierParameters):
    """Parameters of every method that compares samples."""

    features: Literal["fc", "raw", "penultimate"] = setting(
        "compare correlation matrices (fc), standardised signals (raw) or features of the "
        "trained classifier (penultimate; the parameters of training matter only then)",
        "fc",
    )


LARGEST_CORRELATION = 1 - 1e-6  # two equal regions would be infinitely far from all others


def sample_features(
    cohort: Cohort, seed: int, parameters: FeatureParameters
) -> tuple[NDArray[np.float32], dict[str, Any]]:
    """Return the features of all samples, and facts to record.

    Parameters
    ----------
    cohort : Cohort
        What to describe.
    seed : int
        Of the training, if there is one.
    parameters : FeatureParameters

    Returns
    -------
    features : array, shape (sample, feature)
    facts : dict
    """
    kind = parameters.features
    if kind == "penultimate":
        trained = train(cohort, seed, parameters)
        return trained.features, training_facts(trained)
    describe = _correlations if kind == "fc" else _flat
    if kind == "fc" and cohort.n_regions < 2:
        raise InputError("Correlation matrices need at least 2 regions; use features=raw.")
    if kind == "raw":
        require_equal_lengths(cohort, "Comparing signals (features=raw)")
    described = [
        (rows, describe(_standardised(block)))
        for rows, block in iterate_samples(cohort.signals, cohort.lengths)
    ]
    features = np.concatenate([block for _, block in described]).astype(np.float32)
    return features[np.argsort(np.concatenate([rows for rows, _ in described]))], {}


def _standardised(signals: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give each region mean 0 and norm 1 over time; a constant region stays 0."""
    values = signals.astype(np.float64)
    values -= values.mean(axis=2, keepdims=True)
    norms = np.linalg.norm(values, axis=2, keepdims=True)
    return np.asarray(np.divide(values, norms, out=np.zeros_like(values), where=norms > 0))


def _correlations(units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Fisher-z of the upper triangle of the correlation matrix."""
    rows, columns = np.triu_indices(units.shape[1], k=1)
    matrices = units @ units.transpose(0, 2, 1)
    pairs = matrices[:, rows, columns]
    return np.asarray(np.arctanh(np.clip(pairs, -LARGEST_CORRELATION, LARGEST_CORRELATION)))


def _flat(units: NDArray[np.float64]) -> NDArray[np.float64]:
    return units.reshape(len(units), -1)
