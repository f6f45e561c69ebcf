"""Single operators beside the toolboxes people would use for them, in one run.

    PYTHONPATH=/folder/with/the/toolboxes python benchmarks/bench_toolboxes.py

CPU seconds of one matrix, warm, one thread, the fastest of a few calls. tslearn, statsmodels and
nilearn come with `make setup`; spectral_connectivity and mne-connectivity are no dependency and
are left out, saying so, where they cannot be imported:
``pip install --no-deps --target FOLDER spectral_connectivity mne-connectivity netCDF4 cftime tqdm``
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np

from sclcs import simulate_cohort
from sclcs.spi import compute_batch as compute

SIZES = ((33, 70), (100, 240))
LONGEST = 20.0  # seconds: a call that takes so long is not repeated


def fastest(call: Callable[[], object], repeats: int = 3) -> float:
    taken: list[float] = []
    for _ in range(repeats):
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


def nilearn_partial(signals):
    from nilearn.connectome import ConnectivityMeasure
    from sklearn.covariance import EmpiricalCovariance

    measure = ConnectivityMeasure(
        EmpiricalCovariance(), kind="partial correlation", standardize=False
    )
    return lambda: measure.fit_transform([signals.T])


#: What it is, our operators that do it, whose function does it too, at which sizes.
PAIRS = [
    ("coherence", ["coherence"], "spectral_connectivity", spectral_connectivity, 2),
    ("coherence", ["coherence"], "mne-connectivity", mne_connectivity, 2),
    ("dynamic time warping", ["dtw"], "tslearn", tslearn_dtw, 2),
    ("soft dynamic time warping", ["softdtw"], "tslearn", tslearn_soft_dtw, 1),
    ("Kendall's tau", ["kendalltau"], "scipy", scipy_kendall, 2),
    (
        "cointegration (Engle-Granger)",
        ["coint_aeg_tstat_trend-c_autolag-aic_maxlag-10"],
        "statsmodels",
        statsmodels_coint,
        1,
    ),
    ("partial correlation", ["partial"], "nilearn", nilearn_partial, 2),
]


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{'':<32}{'regions x points':>18}{'sclcs ms':>10}{'other ms':>10}{'ratio':>8}")
    for what, spis, name, make, sizes in PAIRS:
        for regions, length in SIZES[:sizes]:
            cohort = simulate_cohort(1, 1, regions, length=length, seed=1)
            signals = np.asarray(cohort.signals[0], dtype=np.float64)
            try:
                theirs = make(signals)
                theirs()
            except ImportError as error:
                print(f"{what:<32}{name} is not here ({error})")
                break
            compute(signals[None], spis)
            ours = fastest(lambda signals=signals, spis=spis: compute(signals[None], spis))
            other = fastest(theirs)
            print(
                f"{what:<32}{f'{regions} x {length}':>18}{1e3 * ours:>10.1f}{1e3 * other:>10.1f}"
                f"{other / ours:>7.1f}x  {name}",
                flush=True,
            )


if __name__ == "__main__":
    main()
