"""Make the small pyspi reference files that the agreement tests read.

The package never imports pyspi (it is GPL and pulls a Java machine and a dozen
libraries); this script runs it once, in an environment of its own, and keeps the
numbers::

    python3.11 -m venv /path/to/pyspi-env            # Java must be on the PATH
    /path/to/pyspi-env/bin/pip install "pyspi==2.0.2" "spectral_connectivity==1.1.2"
    OMP_NUM_THREADS=1 /path/to/pyspi-env/bin/python tools/make_pyspi_reference.py \
        --catalogue src/sclcs/spi/tables/catalogue.csv --out tests/spi/data

(``spectral_connectivity`` 2.x breaks every non-parametric spectral operator of pyspi.) The
operators outside the paper's fast set are run on inputs of their own (:data:`SLOW_INPUTS`).

``pyspi_<input>.npz`` holds

``signals``      (region, time) float64, not z-scored (pyspi z-scores it);
``identifiers``  (operator,) names;
``rows``         (row,) the matrix rows that were kept (all of them for small inputs);
``matrices``     (operator, row, region) float64, NaN diagonal;
``failed``       (operator,) the reason if pyspi raised (its matrix is then all NaN), else "".

``pyspi_random.npz`` and ``pyspi_random_slow.npz`` hold, for the randomised operators of the fast
set and for the others, ``RANDOM_RUNS`` runs of pyspi on one input: ``matrices`` has shape
(operator, run, region, region).
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import logging
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

RANDOM_RUNS = 20
# name -> (regions and times, words in the names of its operators)
RANDOM_INPUTS = {
    "random": ((7, 100), ("MinCovDet", "EllipticEnvelope")),
    "random_slow": ((5, 60), ("sgddtw",)),
}

Matrix = np.ndarray[Any, np.dtype[np.float64]]


class Operator(Protocol):
    """What we use of pyspi's operator objects."""

    def multivariate(self, data: object) -> Matrix:
        """Compute the matrix of all pairs."""


def coupled_noise(n_regions: int, n_times: int, seed: int) -> Matrix:
    """Simulate first-order autoregressive noise with couplings of both signs and lags."""
    rng = np.random.Generator(np.random.PCG64(seed))
    coupling = rng.normal(scale=0.5 / np.sqrt(n_regions), size=(n_regions, n_regions))
    np.fill_diagonal(coupling, rng.uniform(0.1, 0.6, n_regions))
    mixing = np.eye(n_regions) + rng.normal(scale=0.4, size=(n_regions, n_regions))
    signals = np.zeros((n_regions, n_times + 50))
    for t in range(1, n_times + 50):
        signals[:, t] = coupling @ signals[:, t - 1] + mixing @ rng.normal(size=n_regions)
    return signals[:, 50:]  # the first fifty points forget the start from zero


def with_ties(n_regions: int, n_times: int, seed: int) -> Matrix:
    """Round coupled noise to halves of its spread, so that most values are tied."""
    signals = coupled_noise(n_regions, n_times, seed)
    return np.round(2 * signals / signals.std()) / 2


def slow_drifts(n_regions: int, n_times: int, seed: int) -> Matrix:
    """Smooth coupled noise so much that, for pyspi, no lag is insignificant."""
    signals = coupled_noise(n_regions, n_times + 40, seed)
    for t in range(1, n_times + 40):
        signals[:, t] += 0.95 * signals[:, t - 1]
    return signals[:, 40:]


def heavy_tails(n_regions: int, n_times: int, seed: int) -> Matrix:
    """Draw Cauchy noise: a few outliers dominate every region."""
    return np.random.Generator(np.random.PCG64(seed)).standard_cauchy((n_regions, n_times))


# name -> (input, rows of the matrices to keep, None for all)
INPUTS: dict[str, tuple[Callable[[], Matrix], list[int] | None]] = {
    "5x50": (lambda: coupled_noise(5, 50, seed=1), None),
    "6x71": (lambda: coupled_noise(6, 71, seed=2), None),
    "4x240": (lambda: coupled_noise(4, 240, seed=3), None),
    "2x100": (lambda: coupled_noise(2, 100, seed=4), None),
    "ties_6x60": (lambda: with_ties(6, 60, seed=5), None),
    "wide_20x16": (lambda: coupled_noise(20, 16, seed=6), [0, 1, 7, 18, 19]),
    "wide_40x36": (lambda: coupled_noise(40, 36, seed=7), [0, 17, 39]),
    "drifts_6x150": (lambda: slow_drifts(6, 150, seed=11), None),
    "tails_6x100": (lambda: heavy_tails(6, 100, seed=5), None),
    "3x37": (lambda: coupled_noise(3, 37, seed=13), None),
    "90x50": (lambda: coupled_noise(90, 50, seed=8), [0, 89]),
}
# Small, because some of these operators take seconds per pair.
SLOW_INPUTS: dict[str, tuple[Callable[[], Matrix], list[int] | None]] = {
    "slow_5x50": (lambda: coupled_noise(5, 50, seed=1), None),
    "slow_4x91": (lambda: coupled_noise(4, 91, seed=21), None),
    "slow_3x140": (lambda: coupled_noise(3, 140, seed=22), None),
    "slow_drifts_4x80": (lambda: slow_drifts(4, 80, seed=23), None),
    "slow_ties_4x60": (lambda: with_ties(4, 60, seed=24), None),
}
INPUTS |= SLOW_INPUTS


