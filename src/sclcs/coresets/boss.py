"""CCS and BOSS: the hardest samples are discarded, the rest is covered."""

from __future__ import annotations

import heapq
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError, setting
from sclcs.cohort import Cohort, id_order
from sclcs.coresets.classifier import (
    ClassifierParameters,
    TrainedClassifier,
    settings_of,
    train,
    training_info,
)
from sclcs.coresets.designs import chances
from sclcs.coresets.dynamics import Margin, area_under_margin, early_error, fitting_epochs, margins
from sclcs.coresets.registry import Choice, Selector, register

Matrix = NDArray[np.float32]


def lazy_greedy(benefit: Matrix, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Choose candidates one by one, each time the one that adds most.

    A candidate's gain can only fall as others are chosen, so an old gain is an upper bound:
    gains are computed again only for candidates whose old gain is the highest.

    `benefit` (candidate, sample), not negative, is what choosing a candidate does for a sample.

    Returns
    -------
    chosen : array of int
        In the order of choice; ties go to the lowest number.
    gains : array of float
        What each added, never increasing.
    """
    covered = np.zeros(benefit.shape[1], dtype=benefit.dtype)
    heap = [(-float(total), row) for row, total in enumerate(benefit.sum(axis=1, dtype=np.float64))]
    heapq.heapify(heap)
    chosen: list[int] = []
    gains: list[float] = []
    gain = np.empty_like(covered)
    while len(chosen) < size:
        _, row = heap[0]
        np.subtract(benefit[row], covered, out=gain)
        np.maximum(gain, 0, out=gain)
        renewed = (-float(gain.sum(dtype=np.float64)), row)
        heapq.heapreplace(heap, renewed)
        if heap[0] == renewed:  # still the best, also against the others' upper bounds
            heapq.heappop(heap)
            chosen.append(row)
            gains.append(-renewed[0])
            np.maximum(covered, benefit[row], out=covered)
    return np.array(chosen, dtype=np.int64), np.array(gains)


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def hardest_share(asked: float | None, size: int, n_samples: int) -> float:
    """Return the share of the hardest samples to discard: what is asked, or by the size.

    By default what CCS published for CIFAR-10: 0.3 for core-sets below 20 % of the samples, 0.1
    below 50 %, else 0.

    Examples
    --------
    >>> [hardest_share(None, size, 4520) for size in (452, 1356, 2260)]
    [0.3, 0.1, 0.0]
    """
    if asked is None:
        # The size was rounded down, so the ratio may be anything below the next size's.
        below = (size + 1) / n_samples
        return 0.3 if below <= 0.2 else 0.1 if below <= 0.5 else 0.0
    left = n_samples - int(asked * n_samples)
    if left < size:
        raise InputError(
            f"The core-set needs {size} samples, but cutoff={asked:g} leaves {left} of "
            f"{n_samples}; lower the ratio or the cutoff."
        )
    return asked


def without_hardest(easiness: Floats, share: float, ties: Floats) -> Integers:
    """Return the rows that are left, in order, when the hardest are discarded."""
    order = np.lexsort((ties, easiness))
    return np.sort(order[int(share * len(easiness)) :]).astype(np.int64)


def stratum_numbers(scores: Floats, n_strata: int) -> Integers:
    """Put scores into bins of equal width; the highest score is in the last bin.

    (The published code ends the last bin at 1.0001 times the maximum, which leaves the top
    sample out where scores are negative.)
    """
    low, high = scores.min(), scores.max()
    if high == low:
        return np.zeros(len(scores), dtype=np.int64)
    numbers = np.floor((scores - low) / (high - low) * n_strata).astype(np.int64)
    return np.asarray(np.minimum(numbers, n_strata - 1))


def allocate(counts: Integers, size: int) -> Integers:
    """Share a budget among strata: evenly, but never more than a stratum holds.

    Examples
    --------
    >>> allocate(np.array([10, 0, 2, 30]), 20).tolist()
    [9, 0, 2, 9]
    """
    given = np.zeros(len(counts), dtype=np.int64)
    left = size
    for done, stratum in enumerate(np.argsort(counts, kind="stable")):
        given[stratum] = min(int(counts[stratum]), left // (len(counts) - done))
        left -= int(given[stratum])
    return given


class StrataParameters(ClassifierParameters):
    """Parameters of ``ccs``."""

    cutoff: float | None = setting(
        "share of the hardest samples to discard; 0.3, 0.1 or 0 by ratio", None, ge=0, lt=1
    )
    n_strata: int = setting("levels of difficulty", 50, ge=1)
    aum_on: Margin = setting(
        "difficulty from margins of probabilities (prob) or of logits (logit)", "prob"
    )


def _choose(cohort: Cohort, size: int, seed: int, parameters: StrataParameters) -> Choice:
    n_strata = parameters.n_strata
    share = hardest_share(parameters.cutoff, size, len(cohort))
    trained = train(cohort, seed, parameters)
    scores = area_under_margin(margins(trained, parameters.aum_on))
    rows = without_hardest(scores, share, chances(seed, "ties", cohort.sample_ids))
    strata = stratum_numbers(scores[rows], n_strata)
    quota = allocate(np.bincount(strata, minlength=n_strata), size)
    random = chances(seed, "strata", cohort.sample_ids)[rows]
    drawn = np.lexsort((random, strata))  # strata one after the other, at random inside
    starts = np.searchsorted(strata[drawn], np.arange(n_strata))
    chosen = [drawn[start : start + n] for start, n in zip(starts, quota, strict=True)]
    info = {
        "cutoff_used": share,
        "strata_filled": int((quota > 0).sum()),
        **training_info(trained),
    }
    return Choice(rows[np.concatenate(chosen)], scores, info=info)


register(
    Selector(
        name="ccs",
        summary="Equal shares of every level of difficulty, after discarding the hardest samples.",
        reference="Zheng et al., Coverage-centric coreset selection (ICLR 2023)",
        choose=_choose,
        parameters=StrataParameters,
        direction="none",
        needs_labels=True,
        network="classifier",
        needs_training=True,
    )
)


USUAL_ERROR_EPOCHS = 6
LARGEST_KERNEL = 30_000  # samples; 3.6 GB in single precision


def size_aware_shape(
    ratio: float, asked: tuple[float | None, float | None] = (None, None)
) -> tuple[float, float]:
    """Return the Beta density whose favoured difficulty is the share of samples that is kept.

    The method's paper asks for easier samples in smaller subsets; its released code leaves the
    parameters to the user, with (2, 2) as an example. Of the same concentration, the density
    here has its mode at the ratio, and is (2, 2) for one half.

    Examples
    --------
    >>> [size_aware_shape(ratio) for ratio in (0.1, 0.5)]
    [(1.2, 2.8), (2.0, 2.0)]
    """
    first, second = asked
    return (1 + 2 * ratio if first is None else first, 3 - 2 * ratio if second is None else second)


def difficulty_weights(errors: Floats, shape: tuple[float, float]) -> Floats:
    """Weigh candidates by the Beta density of their early error, scaled to [0, 1]."""
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


def _boss_choose(cohort: Cohort, size: int, seed: int, parameters: BossParameters) -> Choice:
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
        found, gains = lazy_greedy(benefit, budget)
        chosen.append(pool[found])
        n_without_gain += int((gains <= 0).sum())
    info = {
        "cutoff_used": share,
        "beta_used": list(shape),
        "pools": len(groups),
        "samples_without_gain": n_without_gain,
        "error_epochs_used": [0, used - 1],
        "feature_epoch_used": trained.settings.kept_feature_epoch,
        **training_info(trained),
    }
    return Choice(np.concatenate(chosen), errors, info=info)


def _require_memory(n_candidates: int) -> None:
    if n_candidates > LARGEST_KERNEL:
        raise InputError(
            f"BOSS compares all pairs of candidates, at most {LARGEST_KERNEL} of them, but there "
            f"are {n_candidates}; choose a task with fewer samples per class, or another method."
        )


register(
    Selector(
        name="boss",
        summary="Samples that represent all others best; easier ones in smaller core-sets.",
        reference=(
            "Acharya et al., Balancing feature similarity and label variability for optimal "
            "size-aware one-shot subset selection (ICML 2024)"
        ),
        choose=_boss_choose,
        version=2,
        parameters=BossParameters,
        needs_labels=True,
        network="classifier",
        needs_training=True,
    )
)
