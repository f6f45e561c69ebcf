"""Power of the test for an effect, on planted effects in real backgrounds.

    OMP_NUM_THREADS=1 python -m paper.power [--data ../shared/data] [--cohorts 60]

Controls of ABIDE (two preprocessings) are drawn at random and called patients at random; in the
signals of "patients" an effect is planted: one edge, a hub, a network, or the level of all
connections, of a size at which a linear SVC on Pearson's correlations has about the AUC asked for.
The family-wise test over operators and views is compared with the two tests that people use
on Pearson's correlations: cross-validated AUC of the SVC against permuted labels, and the largest
t over edges. Written to results/decision/power.csv. `none` is the rate of false effects.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.svm import SVC

from sclcs._core import show_progress
from sclcs.spi import compute_batch as compute
from sclcs.stats import effect_finding, make_design, make_features, operator_effects
from sclcs.stats.permutations import permutation_table
from sclcs.stats.share import make_share_model

Floats = NDArray[Any]
FOLDER = Path("results/decision")
LENGTH = 140  # time points of a scan
COHORTS = {"abide_dos160_dmn33": 1, "abide_cc200_nofilt": 5}  # and every how many regions
KINDS = ("none", "edge", "hub", "network", "level")
NETWORK = 8  # regions
FOLDS = 5
SEARCHED = (8, 40)  # steps to find a size, cohorts in each
POOLED = 6  # permuted labels per cohort; SVC's null distribution is pooled over cohorts
NULLS = 4  # times as many cohorts without an effect
OPERATORS = [
    "cov_EmpiricalCovariance",
    "prec_LedoitWolf",
    "kendalltau",
    "cov-sq_OAS",
    "pdist_cityblock",
    "mi_gaussian",
    "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-25",
    "plv_multitaper_mean_fs-1_fmin-0_fmax-0-5",
    "gc_gaussian_k-1_kt-1_l-1_lt-1",
    "te_symbolic_k-1_kt-1_l-1_lt-1",
    "psi_multitaper_mean_fs-1_fmin-0_fmax-0-5",
    "pec_orth",
    "xcorr_max_sig-True",
    "gwtau",
]


def background(path: Path, step: int) -> Floats:
    """Return signals of controls (scan, region, time), standardised."""
    data = np.load(path, allow_pickle=False)
    usable = data["roi_valid"].all(1) & (data["n_timepoints"] > LENGTH)
    rows = np.flatnonzero(usable & (data["diagnosis"] == "TC"))
    signals = data["timeseries"][rows][:, 1 : LENGTH + 1, ::step].astype(float)
    signals = signals.transpose(0, 2, 1)
    signals -= signals.mean(2, keepdims=True)
    return np.asarray(signals / signals.std(2, keepdims=True))


def planted(signals: Floats, kind: str, size: float) -> Floats:
    """Return the signals with an effect; what is added has the spectrum of another scan."""
    random = np.random.default_rng(0)
    n_scans, n_regions, length = signals.shape
    donors = signals[random.permutation(n_scans), random.integers(0, n_regions, n_scans)]
    shifts = random.integers(30, length - 30, n_scans)
    common = np.stack([np.roll(row, shift) for row, shift in zip(donors, shifts, strict=True)])
    order = np.random.default_rng(1).permutation(n_regions)
    found = signals.copy()
    if kind == "hub":
        others = np.delete(signals, order[0], axis=1).mean(1)
        found[:, order[0]] += size * others / others.std(1, keepdims=True)
    else:
        count = {"edge": 2, "network": NETWORK, "level": n_regions}[kind]
        found[:, order[:count]] += size * common[:, None]
    return found


def fisher_z(signals: Floats) -> Floats:
    """Return Pearson's correlations, Fisher's z (scan, edge)."""
    row, column = np.triu_indices(signals.shape[1], 1)
    edges = np.stack([np.corrcoef(scan)[row, column] for scan in signals])
    return np.asarray(np.arctanh(np.clip(edges, -0.999, 0.999)))


def svc_auc(features: Floats, classes: Floats, random: np.random.Generator) -> float:
    """Return the cross-validated AUC of a linear SVC."""
    folds = np.empty(len(classes), dtype=int)
    for code in (0, 1):
        members = random.permutation(np.flatnonzero(classes == code))
        folds[members] = np.arange(len(members)) % FOLDS
    centred = features - features.mean(0)
    kernel, values = centred @ centred.T, np.empty(len(classes))
    for fold in range(FOLDS):
        test, train = folds == fold, folds != fold
        fitted = SVC(kernel="precomputed").fit(kernel[np.ix_(train, train)], classes[train])
        values[test] = fitted.decision_function(kernel[np.ix_(test, train)])
    ranks, n_ones = rankdata(values), classes.sum()
    ahead = ranks[classes == 1].sum() - n_ones * (n_ones + 1) / 2
    return float(ahead / (n_ones * (len(classes) - n_ones)))


def draw(seed: int, n_scans: int, n_subjects: int) -> tuple[Any, Any, np.random.Generator]:
    """Return the scans of a cohort, and who of them is called a patient."""
    random = np.random.default_rng([1, seed])
    rows = np.sort(random.permutation(n_scans)[:n_subjects])
    return rows, random.permutation(np.arange(n_subjects) % 2), random


def size_for(signals: Floats, kind: str, n_subjects: int, auc: float) -> float:
    """Find the size of an effect at which the SVC has an AUC, by halving (on other cohorts)."""
    low, high, plain = 0.05, 4.0, fisher_z(signals)
    for _ in range(SEARCHED[0]):
        size, found = np.sqrt(low * high), []
        changed = fisher_z(planted(signals, kind, size))
        for seed in range(SEARCHED[1]):
            rows, classes, random = draw(10**6 + seed, len(signals), n_subjects)
            mixed = np.where(classes[:, None] == 1, changed[rows], plain[rows])
            found.append(svc_auc(mixed, classes, random))
        low, high = (low, size) if np.mean(found) > auc else (size, high)
    return float(np.sqrt(low * high))


def matrices_of(signals: Floats, operators: list[str]) -> Floats:
    """Return the matrices of all scans (operator, scan, region, region)."""
    parts = [compute(signals[i : i + 64], operators).to_numpy() for i in range(0, len(signals), 64)]
    return np.concatenate(parts, axis=1).astype(np.float32)


def tested(  # noqa: PLR0917
    plain: Floats,
    changed: Floats,
    z: tuple[Floats, Floats],
    operators: list[str],
    n_subjects: int,
    options: argparse.Namespace,
    seed: int,
) -> tuple[dict[str, Any], list[float]]:
    """Return the p of the family-wise test and of the largest t, and the SVC's AUC."""
    rows, classes, random = draw(seed, plain.shape[1], n_subjects)
    model = make_share_model(classes, np.ones((n_subjects, 1)), number=False)
    design = make_design(model, permutation_table(np.zeros(n_subjects, int), options.permutations))
    effects = {}
    for place, name in enumerate(operators):
        mixed = plain[place][rows]
        mixed[classes == 1] = changed[place][rows[classes == 1]]
        effects[name] = operator_effects(make_features(mixed), design)
    finding = effect_finding(effects)
    pearson = np.where(classes[:, None] == 1, z[1][rows], z[0][rows])
    centred = pearson - pearson.mean(0)
    explained = ((design.weights[:, 0] @ centred) ** 2 / (centred**2).sum(0)).max(1)
    found = {
        "test": finding.p,
        **finding.views,
        "max-t": (explained >= explained[0] - 1e-12).mean(),
        "auc": svc_auc(pearson, classes, random),
    }
    nulls = [svc_auc(pearson, random.permutation(classes), random) for _ in range(POOLED)]
    return found, nulls


