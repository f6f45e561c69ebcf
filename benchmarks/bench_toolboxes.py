"""Single operators beside the toolboxes people would use for them, in one run.

    PYTHONPATH=/folder/with/the/toolboxes python benchmarks/bench_toolboxes.py

CPU seconds of one matrix, warm, one thread, the fastest of a few calls. tslearn, statsmodels and
nilearn come with `make setup`; dcor, spectral_connectivity and mne-connectivity are no dependency
and are left out, saying so, where they cannot be imported:
``pip install --no-deps --target FOLDER dcor array-api-compat spectral_connectivity
mne-connectivity netCDF4 cftime tqdm``
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np

from sclcs import simulate_cohort
from sclcs.spi import compute_batch as compute

LONGEST = 20.0  # seconds: a call that takes so long is not repeated
ENOUGH = 0.2  # seconds of short calls
COHERENCE = "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-5"
ENGLE_GRANGER = "coint_aeg_tstat_trend-c_autolag-aic_maxlag-10"


def fastest(call: Callable[[], object]) -> float:
    """Return the CPU seconds of the fastest of some calls; short ones are made often."""
    taken: list[float] = []
    while len(taken) < 3 or (sum(taken) < ENOUGH and len(taken) < 300):
        started = time.process_time()
        call()
        taken.append(time.process_time() - started)
        if taken[-1] > LONGEST:
            break
    return min(taken)


def spectral_connectivity(signals):
    from spectral_connectivity import Connectivity, Multitaper

    def call():
        tapers = Multitaper(signals.T[:, None, :], sampling_frequency=1)
        return Connectivity.from_multitaper(tapers).coherence_magnitude()

    return call


def mne_connectivity(signals):
    from mne_connectivity import spectral_connectivity_epochs

    return lambda: spectral_connectivity_epochs(
        signals[None], method="coh", mode="multitaper", sfreq=1.0, fmin=0.01, faverage=True,
        verbose="error",
    )  # fmt: skip


def tslearn_dtw(signals):
    from tslearn.metrics import cdist_dtw

    return lambda: cdist_dtw(signals[:, :, None])


def tslearn_soft_dtw(signals):
    from tslearn.metrics import cdist_soft_dtw

    return lambda: cdist_soft_dtw(signals[:, :, None])


def scipy_kendall(signals):
    from scipy.stats import kendalltau

    return lambda: [kendalltau(a, b)[0] for i, a in enumerate(signals) for b in signals[:i]]


def statsmodels_coint(signals):
    from statsmodels.tsa.stattools import coint

    return lambda: [
        coint(a, b, autolag="aic", maxlag=10)[0]
        for i, a in enumerate(signals)
        for j, b in enumerate(signals)
        if i != j
    ]


def nilearn_correlation(signals):
    from nilearn.connectome import ConnectivityMeasure
    from sklearn.covariance import EmpiricalCovariance

    measure = ConnectivityMeasure(EmpiricalCovariance(), kind="correlation", standardize=False)
    return lambda: measure.fit_transform([signals.T])


def nilearn_partial_shrunk(signals):
    from nilearn.connectome import ConnectivityMeasure

    measure = ConnectivityMeasure(kind="partial correlation", standardize=False)
    return lambda: measure.fit_transform([signals.T])


def numpy_correlation(signals):
    return lambda: np.corrcoef(signals)


def sklearn_ledoit_wolf(signals):
    from sklearn.covariance import LedoitWolf

    return lambda: LedoitWolf().fit(signals.T).covariance_


def scipy_distances(signals):
    from scipy.spatial.distance import pdist, squareform

    return lambda: squareform(pdist(signals))


def dcor_distance_correlation(signals):
    import dcor

    return lambda: [
        dcor.u_distance_correlation_sqr(a, b) for i, a in enumerate(signals) for b in signals[:i]
    ]


def sklearn_information(signals):
    from sklearn.feature_selection import mutual_info_regression

    return lambda: [
        mutual_info_regression(signals[:i].T, a, n_neighbors=4, random_state=0)
        for i, a in enumerate(signals)
        if i
    ]


SMALL, LARGE, LONG, WIDE = (33, 70), (100, 240), (6, 5000), (400, 1200)

#: What it is, our operator that does it, whose function does it too, at which sizes.
PAIRS = [
    ("Pearson correlation", "pearson", "nilearn", nilearn_correlation, [SMALL, LARGE, WIDE]),
    ("Pearson correlation", "pearson", "numpy", numpy_correlation, [SMALL, LARGE, WIDE]),
    ("partial correlation", "partial", "nilearn", nilearn_partial_shrunk, [SMALL, LARGE, WIDE]),
    ("Ledoit-Wolf", "cov_LedoitWolf", "scikit-learn", sklearn_ledoit_wolf, [SMALL, LARGE, WIDE]),
    ("Euclidean distance", "pdist_euclidean", "scipy", scipy_distances, [SMALL, LARGE, WIDE]),
    ("Kendall's tau", "kendalltau", "scipy", scipy_kendall, [SMALL, LARGE, LONG]),
    ("distance correlation", "dcorr", "dcor", dcor_distance_correlation, [SMALL, (60, 1200), LONG]),
    (
        "mutual information (KSG)",
        "mi_kraskov_NN-4",
        "scikit-learn",
        sklearn_information,
        [(12, 70), LONG],
    ),
    ("coherence", COHERENCE, "spectral_connectivity", spectral_connectivity, [SMALL, LARGE]),
    ("coherence", COHERENCE, "mne-connectivity", mne_connectivity, [SMALL, LARGE]),
    ("dynamic time warping", "dtw", "tslearn", tslearn_dtw, [SMALL, LARGE]),
    ("soft dynamic time warping", "softdtw", "tslearn", tslearn_soft_dtw, [SMALL]),
    ("cointegration (Engle-Granger)", ENGLE_GRANGER, "statsmodels", statsmodels_coint, [SMALL]),
]


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{'':<32}{'regions x points':>18}{'sclcs ms':>10}{'other ms':>10}{'ratio':>8}")
    for what, spi, name, make, sizes in PAIRS:
        for regions, length in sizes:
            cohort = simulate_cohort(1, 1, regions, length=length, seed=1)
            signals = np.asarray(cohort.signals[0], dtype=np.float64)
            try:
                theirs = make(signals)
                theirs()
            except ImportError as error:
                print(f"{what:<32}{name} is not here ({error})")
                break
            compute(signals, spi)
            ours = fastest(lambda signals=signals, spi=spi: compute(signals, spi))
            other = fastest(theirs)
            print(
                f"{what:<32}{f'{regions} x {length}':>18}{1e3 * ours:>10.2f}{1e3 * other:>10.2f}"
                f"{other / ours:>7.1f}x  {name}",
                flush=True,
            )


if __name__ == "__main__":
    main()
