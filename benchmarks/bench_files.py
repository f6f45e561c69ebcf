"""How many files and bytes an FC store has, before and after sharding.

A store of 1000 scans in blocks of one scan is really written, as at 400 regions, but with matrices
of few regions (random numbers), so that it fits on any disk; its files are counted while pieces
wait and when all are packed, and compared with the formula from which larger cohorts follow. Bytes
per scan are those of matrices of 400 regions, written one shard at a time.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from sclcs.cohort.cohort import Cohort
from sclcs.spi import resolve
from sclcs.spi.catalogue import operator_facts
from sclcs.spi.fc_layout import block_size_for, blocks_per_shard_for
from sclcs.spi.fc_writer import add_operators, create_store, write_piece
from sclcs.spi.runner import family_members
from sclcs.spi.status import OperatorOutcome, Status

REGIONS, FEW_REGIONS = 400, 8
COHORTS = (1000, 10_000, 50_000)
FIXED = 6  # zarr.json twice, samples.csv, seal.json, operators.json, a lock


def cohort_of(scans, regions, rng):
    table = pd.DataFrame({"subject": [f"p{k}" for k in range(scans)], "window": 0})
    table.index = [f"s{k}" for k in range(scans)]
    warnings.simplefilter("ignore")  # three time points are enough for a table of samples
    return Cohort(rng.normal(size=(scans, regions, 3)).astype(np.float32), table)


def files_in(store):
    """Count the files; locks as one, because a computation removes the others when it ends."""
    places = store.path.rglob("*")
    return 1 + sum(1 for path in places if path.is_file() and path.parent.name != ".lock")


def formulas(scans, members):
    """Files up to format 3, now, and while as many pieces as possible wait."""
    operators = sum(map(len, members.values()))
    block = block_size_for(REGIONS)
    blocks = -(-scans // block)
    shards = -(-blocks // blocks_per_shard_for(scans, REGIONS, block))
    old = FIXED - 1 + operators + blocks * (operators + len(members))
    new = FIXED + operators + shards * (operators + len(members))
    waiting = new + (blocks - shards) * len(members)
    return old, new, waiting


def outcome(regions, rng):
    upper = np.triu(rng.normal(size=(1, regions, regions)), 1)
    matrices = upper + upper.transpose(0, 2, 1)
    matrices[:, np.arange(regions), np.arange(regions)] = np.nan
    return OperatorOutcome(matrices, [Status.OK], [""], 0.1)


def write(folder, scans, regions, operators, rng):
    """Write every piece, those of a family one after another; return the most files on the way."""
    cohort = cohort_of(scans, regions, rng)
    store = create_store(folder, cohort, cohort.fingerprint, block_size=block_size_for(REGIONS))
    add_operators(store, operators)
    most = 0
    for place, piece in enumerate(store.missing()):
        write_piece(store.layout, piece, {n: outcome(regions, rng) for n in piece.operators})
        if place % 500 == 0:
            most = max(most, files_in(store))
    return store, most


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--scans", type=int, default=1000)
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    operators = resolve("paper-fast")
    members = family_members(operators)
    with tempfile.TemporaryDirectory() as home:
        store, most = write(Path(home) / "fc", given.scans, FEW_REGIONS, operators, rng)
        old, new, _ = formulas(given.scans, members)
        found = files_in(store)
        if found != new or store.missing():
            raise SystemExit(f"{found} files, but {new} were expected: the formula is wrong")
        print(f"written: {given.scans} scans, {len(operators)} operators, {len(members)} families")
        print(f"files before {old:,}, now {found:,} (at most {most:,} on the way)")
        print(f"times fewer: {old / found:.1f}\n")
    print("by the same formula    before       now   most while an array of jobs is at work")
    for scans in COHORTS:
        old, new, waiting = formulas(scans, members)
        print(f"{scans:10,} scans {old:14,} {new:9,} {waiting:9,}")
    print_bytes(operators, rng)


def print_bytes(operators, rng):
    """Measure matrices of 400 regions, one shard of each kind."""
    symmetric = [name for name in operators if operator_facts()[name].symmetric]
    directed = [name for name in operators if name not in symmetric]
    with tempfile.TemporaryDirectory() as home:
        chosen = [symmetric[0], directed[0]]
        store, _ = write(Path(home) / "fc", 64, REGIONS, chosen, rng)
        half, whole = (store.layout.shard_file(name, 0).stat().st_size / 64 for name in chosen)
    print(f"\nbytes of a matrix of {REGIONS} regions (random numbers, hardly compressible)")
    print(f"before {whole:,.0f}; now {half:,.0f} of {len(symmetric)} symmetric operators")
    now = len(symmetric) * half + len(directed) * whole
    for scans in COHORTS:
        before = len(operators) * whole * scans / 1e12
        print(f"{scans:10,} scans: {before:6.3f} TB before, {now * scans / 1e12:6.3f} TB now")


if __name__ == "__main__":
    main()