def power(
    name: str, step: int, n_subjects: int, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Return one row per kind of effect."""
    signals = background(Path(options.data) / f"{name}.npz", step)
    plain, plain_z = matrices_of(signals, options.operators), fisher_z(signals)
    for kind in KINDS:
        size, changed, changed_z = 0.0, plain, plain_z
        if kind != "none":
            size = size_for(signals, kind, n_subjects, options.auc)
            moved = planted(signals, kind, size)
            changed, changed_z = matrices_of(moved, options.operators), fisher_z(moved)
        count = options.cohorts * (NULLS if kind == "none" else 1)
        z = plain_z, changed_z
        found, nulls = zip(
            *(
                tested(plain, changed, z, options.operators, n_subjects, options, seed)
                for seed in range(count)
            ),
            strict=True,
        )
        table = pd.DataFrame(list(found))
        rates = (table <= 0.05).mean().to_dict()
        svc = float((table["auc"] > np.quantile(nulls, 0.95)).mean())
        better = max(svc, rates["max-t"])
        yield {
            "cohort": name,
            "subjects": n_subjects,
            "kind": kind,
            "size": round(size, 3),
            "SVC AUC": round(float(table["auc"].mean()), 3),
            "SVC": round(svc, 3),
            "max-t": round(rates["max-t"], 3),
            "test": round(rates["test"], 3),
            "of the better": round(rates["test"] / better, 2) if kind != "none" else "",
            **{view: round(rates[view], 3) for view in ("pattern", "values", "edge")},
            "cohorts": count,
        }


def main() -> None:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--cohorts", type=int, default=60, help="drawn for each row")
    parser.add_argument("--subjects", type=int, nargs="+", default=[40, 80])
    parser.add_argument("--auc", type=float, default=0.8, help="of the linear SVC")
    parser.add_argument("--permutations", type=int, default=500)
    parser.add_argument("--operators", nargs="+", default=OPERATORS)
    options = parser.parse_args()
    sklearn.set_config(assume_finite=True, skip_parameter_validation=True)
    rows = []
    FOLDER.mkdir(parents=True, exist_ok=True)
    with show_progress(visible=False):
        for name, step in COHORTS.items():
            for n_subjects in options.subjects:
                for row in power(name, step, n_subjects, options):
                    rows.append(row)
                    print(row, flush=True)
                    pd.DataFrame(rows).to_csv(FOLDER / "power.csv", index=False)


if __name__ == "__main__":
    main()
