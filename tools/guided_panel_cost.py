"""What a panel costs as a share of the fast set, on three kinds of signals.

    python tools/guided_panel_cost.py --archive ../shared/data/abide_dos160_dmn33.npz \
        --out results/guided/panel_cost.csv
    python tools/guided_panel_cost.py --operators      # what each cheap operator would add

The signals: those of benchmarks/bench_spi.py (autoregressive noise, on which the graphical lasso
converges at once, so that the fast set is cheapest), the simulator's, and ABIDE's if the archive is
given. Panel and fast set take turns inside one process, in CPU seconds, and the median
ratio is printed: other work on the machine disturbs both alike.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from sclcs.cohort.readers.arrays import read_arrays
from sclcs.cohort.simulation import simulate_cohort
from sclcs.spi import compute, resolve

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from bench_spi import simulate


def main() -> None:
    """Print one line per kind of signals, or one per operator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--archive", type=Path)
    parser.add_argument("--panel", nargs="+", default=["panel"])
    parser.add_argument("--samples", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a CSV file of the shares")
    parser.add_argument("--operators", action="store_true")
    options = parser.parse_args()
    kinds = signals(options.samples, options.archive)
    if options.operators:
        print_operators(kinds["benchmark"], options.panel, options.repeats)
        return
    rows = []
    operators = resolve(options.panel)
    for name, values in kinds.items():
        fast, panel = turns(values, [resolve("paper-fast"), operators], options)
        shares = panel / fast
        rows.append({"signals": name, "fast_ms": 1e3 * np.median(fast)})
        rows[-1] |= {"panel_ms": 1e3 * np.median(panel), "share": np.median(shares)}
        rows[-1] |= {"share_most": shares.max(), "panel": " ".join(operators)}
        print(
            f"{name:<10} fast set {1e3 * np.median(fast):7.2f} ms   panel "
            f"{1e3 * np.median(panel):6.3f} ms   {np.median(shares):.2%} "
            f"({shares.min():.2%} to {shares.max():.2%})",
            flush=True,
        )
    if options.out is not None:
        pd.DataFrame(rows).to_csv(options.out, index=False, float_format="%.4g")


def signals(n_samples: int, archive: Path | None) -> dict[str, np.ndarray]:
    """Return samples of 33 regions x 70 time points."""
    kinds = {"benchmark": simulate(n_samples)}
    simulated = simulate_cohort(n_samples, 1, 33, length=70, stride=35, seed=7)
    kinds["simulated"] = np.asarray(simulated.signals)
    if archive is not None:
        scans = read_arrays(archive).windows(70, 35, truncate=210, drop_first=1, on_bad="skip")
        spaced = np.linspace(0, len(scans) - 1, n_samples).astype(int)
        kinds["abide"] = np.asarray(scans.take(spaced).signals)
    return kinds


def turns(
    values: np.ndarray, sets: list[list[str]], options: argparse.Namespace
) -> list[np.ndarray]:
    """Return CPU seconds per sample of each set in each round, warm."""
    for operators in sets:
        compute(values[:2], operators)
    taken = np.empty((options.repeats, len(sets)))
    for number in range(options.repeats):
        for place, operators in enumerate(sets):
            began = time.process_time()
            compute(values, operators)
            taken[number, place] = (time.process_time() - began) / len(values)
    return list(taken.T)


def print_operators(values: np.ndarray, panel: list[str], repeats: int) -> None:
    """Print what each other operator of the fast set adds to the panel, cheapest first."""
    known = resolve(panel)
    candidates = [name for name in resolve("paper-fast") if name not in known]
    options = argparse.Namespace(repeats=repeats)
    added = {}
    for name in candidates:
        alone, joined = turns(values, [known, [*known, name]], options)
        added[name] = float(np.median(joined - alone))
    for name, seconds in sorted(added.items(), key=lambda item: item[1]):
        print(f"{1e3 * seconds:8.3f} ms  {name}")


if __name__ == "__main__":
    main()
