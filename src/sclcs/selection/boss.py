"""BOSS: represent all samples by similar ones of a suitable difficulty."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.sample_order import id_order
from sclcs.core.errors import InputError
from sclcs.core.settings import setting
from sclcs.encoder.classifier.trained import TrainedClassifier
from sclcs.selection.classifier_training import (
    ClassifierParameters,
    settings_of,
    train,
    training_facts,
)
from sclcs.selection.dynamics import Margin, margins
from sclcs.selection.dynamics_scores import area_under_margin, early_error, fitting_epochs
from sclcs.selection.facility_location import lazy_greedy
from sclcs.selection.registry import Choice, Selector, register
from sclcs.selection.sample_order import chances
from sclcs.selection.strata import hardest_share, without_hardest

__all__ = [
    "BOSS",
    "benefit_matrix",
    "class_budgets",
    "difficulty_weights",
    "size_aware_shape",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

USUAL_ERROR_EPOCHS = 6
LARGEST_KERNEL = 30_000  # samples; 3.6 GB in single precision


def size_aware_shape(
    ratio: float, asked: tuple[float | None, float | None] = (None, None)
) -> tuple[float, float]:
    """Return the Beta density whose favoured difficulty is the share of samples that is kept.

    The method's paper asks for easier samples in smaller subsets; its released code leaves the
    parameters to the user, with (2, 2) as an example. Of the same concentration, the density
    here has its mode at the ratio, and is (2, 2) for one half.

    Parameters
    ----------
    ratio : float
        Share of the samples in the core-set.
    asked : (float or None, float or None)
        The user's choice, of one or both.

    Returns
    -------
    (float, float)

    Examples
    --------
    >>> [size_aware_shape(ratio) for ratio in (0.1, 0.5)]
    [(1.2, 2.8), (2.0, 2.0)]
    """
    first, second = asked
    return (1 + 2 * ratio if first is None else first, 3 - 2 * ratio if second is None else second)


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


class BossParameters(ClassifierParameters):
    """Parameters of ``boss``."""

    beta_a: float | None = setting(
        "first parameter of the Beta density of difficulty; by the size if not given", None, gt=0
    )
    beta_b: float | None = setting(
        "second parameter; larger favours easier samples; by the size if not given", None, gt=0
    )
    cutoff: float | None = setting(
        "share of the hardest samples to discard; 0.3, 0.1 or 0 by ratio", None, ge=0, lt=1
    )
    classwise: Literal["auto"] | bool = setting(
        "choose inside classes: true, false, or auto (if each gets 2 samples)", "auto"
    )
    ties: Literal["chance", "id"] = setting(
        "equal gains, often zero ones: at random (chance) or in order of ids (id)", "chance"
    )
    error_epochs: int | None = setting(
        "first epochs whose errors are summed; 6, or all if there are fewer", None
    )
    aum_on: Margin = setting(
        "hardness from margins of probabilities (prob) or of logits (logit)", "prob"
    )
    feature_epoch: int | None = setting(
        "epoch of the features that are compared; 10, or the last", None
    )


def _groups(
    trained: TrainedClassifier, order: Integers, size: int, classwise: bool | str
) -> list[tuple[Integers, int]]:
    """Return the rows of each pool and how many to choose from it."""
    counts = np.bincount(trained.classes)
    budgets = class_budgets(counts, size) if classwise is not False else None
    if budgets is None:
        if classwise is True:
            raise InputError(
                f"classwise=True needs at least 2 samples per class, but {size} samples are shared "
                f"by {len(counts)} classes; raise the ratio or use classwise=auto."
            )
        return [(order, size)]
    classes = trained.classes[order]
    return [(order[classes == number], int(n)) for number, n in enumerate(budgets)]


def _choose(cohort: Cohort, size: int, seed: int, parameters: BossParameters) -> Choice:
    shape = size_aware_shape(size / len(cohort), (parameters.beta_a, parameters.beta_b))
    share = hardest_share(parameters.cutoff, size, len(cohort))
    epochs = settings_of(parameters).epochs
    used = fitting_epochs(parameters.error_epochs, USUAL_ERROR_EPOCHS, epochs, "error_epochs")
    trained = train(cohort, seed, parameters)
    easiness = area_under_margin(margins(trained, parameters.aum_on))
    errors = early_error(trained.error_norm, used)
    ties = chances(seed, "ties", cohort.sample_ids)
    # Many gains may be zero; ids in their order would then fill up with the first sites.
    order = np.argsort(ties) if parameters.ties == "chance" else id_order(cohort.sample_ids)
    groups = _groups(trained, order, size, parameters.classwise)
    chosen, n_without_gain = [], 0
    for rows, budget in groups:
        # A small class must keep enough candidates for its budget.
        allowed = min(share, 1 - budget / len(rows))
        pool = rows[without_hardest(easiness[rows], allowed, ties[rows])]
        _require_memory(len(pool))
        benefit = benefit_matrix(trained.features[pool], difficulty_weights(errors[pool], shape))
        places, gains = lazy_greedy(benefit, budget)
        chosen.append(pool[places])
        n_without_gain += int((gains <= 0).sum())
    facts = {
        "cutoff_used": share,
        "beta_used": list(shape),
        "pools": len(groups),
        "samples_without_gain": n_without_gain,
        "error_epochs_used": [0, used - 1],
        "feature_epoch_used": trained.settings.kept_feature_epoch,
        **training_facts(trained),
    }
    return Choice(np.concatenate(chosen), errors, facts=facts)


def _require_memory(n_candidates: int) -> None:
    if n_candidates > LARGEST_KERNEL:
        raise InputError(
            f"BOSS compares all pairs of candidates, at most {LARGEST_KERNEL} of them, but there "
            f"are {n_candidates}; choose a task with fewer samples per class, or another method."
        )


BOSS = register(
    Selector(
        name="boss",
        summary="Samples that represent all others best; easier ones in smaller core-sets.",
        reference=(
            "Acharya et al., Balancing feature similarity and label variability for optimal "
            "size-aware one-shot subset selection (ICML 2024)"
        ),
        choose=_choose,
        version=2,
        parameters=BossParameters,
        needs_labels=True,
        network="classifier",
        needs_training=True,
        nested=False,
    )
)
