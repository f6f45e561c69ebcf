"""Measure how far pyspi's own numbers move when its input is perturbed.

Where an operator chooses among ties or stops an optimiser early, pyspi does not agree with
itself more closely than this, and neither can we::

    OMP_NUM_THREADS=1 /path/to/pyspi-env/bin/python tools/perturb_pyspi.py \
        --input slow_ties_4x60 --operators "ccm_E-1_*"

For each operator: the largest distance from the result on the unperturbed input, the largest
range over the runs, and the lowest rank correlation with the unperturbed result.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import io
import logging

import numpy as np
from make_pyspi_reference import INPUTS, Matrix, Operator, load_operators, run_operator
from scipy.stats import spearmanr


def off_diagonal(operator: Operator, signals: Matrix) -> Matrix:
    """Run one operator; return its entries off the diagonal."""
    from pyspi.data import Data

    with contextlib.redirect_stdout(io.StringIO()):
        data = Data(signals.copy(), dim_order="ps", normalise=True, detrend=False)
    matrix, reason = run_operator(operator, data)
    if matrix is None:
        raise RuntimeError(reason)
    return matrix[~np.eye(len(matrix), dtype=bool)]


def main() -> None:
    """Parse the command line and print one line per operator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", choices=sorted(INPUTS), required=True)
    parser.add_argument("--operators", required=True, help="a glob of identifiers")
    parser.add_argument("--amplitude", type=float, default=1e-10, help="of the normal noise added")
    parser.add_argument("--runs", type=int, default=8)
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)  # pyspi warns once per pair that fails
    signals = INPUTS[arguments.input][0]()
    rng = np.random.Generator(np.random.PCG64(0))
    noise = arguments.amplitude * rng.normal(size=(arguments.runs, *signals.shape))
    for identifier, operator in load_operators().items():
        if fnmatch.fnmatch(identifier, arguments.operators):
            plain = off_diagonal(operator, signals)
            runs = np.stack([off_diagonal(operator, signals + extra) for extra in noise])
            order = min(spearmanr(run, plain).statistic for run in runs)
            print(
                f"{identifier}: largest distance {np.abs(runs - plain).max():.2g}, "
                f"largest range {np.ptp(runs, axis=0).max():.2g}, lowest Spearman {order:.2f}"
            )


if __name__ == "__main__":
    main()
