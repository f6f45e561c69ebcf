"""What it costs to compute the fast set in waves that fit on a disk, instead of all at once.

    python benchmarks/bench_waves.py [--samples 10000] [--regions 400] [--timepoints 490]

Operators of a family share work, which is done again in every wave that has some of them. One
sample is computed whole and wave by wave; the waves are those of a run on so many samples.
"""

import argparse
import time

import numpy as np

from sclcs.runs.waves import matrix_bytes, waves_of
from sclcs.spi import compute_batch as compute, family_members, resolve, warm_up


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--regions", type=int, default=400)
    parser.add_argument("--timepoints", type=int, default=490)
    parser.add_argument("--disk", nargs="+", default=["50G", "20G"])
    given = parser.parse_args()
    operators = resolve(["paper-fast"])
    signals = np.random.default_rng(1).normal(size=(1, given.regions, given.timepoints))
    signals = signals.cumsum(axis=2) * 0.1 + signals
    warm_up(operators, given.timepoints)
    print(f"{len(operators)} operators, {given.regions} regions x {given.timepoints} time points")
    whole = seconds(signals, [operators])
    size = len(operators) * matrix_bytes(given.samples, given.regions)
    print(f"all at once: {size / 1e9:.0f} GB for {given.samples} samples, {whole:.1f} CPU s each")
    for disk in given.disk:
        waves = waves_of(operators, given.samples, given.regions, disk)
        largest = max(len(wave) * matrix_bytes(given.samples, given.regions) for wave in waves)
        cut = [f for f in family_members(operators) if len(homes(f, waves)) > 1]
        spent = seconds(signals, waves)
        print(
            f"--disk {disk}: {len(waves)} waves of at most {largest / 1e9:.0f} GB, {spent:.1f} CPU "
            f"s each, {spent / whole:.2f} times; families in several waves: {', '.join(cut)}"
        )


def homes(family, waves):
    return [wave for wave in waves if family in family_members(wave)]


def seconds(signals, waves):
    begun = time.process_time()
    for wave in waves:
        compute(signals, wave)
    return time.process_time() - begun


if __name__ == "__main__":
    main()
