"""Statistics by which real and simulated cohorts are compared.

All of them see plain arrays, so that real and simulated data go through the same lines.
Connectivity is the Pearson correlation in Fisher's z, one vector of region pairs per sample.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sclcs.cohort.cohort import Cohort
from sclcs.cohort.simulate import simulate_cohort
from sclcs.cohort.simulated_signals import Effects

__all__ = [
    "calibration",
    "connectivity",
    "decodability",
    "identification_rate",
    "lag_one_autocorrelation",
    "measure_scans",
    "measure_simulated_scans",
    "measure_simulated_windows",
    "measure_windows",
]


Floats = NDArray[np.float64]

# With standardised connectivity of 33 regions this ridge reproduces the numbers of the real
# cohort's README: diagnosis 0.60 and site 0.24 balanced accuracy. It is heavy because a
# cohort has fewer subjects than region pairs.
_RIDGE = 1000.0
_FOLDS = 5
_REPEATS = 3
_HIGHEST_CORRELATION = 1 - 1e-6


def lag_one_autocorrelation(signals: ArrayLike) -> float:
    """Return the mean lag-1 autocorrelation over all regions (and samples).

    Parameters
    ----------
    signals : array-like, shape (..., region, time)
        One scan or many samples.
    """
    centred = _centred(signals)
    products = np.sum(centred[..., 1:] * centred[..., :-1], axis=-1)
    return float(np.mean(products / np.sum(centred**2, axis=-1)))


def connectivity(signals: ArrayLike) -> Floats:
    """Return the Fisher-z correlations of all pairs of regions.

    Parameters
    ----------
    signals : array-like, shape (..., region, time)
        One scan or many samples.

    Returns
    -------
    ndarray, shape (..., pair)
        In the order of the upper triangle.
    """
    centred = _centred(signals)
    centred /= np.linalg.norm(centred, axis=-1, keepdims=True)
    correlation = centred @ np.swapaxes(centred, -1, -2)
    rows, columns = np.triu_indices(correlation.shape[-1], 1)
    pairs = correlation[..., rows, columns]
    return np.asarray(np.arctanh(np.clip(pairs, -_HIGHEST_CORRELATION, _HIGHEST_CORRELATION)))


def identification_rate(first: Floats, second: Floats) -> float:
    """Return how often a subject is found again by its connectivity.

    Parameters
    ----------
    first, second : ndarray, shape (subject, pair)
        Connectivity of the same subjects at two times.

    Returns
    -------
    float
        Share of subjects whose most similar (Pearson) row of the other time is their own,
        averaged over both directions (Finn et al. 2015).
    """
    similarity = _unit_rows(first) @ _unit_rows(second).T
    own = np.arange(len(similarity))
    forth = np.mean(similarity.argmax(axis=1) == own)
    back = np.mean(similarity.argmax(axis=0) == own)
    return float((forth + back) / 2)


def decodability(features: Floats, labels: Sequence[str], seed: int = 0) -> float:
    """Return the cross-validated balanced accuracy of a linear classifier.

    Parameters
    ----------
    features : ndarray, shape (subject, pair)
        One row per subject, so that no subject is in training and test.
    labels : sequence of str
        The class of each subject.
    seed : int
        For the folds.

    Returns
    -------
    float
        Mean over three repeats of 5-fold cross-validation, stratified by label.
    """
    from sklearn.linear_model import RidgeClassifier
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), RidgeClassifier(_RIDGE))
    truth = np.asarray(labels)
    scores = []
    for repeat in range(_REPEATS):
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed + repeat)
        predicted = cross_val_predict(model, features, truth, cv=folds)
        scores.append(balanced_accuracy_score(truth, predicted))
    return float(np.mean(scores))


def measure_windows(cohort: Cohort) -> dict[str, float]:
    """Measure a cohort whose subjects have one scan, cut into the same windows.

    Returns
    -------
    dict of str to float
        `lag_one`; `mean_connectivity` (Fisher z) and its `spread_over_pairs` (of the mean
        over samples), `spread_over_subjects` (of a subject's mean over pairs); Spearman
        similarity of connectivity `within` a subject (all window pairs), within it
        for the windows that do not overlap (`within_apart`), for the first and
        the last (`within_far`), and `between` subjects; `identification` of the last
        window by the first.
    """
    signals = np.asarray(cohort.signals)
    starts = np.unique(cohort.samples["start"].to_numpy())
    subjects = cohort.n_subjects
    pairs = connectivity(signals).reshape(subjects, len(starts), -1)
    mean, spread = float(pairs.mean()), float(pairs.mean(axis=(0, 1)).std())
    return {
        "lag_one": lag_one_autocorrelation(signals),
        "mean_connectivity": mean,
        "spread_over_pairs": spread,
        "spread_over_subjects": float(pairs.mean(axis=(1, 2)).std()),
        **_similarities(pairs, starts, cohort.n_timepoints),
        "identification": identification_rate(pairs[:, 0], pairs[:, -1]),
    }


def _similarities(pairs: Floats, starts: NDArray[np.int64], length: int) -> dict[str, float]:
    """Compare windows within and between subjects, as mean Spearman correlations."""
    from scipy.stats import rankdata

    n_subjects, n_windows, _ = pairs.shape
    units = _unit_rows(rankdata(pairs, axis=-1))
    sums = units.sum(axis=1)
    total = sums.sum(axis=0)
    n_between = (n_subjects**2 - n_subjects) * n_windows**2
    between = (total @ total - np.sum(sums**2)) / n_between
    within = np.einsum("sap,sbp->ab", units, units) / n_subjects
    apart = np.abs(starts[:, None] - starts[None, :])
    return {
        "within": float(within[apart > 0].mean()),
        "within_apart": float(within[apart >= length].mean()),
        "within_far": float(within[0, -1]),
        "between": float(between),
    }


def measure_scans(
    scans: Sequence[NDArray[np.float32]], diagnosis: Sequence[str], site: Sequence[str]
) -> dict[str, float]:
    """Measure whole scans, one per subject; lengths may differ.

    Returns
    -------
    dict of str to float
        `identification` of the second half of a scan by the first, and the decodability
        of `diagnosis` and `site`.
    """
    halves = [np.array_split(scan, 2, axis=-1) for scan in scans]
    whole = np.stack([connectivity(scan) for scan in scans])
    first = np.stack([connectivity(half) for half, _ in halves])
    second = np.stack([connectivity(half) for _, half in halves])
    return {
        "identification": identification_rate(first, second),
        "diagnosis": decodability(whole, diagnosis),
        "site": decodability(whole, site),
    }


def _centred(signals: ArrayLike) -> Floats:
    values = np.array(signals, dtype=np.float64)
    values -= values.mean(axis=-1, keepdims=True)
    return values


def _unit_rows(values: Floats) -> Floats:
    centred = _centred(values)
    return np.asarray(centred / np.linalg.norm(centred, axis=-1, keepdims=True))


CALIBRATION_FILE = Path(__file__).with_name("calibration.json")
_TR = 2.0


def calibration() -> dict[str, Any]:
    """Return the layout of the real cohort, its targets and the spread of the simulator."""
    content: dict[str, Any] = json.loads(CALIBRATION_FILE.read_text("utf-8"))
    return content


def measure_simulated_windows(
    sites: Mapping[str, float], effects: Effects, seed: int
) -> dict[str, float]:
    """Measure a simulated cohort under the paper's windowing."""
    total = round(sum(sites.values()))
    return measure_windows(simulate_cohort(total, sites=sites, seed=seed, **effects.to_dict()))


def measure_simulated_scans(
    sites: Mapping[str, Mapping[str, int]], effects: Effects, seed: int
) -> dict[str, float]:
    """Measure whole simulated scans.

    Parameters
    ----------
    sites : mapping
        For each site its number of `subjects` and the `seconds` of its scans.
    effects : Effects
        Strengths.
    seed : int
        Seed of the cohort.
    """
    sizes = {name: float(site["subjects"]) for name, site in sites.items()}
    length = {name: round(site["seconds"] / _TR) for name, site in sites.items()}
    cohort = simulate_cohort(
        round(sum(sizes.values())),
        1,
        length=max(length.values()),
        tr=_TR,
        sites=sizes,
        seed=seed,
        **effects.to_dict(),
    )
    site_of_scan = list(cohort.labels("site"))
    scans = [
        scan[:, : length[site]]
        for scan, site in zip(np.asarray(cohort.signals), site_of_scan, strict=True)
    ]
    return measure_scans(scans, list(cohort.labels("diagnosis")), site_of_scan)
