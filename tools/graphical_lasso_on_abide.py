"""Does scikit-learn's graphical lasso fail where ours does? Windows of ABIDE, one by one.

    python tools/graphical_lasso_on_abide.py abide_dos160_dmn33.npz

All windows on which ours has no finite matrix, and of the others `--others`, spread over the
cohort. One row per window goes to docs/results/graphical_lasso.csv: what became of each, sweeps,
the largest difference between the two precisions, relative to 1 + the value, and by how much
scikit-learn's own moves if the signals move by 2^-36, the grid of our covariances.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.covariance import GraphicalLasso
from sklearn.exceptions import ConvergenceWarning

from sclcs.cohort import read_scans
from sclcs.spi import compute

OUT = Path(__file__).parents[1] / "docs" / "results" / "graphical_lasso.csv"
OPERATOR = "prec_GraphicalLasso"
GRID = 2.0**-36


def main() -> None:
    """Compute ours on everybody, scikit-learn's where it matters; write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("npz", type=Path)
    parser.add_argument("--others", type=int, default=60)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    cohort = read_scans(options.npz).to_cohort(
        window=70, stride=35, truncate=210, drop_first=1, on_bad="skip"
    )
    ours = compute(cohort, [OPERATOR]).sel(spi=OPERATOR).to_numpy()
    off = ~np.eye(ours.shape[1], dtype=bool)
    broken = ~np.isfinite(ours[:, off]).all(axis=1)
    fine = np.flatnonzero(~broken)
    others = fine[np.linspace(0, len(fine) - 1, options.others).astype(int)]
    lots, rows = np.random.default_rng(0), []
    for row in [*np.flatnonzero(broken), *others]:
        signals = standardised(np.asarray(cohort.signals[row], dtype=np.float64))
        theirs, sweeps = scikit_learn(signals)
        moved, still = scikit_learn(signals + GRID * lots.standard_normal(signals.shape))
        rows.append(
            {
                "sample": cohort.sample_ids[row],
                "ours": "failed" if broken[row] else "ok",
                "scikit_learn": "ok" if sweeps else "failed",
                "sweeps": sweeps,
                "difference": largest(ours[row][off], theirs[off]) if sweeps else np.nan,
                "own": largest(moved[off], theirs[off]) if sweeps and still else np.nan,
            }
        )
    table = pd.DataFrame(rows)
    table.to_csv(options.out, index=False, float_format="%.2g")
    print(f"{broken.sum()} of {len(cohort)} windows have no matrix of ours")
    print(
        table.groupby(["ours", "scikit_learn"])[["difference", "own"]]
        .quantile([0, 0.5, 1])
        .to_string()
    )


def standardised(signals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the operator is defined on."""
    centred = signals - signals.mean(axis=1, keepdims=True)
    return np.asarray(centred / signals.std(axis=1, ddof=1, keepdims=True))


def scikit_learn(signals: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return the precision and the sweeps, none if it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            fit = GraphicalLasso().fit(signals.T)
        except FloatingPointError:  # "Non SPD result: the system is too ill-conditioned"
            return np.full((len(signals), len(signals)), np.nan), 0
    return fit.precision_, int(fit.n_iter_)


def largest(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """Return the largest difference, relative to 1 + the value."""
    return float((np.abs(ours - theirs) / (1 + np.abs(theirs))).max())


if __name__ == "__main__":
    main()