def identifiers_for(name: str, catalogue: Path) -> list[str]:
    """Read from the catalogue which operators are run on an input."""
    with catalogue.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    if name in RANDOM_INPUTS:
        _, words = RANDOM_INPUTS[name]
        return [i for i in (row["identifier"] for row in rows) if any(word in i for word in words)]
    fast = str(name not in SLOW_INPUTS)
    return [row["identifier"] for row in rows if row["paper_fast"] == fast]


def load_operators() -> dict[str, Operator]:
    """Return pyspi's operator objects by identifier."""
    from pyspi.calculator import Calculator

    with contextlib.redirect_stdout(io.StringIO()):
        calculator = Calculator(subset="all")
    return dict(calculator.spis)


def run_operator(operator: Operator, data: object, seed: int = 0) -> tuple[Matrix | None, str]:
    """Run one operator; return its matrix (or None) and why it failed."""
    np.random.seed(seed)  # noqa: NPY002 - pyspi's estimators draw from the global generator
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            matrix = np.array(operator.multivariate(data), dtype=np.float64)
    except Exception as error:  # noqa: BLE001 - as pyspi's Calculator: any failure is NaN
        return None, f"{type(error).__name__}: {error}"[:120]
    np.fill_diagonal(matrix, np.nan)
    return matrix, ""


def make_reference(
    name: str, identifiers: list[str], operators: dict[str, Operator], out: Path
) -> None:
    """Run every operator on one input and write its reference file."""
    from pyspi.data import Data

    build, kept_rows = INPUTS[name]
    signals = build()
    n_regions = signals.shape[0]
    rows = list(range(n_regions)) if kept_rows is None else kept_rows
    with contextlib.redirect_stdout(io.StringIO()):
        data = Data(signals.copy(), dim_order="ps", normalise=True, detrend=False)
    matrices = np.full((len(identifiers), len(rows), n_regions), np.nan)
    failed = []
    started = time.perf_counter()
    for index, identifier in enumerate(identifiers):
        if identifier not in operators:
            failed.append("not in this version of pyspi")
            continue
        matrix, reason = run_operator(operators[identifier], data)
        failed.append(reason)
        if matrix is not None:
            matrices[index] = matrix[rows]
    np.savez_compressed(
        out / f"pyspi_{name}.npz",
        signals=signals,
        identifiers=np.array(identifiers),
        rows=np.array(rows),
        matrices=matrices,
        failed=np.array(failed),
    )
    seconds = time.perf_counter() - started
    print(f"{name}: {seconds:.1f} s, {sum(map(bool, failed))} operators failed")
    for identifier, reason in zip(identifiers, failed, strict=True):
        if reason:
            print(f"   {identifier}: {reason}")
    sys.stdout.flush()


def make_random_reference(
    name: str, chosen: list[str], operators: dict[str, Operator], out: Path
) -> None:
    """Run some randomised operators with many seeds on one input."""
    from pyspi.data import Data

    shape, _ = RANDOM_INPUTS[name]
    signals = coupled_noise(*shape, seed=9)
    runs = np.full((len(chosen), RANDOM_RUNS, shape[0], shape[0]), np.nan)
    for run in range(RANDOM_RUNS):
        with contextlib.redirect_stdout(io.StringIO()):
            data = Data(signals.copy(), dim_order="ps", normalise=True, detrend=False)
        for index, identifier in enumerate(chosen):
            matrix, reason = run_operator(operators[identifier], data, seed=1000 * index + run)
            if matrix is None:
                raise RuntimeError(f"{identifier} failed: {reason}")
            runs[index, run] = matrix
    np.savez_compressed(
        out / f"pyspi_{name}.npz", signals=signals, identifiers=np.array(chosen), matrices=runs
    )


def main() -> None:
    """Parse the command line and write the reference files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--catalogue", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="names of inputs; all by default")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)  # pyspi warns once per pair that fails
    operators = load_operators()
    for name in arguments.only or [*INPUTS, *RANDOM_INPUTS]:
        make = make_random_reference if name in RANDOM_INPUTS else make_reference
        make(name, identifiers_for(name, arguments.catalogue), operators, arguments.out)


if __name__ == "__main__":
    main()
