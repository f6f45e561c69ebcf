"""Clusters: how evenly shares are dealt, what a time limit cuts, what parts cost.

    python benchmarks/bench_cluster.py [--store FC ...]

CPU seconds and ratios. Shares of the laws need no store; with ``--store`` they are also added up
from the seconds that a real computation has recorded, which the dealing does not know.
"""

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np

from sclcs import simulate_cohort
from sclcs.compute import FCStore, fill_store, open_computation
from sclcs.compute.cutting import Scissors, longest_within
from sclcs.compute.shares import Work
from sclcs.spi.fc_layout import StoreLayout, block_size_for
from sclcs.spi.packing.ledger import Ledger
from sclcs.spi.runner import family_members
from sclcs.spi.sets import resolve

SHARES = (15, 20, 30, 60)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, action="append", default=[], help="of the fast set")
    options = parser.parse_args()
    print(
        "Slowest share / mean share of the fast set, in turn (as it was) -> cut and dealt by cost"
    )
    print(f"{'':44}" + "".join(f"{count:>16} shares" for count in SHARES))
    for samples, regions, times in [(1535, 33, 70), (1000, 100, 200), (1000, 400, 1200)]:
        layout = StoreLayout(Path("fc"), samples, regions, block_size_for(regions))
        work = Work(layout.pieces(resolve("paper-fast")), Scissors(layout, times, longest=1e12))
        balance(f"laws, {samples} samples of {regions} x {times}", work, work.seconds)
    for path in options.store:
        store = FCStore.open(path)
        layout, seconds = store.layout, recorded(store)
        times = store.n_timepoints
        work = Work(layout.pieces(store.operators), Scissors(layout, times, longest=1e12))
        balance(
            f"recorded, {len(store)} samples of {layout.n_regions} x {times}",
            work,
            lambda part, known=seconds, layout=layout: (
                known[part.piece.family, part.piece.block] * portion(part, layout)
            ),
        )
    limits()
    overhead_of_parts()


def recorded(store):
    """Return the seconds of every family and block."""
    ledger, found = Ledger(store.layout), {}
    for piece in store.layout.pieces(store.operators):
        chunks = ledger.of(piece.family, piece.block)
        found[piece.family, piece.block] = sum(
            chunks[name].entry.seconds for name in piece.operators
        )
    return found


def portion(part, layout):
    """Return the part of a block's samples that a part computes."""
    rows = layout.block_rows(part.piece.block)
    return (part.rows[1] - part.rows[0]) / (rows.stop - rows.start)


def balance(label, work, seconds):
    cells = []
    for count in SHARES:
        ratios = []
        for shares in ([work.parts[k::count] for k in range(count)], work.even(count).deal(count)):
            loads = [sum(map(seconds, parts)) for parts in shares]
            ratios.append(max(loads) / np.mean(loads))
        cells.append(f"{ratios[0]:>12.2f} -> {ratios[1]:.2f}")
    print(f"{label:44}" + "".join(f"{cell:>23}" for cell in cells))


def limits():
    """What is longer than a time limit, and what is left of it."""
    print(
        "\nLongest task by the laws (hours), whole -> cut; parts of one sample; all parts / whole"
    )
    print(
        f"{'':20}{'size':>12}{'limit':>10}{'whole':>10}{'longest part':>14}{'parts':>8}{'cost':>7}"
    )
    cases = [("cross_mapping", 100, 200, 60.0)]
    cases += [
        (family, 400, 1200, 14400.0)
        for family in (
            "dependence", "nearest_neighbour", "causal_pairs", "elastic_barycenter",
            "cross_mapping", "spectral_factor", "regression", "warping", "covariance",
        )
    ]  # fmt: skip
    members = family_members(resolve("all"))
    for family, regions, times, limit in cases:
        layout = StoreLayout(Path("fc"), 1, regions, 1)
        tool = Scissors(layout, times, longest_within(limit))
        (piece,) = layout.pieces(members[family])
        whole, parts = tool.seconds(tool.whole(piece)), tool.cut(piece)
        longest = max(map(tool.seconds, parts))
        cost = sum(map(tool.seconds, parts)) / whole
        print(
            f"{family:20}{f'{regions} x {times}':>12}{f'{limit / 60:.0f} min':>10}"
            f"{whole / 3600:>10.3f}{longest / 3600:>14.3f}{len(parts):>8}{cost:>7.2f}"
        )


def overhead_of_parts():
    """Measure families whole and in parts: CPU seconds in operators."""
    print("\nMeasured on one sample of 40 x 60: CPU seconds in operators, whole and in parts")
    cohort = simulate_cohort(1, 1, 40, length=60, seed=1)
    for family in ("cross_mapping", "dependence", "regression"):
        names = family_members(resolve("all"))[family]
        taken, same = {}, []
        with tempfile.TemporaryDirectory() as folder:
            for label, longest in (("whole", 1e9), ("parts", None)):
                computation = open_computation(cohort, Path(folder) / label, names)
                tool = Scissors(computation.store.layout, 60)
                (piece,) = computation.store.layout.pieces(names)
                limit = longest or tool.seconds(tool.whole(piece)) / 8
                report = fill_store(computation, longest=limit)
                if label == "parts":  # a second time, with all kernels compiled
                    computation = open_computation(cohort, Path(folder) / "again", names)
                    report = fill_store(computation, longest=limit)
                taken[label] = report.kernel_seconds
                taken[f"n {label}"] = report.pieces
                same.append([report.store.matrices(name).tobytes() for name in names])
        equal = "the same bytes" if same[0] == same[1] else "OTHER BYTES"
        ratio = taken["parts"] / taken["whole"]
        print(
            f"{family:20}{taken['whole']:8.2f}{taken['parts']:8.2f} in {taken['n parts']} parts, "
            f"{ratio:.2f} times, {equal}"
        )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
