"""BOSS: represent all samples by similar ones of a suitable difficulty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError
from sclcs.encoder.classifier.run import ClassifierRun
from sclcs.selection.classifier_training import (
    TRAINING,
    TRAINING_HELP,
    run_facts,
    settings_of,
    train,
)
from sclcs.selection.dynamics import margins
from sclcs.selection.dynamics_scores import area_under_margin, early_error, fitting_epochs
from sclcs.selection.facility_location import lazy_greedy
from sclcs.selection.registry import Choice, Selector, register
from sclcs.selection.sample_order import chances, id_order
from sclcs.selection.strata import hardest_share, without_hardest

__all__ = ["BOSS", "benefit_matrix", "class_budgets", "difficulty_weights"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

USUAL_ERROR_EPOCHS = 6
LARGEST_KERNEL = 30_000  # samples; 3.6 GB in single precision


def difficulty_weights(errors: Floats, shape: tuple[float, float]) -> Floats:
    """Weigh candidates by the Beta density of their difficulty, scaled to [0, 1].

    Parameters
    ----------
    errors : array of float
        Early error of each candidate.
    shape : (float, float)
        Parameters of the Beta density; (2, 2) favours medium difficulty.

    Returns
    -------
    array of float
        All one if the errors do not vary.
    """
    from scipy.stats import beta

    low, high = errors.min(), errors.max()
    if high == low:
        return np.ones(len(errors))
    # A parameter below one makes the density infinite at the ends.
    scaled = np.clip((errors - low) / (high - low), 1e-3, 1 - 1e-3)
    return np.asarray(beta.pdf(scaled, *shape), dtype=np.float64)


def benefit_matrix(features: NDArray[np.float32], weights: Floats) -> NDArray[np.float32]:
    """Return what each candidate does for each sample: weighted similarity (candidate, sample)."""
    values = features.astype(np.float32)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    units = np.divide(values, norms, out=np.zeros_like(values), where=norms > 0)
    similarity: NDArray[np.float32] = units @ units.T  # 0 for a feature vector of zeros
    similarity *= 0.5
    similarity += 0.5
    np.clip(similarity, 0, 1, out=similarity)
    similarity *= weights.astype(np.float32)[:, None]
    return similarity


def class_budgets(counts: Integers, size: int) -> Integers | None:
    """Share the budget among classes in proportion, by largest remainder.

    Returns None if a class would get fewer than two samples, so that choosing inside classes
    makes no sense.
    """
    exact = counts * (size / counts.sum())
    budgets = np.floor(exact).astype(np.int64)
    remainder_first = np.argsort(budgets - exact, kind="stable")
    budgets[remainder_first[: size - int(budgets.sum())]] += 1
    return budgets if budgets.min() >= 2 else None


def _groups(
    run: ClassifierRun, order: Integers, size: int, classwise: bool | str
) -> list[tuple[Integers, int]]:
    """Return the rows of each pool and how many to choose from it."""
    if classwise not in ("auto", True, False):
        raise InputError(f"Expected classwise to be auto, true or false, got {classwise!r}.")
    counts = np.bincount(run.classes)
    budgets = class_budgets(counts, size) if classwise is not False else None
    if budgets is None:
        if classwise is True:
            raise InputError(
                f"classwise=True needs at least 2 samples per class, but {size} samples are shared "
                f"by {len(counts)} classes; raise the ratio or use classwise=auto."
            )
        return [(order, size)]
    classes = run.classes[order]
    return [(order[classes == number], int(n)) for number, n in enumerate(budgets)]


def _choose(cohort: Cohort, size: int, seed: int, **parameters: Any) -> Choice:  # noqa: ANN401
    shape = _checked_shape(parameters)
    share = hardest_share(parameters["cutoff"], size, len(cohort))
    used = fitting_epochs(
        parameters["error_epochs"],
        USUAL_ERROR_EPOCHS,
        settings_of(parameters).epochs,
        "error_epochs",
    )
    run = train(cohort, seed, parameters)
    easiness = area_under_margin(margins(run, parameters["aum_on"]))
    errors = early_error(run.error_norm, used)
    ties = chances(seed, "ties", cohort.sample_ids)
    groups = _groups(run, id_order(cohort), size, parameters["classwise"])
    chosen = []
    for rows, budget in groups:
        # A small class must keep enough candidates for its budget.
        allowed = min(share, 1 - budget / len(rows))
        pool = rows[without_hardest(easiness[rows], allowed, ties[rows])]
        _require_memory(len(pool))
        benefit = benefit_matrix(run.features[pool], difficulty_weights(errors[pool], shape))
        chosen.append(pool[lazy_greedy(benefit, budget)[0]])
    facts = {
        "cutoff_used": share,
        "pools": len(groups),
        "error_epochs_used": [0, used - 1],
        "feature_epoch_used": run.settings.kept_feature_epoch,
        **run_facts(run),
    }
    return Choice(np.concatenate(chosen), errors, facts=facts)


def _checked_shape(parameters: Mapping[str, Any]) -> tuple[float, float]:
    shape = (parameters["beta_a"], parameters["beta_b"])
    if any(isinstance(value, bool | str) or not value > 0 for value in shape):
        raise InputError(f"Expected beta_a and beta_b above 0 (a Beta density), got {shape}.")
    return shape


def _require_memory(n_candidates: int) -> None:
    if n_candidates > LARGEST_KERNEL:
        raise InputError(
            f"BOSS compares all pairs of candidates, at most {LARGEST_KERNEL} of them, but there "
            f"are {n_candidates}; choose a task with fewer samples per class, or another method."
        )


BOSS = register(
    Selector(
        name="boss",
        summary="Samples that represent all others best, weighted towards medium difficulty.",
        reference=(
            "Acharya et al., Balancing feature similarity and label variability for optimal "
            "size-aware one-shot subset selection (ICML 2024)"
        ),
        choose=_choose,
        parameters={
            "beta_a": 2.0,
            "beta_b": 2.0,
            "cutoff": None,
            "classwise": "auto",
            "error_epochs": None,
            "aum_on": "prob",
            "feature_epoch": None,
            **TRAINING,
        },
        parameter_help={
            "beta_a": "first parameter of the Beta density of difficulty",
            "beta_b": "second parameter; larger favours easier samples",
            "cutoff": "share of the hardest samples to discard; 0.3, 0.1 or 0 by ratio",
            "classwise": "choose inside classes: true, false, or auto (if each gets 2 samples)",
            "error_epochs": "first epochs whose errors are summed; 6, or all if there are fewer",
            "aum_on": "hardness from margins of probabilities (prob) or of logits (logit)",
            "feature_epoch": "epoch of the features that are compared; 10, or the last",
            **TRAINING_HELP,
        },
        needs_labels=True,
        needs_training=True,
        nested=False,
    )
)
