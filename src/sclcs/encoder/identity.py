"""What a training depends on: the identity of its place in the cache and of its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sclcs.core.identity import Identity

__all__ = ["CLASSIFIER_VERSION", "ENCODER_VERSION", "training_identity"]

#: Raised when the same settings would give other scores than before.
ENCODER_VERSION = 1
#: Raised when the same settings would give other dynamics than before.
CLASSIFIER_VERSION = 1

VERSIONS = {"encoder": ENCODER_VERSION, "classifier": CLASSIFIER_VERSION}


def training_identity(
    kind: str,
    fingerprint: str,
    settings: Mapping[str, Any],
    seed: int,
    **more: Any,  # noqa: ANN401
) -> Identity:
    """Return what two trainings must share to be the same.

    The device is no part of it: it decides last digits only.

    Parameters
    ----------
    kind : {"encoder", "classifier"}
        What is trained.
    fingerprint : str
        Of the cohort.
    settings : mapping
        Of the training; for a checkpoint, without what may change when it continues.
    seed : int
        Of the training.
    **more : object
        Further parameters, for example what is kept beside the scores.

    Returns
    -------
    Identity
    """
    return Identity(
        kind,
        inputs={"cohort": fingerprint},
        parameters={**settings, **more},
        versions={kind: VERSIONS[kind]},
        seeds={"training": seed},
    )
