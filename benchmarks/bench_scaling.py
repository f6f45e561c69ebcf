"""How the cost of each family grows with regions (N) and time points (T).

    python benchmarks/bench_scaling.py [--quick] [--longest 60] [--write docs/results]
                                       [--laws src/sclcs/spi/tables/cost_laws.csv] [--large]

CPU seconds per sample, one thread, warm, in batches of eight, all members of each family of the
catalogue; exponents are slopes of log(seconds) over the last three sizes. A family stops growing
when its next size would take longer than --longest seconds. With --write the table and the
figure of the documentation are made again, with --laws the table that `sclcs plan` reads: there
the growth with regions is measured on longer samples, because near N = T the iterations of the
sparse covariances hardly converge, and no power of N describes that. `--large` also runs the fast
set on N = 400, T = 1200 and prints peak memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd

from sclcs import simulate_cohort
from sclcs.spi import compute_batch as compute, compute_block, family_members, resolve

REGIONS = (33, 66, 132, 264)
TIMES = (70, 140, 280, 560)
LARGE = (400, 1200)
SAMPLES = 8  # computed together, as a store does; one if that would take long
USUAL = {"regions": 2.0, "timepoints": 1.0}  # of a family too slow for two sizes
LONGEST = 60.0  # seconds of one call
ENOUGH_SECONDS = 0.3  # repeat short measurements until they add up to this


def signals_of(n_regions: int, n_timepoints: int, n_samples: int = SAMPLES) -> np.ndarray:
    cohort = simulate_cohort(n_samples, 1, n_regions, length=n_timepoints, seed=1)
    return np.asarray(cohort.signals, dtype=np.float64)


def cpu_seconds(signals: np.ndarray, members: list[str], longest: float) -> float:
    """Return the smallest CPU time per sample of a few calls; noise only ever adds."""
    seeds = np.zeros(len(signals), dtype=np.uint64)
    best, spent, calls = np.inf, 0.0, 0
    while spent < ENOUGH_SECONDS or (calls < 2 and spent < longest / 10):  # the first may compile
        start = time.process_time()
        compute_block(signals, members, sample_seeds=seeds)
        elapsed = time.process_time() - start
        best, spent, calls = min(best, elapsed), spent + elapsed, calls + 1
    return float(best) / len(signals)


def measure(
    regions: tuple[int, ...], times: tuple[int, ...], longest: float = LONGEST
) -> pd.DataFrame:
    families = family_members(resolve("all"))
    sizes = [(n, times[0]) for n in regions] + [(regions[0], t) for t in times[1:]]
    sizes += [(n, times[2]) for n in regions[1:3]]
    rows = []
    for n, t in sizes:
        signals, spent = signals_of(n, t), 0.0
        for family, members in families.items():
            smaller = [
                4 * row["seconds"]
                for row in rows
                if row["family"] == family and row["regions"] <= n and row["timepoints"] <= t
            ]
            if max(smaller, default=0) > longest:
                continue
            count = SAMPLES if SAMPLES * max(smaller, default=0) < longest / 4 else 1
            seconds = cpu_seconds(signals[:count], members, longest)
            spent += seconds
            rows.append({"family": family, "regions": n, "timepoints": t, "seconds": seconds})
        print(f"N = {n}, T = {t}: {spent:.3f} s", flush=True)
    return pd.DataFrame(rows)


def exponent(rows: pd.DataFrame, axis: str) -> float:
    last = rows.sort_values(axis).tail(3)
    if len(last) < 2:
        return USUAL[axis]
    return float(np.polyfit(np.log(last[axis]), np.log(last["seconds"]), 1)[0])


def summarise(
    table: pd.DataFrame, regions: tuple[int, ...], times: tuple[int, ...]
) -> pd.DataFrame:
    rows = []
    for family, group in table.groupby("family"):
        by_n = group[group["timepoints"] == times[0]].set_index("regions")["seconds"]
        by_t = group[group["regions"] == regions[0]].set_index("timepoints")["seconds"]
        rows.append(
            {
                "family": family,
                **{f"N={n}": by_n.get(n, np.nan) for n in regions},
                **{f"T={t}": by_t.get(t, np.nan) for t in times[1:]},
                "exponent N": exponent(group[group["timepoints"] == times[0]], "regions"),
                "exponent T": exponent(group[group["regions"] == regions[0]], "timepoints"),
            }
        )
    return pd.DataFrame(rows).set_index("family").sort_values(f"N={regions[0]}", ascending=False)


def write_laws(table: pd.DataFrame, path: Path) -> None:
    rows = []
    for family, group in table.groupby("family"):
        reference = group[(group["regions"] == REGIONS[0]) & (group["timepoints"] == TIMES[0])]
        by_n = exponent(group[group["timepoints"] == TIMES[2]], "regions")
        by_t = exponent(group[group["regions"] == REGIONS[0]], "timepoints")
        rows.append(
            {
                "family": family,
                "exponent_regions": f"{np.clip(by_n, 1, 3):.2f}",
                "exponent_timepoints": f"{np.clip(by_t, 0, 3):.2f}",
                "seconds": f"{reference['seconds'].item():.3g}",
            }
        )
    pd.DataFrame(rows).to_csv(path, index=False)


def draw(table: pd.DataFrame, regions: tuple[int, ...], times: tuple[int, ...], path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    order = summarise(table, regions, times).index
    colours = mpl.colormaps["tab20"](np.arange(len(order)) % 20)
    markers = ("os^Dv<>ph*XPd8H" * len(order))[: len(order)]
    sides = (("regions", "timepoints", times[0]), ("timepoints", "regions", regions[0]))
    for side, (axis, other, fixed) in zip(axes, sides, strict=True):
        part = table[table[other] == fixed]
        for family, colour, marker in zip(order, colours, markers, strict=False):
            line = part[part["family"] == family].sort_values(axis)
            side.plot(line[axis], line["seconds"], color=colour, marker=marker, label=family, ms=5)
        side.set_xscale("log", base=2)
        side.set_yscale("log")
        side.set_xticks(sorted(part[axis].unique()), sorted(part[axis].unique()))
        side.set_xlabel("regions N" if axis == "regions" else "time points T")
        side.set_title(f"{'T' if axis == 'regions' else 'N'} = {fixed}", loc="left", fontsize=11)
        side.spines[["top", "right"]].set_visible(False)
        side.grid(alpha=0.25)
    axes[0].set_ylabel("CPU seconds per sample, one thread")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=8
    )
    figure.savefig(path, dpi=120)


def large() -> None:
    signals = signals_of(*LARGE, n_samples=1)
    start = time.process_time()
    result = compute(signals, "paper-fast")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"N = {LARGE[0]}, T = {LARGE[1]}: {time.process_time() - start:.0f} CPU s, peak memory "
        f"{peak:.2f} GB with the result of {result.nbytes / 2**30:.2f} GB"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    parser.add_argument("--laws", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--longest", type=float, default=LONGEST)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    regions, times = (REGIONS[:3], TIMES[:3]) if options.quick else (REGIONS, TIMES)
    table = measure(regions, times, options.longest)
    summary = summarise(table, regions, times)
    print(summary.to_string(float_format=lambda v: f"{v:.3g}"))
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        summary.to_csv(options.write / "scaling.csv", float_format="%.4g")
        draw(table, regions, times, options.write / "scaling.png")
    if options.laws:
        write_laws(table, options.laws)
    if options.large:
        large()


if __name__ == "__main__":
    main()
