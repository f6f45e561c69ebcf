"""Time pyspi's own Calculator on some samples; runs inside pyspi's environment.

Reads an ``.npz`` (signals, identifiers, left_out), prints one JSON object: CPU seconds per
sample with all identifiers and with the ``left_out`` ones removed, after one warm-up sample.
Called by ``bench_spi.py``; imports nothing of sclcs.
"""

import contextlib
import io
import json
import logging
import sys
import time

import numpy as np

logging.disable(logging.CRITICAL)


def make_calculator(identifiers):
    """A Calculator that keeps only some of pyspi's operators."""
    from pyspi.calculator import Calculator

    calculator = Calculator(subset="all")
    for identifier in set(calculator.spis) - set(identifiers):
        del calculator.spis[identifier]
    if set(calculator.spis) != set(identifiers):
        raise SystemExit("pyspi does not know all of the operators")
    return calculator


def seconds_per_sample(calculator, samples):
    """CPU seconds of Calculator.compute, which shares its caches within a sample."""
    seconds = []
    for sample in samples:
        calculator.load_dataset(sample)
        started = time.process_time()
        calculator.compute()
        seconds.append(time.process_time() - started)
    finite = float(np.isfinite(calculator.table.to_numpy(dtype=float)).mean())
    return {"seconds": seconds, "finite_share": finite}


def main():
    with np.load(sys.argv[1]) as file:
        signals, identifiers, left_out = (file[k] for k in ("signals", "identifiers", "left_out"))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        everything = make_calculator(identifiers.tolist())
        reduced = make_calculator([i for i in identifiers.tolist() if i not in left_out])
        cold = seconds_per_sample(everything, signals[:1])
        report = {
            "first": cold["seconds"][0],
            "all": seconds_per_sample(everything, signals),
            "without": seconds_per_sample(reduced, signals),
        }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
