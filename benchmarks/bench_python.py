"""What a call costs in a script: the first and the second, beside nilearn and mne-connectivity.

One data frame of 200 regions x 300 time points; CPU time of the fastest of several calls.
mne-connectivity is compared if it can be imported (it is no dependency):
PYTHONPATH=/path/to/it python benchmarks/bench_python.py
"""

import time
import warnings

import numpy as np
import pandas as pd

REGIONS, TIMES, SCANS, REPEATS = 200, 300, 8, 25


def fastest(function, repeats=REPEATS):
    taken = []
    for _ in range(repeats):
        started = time.process_time()
        function()
        taken.append(time.process_time() - started)
    return min(taken)


def line(what, seconds, other=None, name=""):
    beside = (
        "" if other is None else f"   {name} {1e3 * other:8.1f} ms   {other / seconds:6.2f} times"
    )
    print(f"{what:<34}{1e3 * seconds:9.1f} ms{beside}")


def first_and_second(frame):
    started = time.process_time()
    import sclcs

    print(f"{'import sclcs':<34}{1e3 * (time.process_time() - started):9.1f} ms")
    for spi in ("pearson", "kendall", "coherence"):
        started = time.process_time()
        sclcs.spi.compute(frame, spi)
        first = time.process_time() - started
        started = time.process_time()
        sclcs.spi.compute(frame, spi)
        second = time.process_time() - started
        print(f"{spi + ', first and second call':<34}{1e3 * first:9.1f} ms {1e3 * second:9.1f} ms")


def against_nilearn(frame, scans):
    from nilearn.connectome import ConnectivityMeasure
    from sklearn.covariance import EmpiricalCovariance

    import sclcs

    one, arrays = [frame.to_numpy()], [scan.to_numpy() for scan in scans]
    for kind, spi in (("correlation", "pearson"), ("partial correlation", "partial")):
        # Without the precision matrix that scikit-learn would make beside it, and nilearn not use.
        plain = EmpiricalCovariance(store_precision=False)
        measure = ConnectivityMeasure(plain, kind=kind, standardize=False)
        usual = ConnectivityMeasure(kind=kind, standardize=False)
        ours = fastest(lambda spi=spi: sclcs.spi.compute(frame, spi))
        theirs = fastest(lambda measure=measure: measure.fit_transform(one))
        line(f"{kind}, one scan", ours, theirs, "nilearn, same estimator")
        line(
            "", ours, fastest(lambda usual=usual: usual.fit_transform(one)), "nilearn, its default"
        )
        if spi == "pearson":
            line("", ours, fastest(frame.corr), "pandas, DataFrame.corr")
        transformer = sclcs.FCTransformer(spi)
        many = fastest(lambda transformer=transformer: transformer.fit_transform(scans), 3)
        other = fastest(lambda measure=measure: measure.fit_transform(arrays), 3)
        line(f"{kind}, {SCANS} scans", many, other, "nilearn, same estimator")
    tangent = ConnectivityMeasure(kind="tangent", standardize=False)
    seconds = fastest(lambda: tangent.fit_transform(arrays), 3)
    print(
        f"tangent, {SCANS} scans: nilearn {1e3 * seconds:.1f} ms (no operator here, see the docs)"
    )


def against_mne(frame):
    import sclcs

    ours = fastest(lambda: sclcs.spi.compute(frame, "coherence"), 3)
    try:
        from mne_connectivity import spectral_connectivity_epochs
    except ImportError as error:
        line("coherence (multitaper), one scan", ours)
        print(f"mne-connectivity is not here ({error})")
        return
    epochs = frame.to_numpy().T[None]

    def theirs():
        spectral_connectivity_epochs(
            epochs, method="coh", mode="multitaper", sfreq=1.0, fmin=0.01, faverage=True,
            verbose="error",
        )  # fmt: skip

    line("coherence (multitaper), one scan", ours, fastest(theirs, 2), "mne-connectivity")


def main():
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    names = [f"region-{k}" for k in range(REGIONS)]
    scans = [pd.DataFrame(rng.normal(size=(TIMES, REGIONS)), columns=names) for _ in range(SCANS)]
    first_and_second(scans[0])
    against_nilearn(scans[0], scans)
    against_mne(scans[0])


if __name__ == "__main__":
    main()
