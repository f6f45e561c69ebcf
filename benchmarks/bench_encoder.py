"""CPU time, memory and arithmetic rate of the encoder against a straightforward loop.

    python benchmarks/bench_encoder.py [--subjects 904] [--epochs 50] [--timed-epochs 3]
    python benchmarks/bench_encoder.py --large

904 x 5 windows of 33 x 70, 16 heads of width 32, two threads. Each measurement runs in its
own process, one after the other; figures are CPU seconds, because the machine may be shared.

ours        train_encoder, preset `paper`
plain       the same work from `plain_encoder.py`: heads in a loop, every map kept
sleepy      plain again with OMP_WAIT_POLICY=PASSIVE: torch's threads sleep while they wait
            for each other instead of burning CPU time
products    nothing but the matrix products of one epoch, of the same shapes, PASSIVE too

--large: what a training and the panel cost with 400 regions and 1200 time points, for the table
of docs/choosing.md.

Expected: ratio of CPU time at least 3, of memory at most 1/5, rate at least 40 % of the
products alone. Memory is the peak above what the process holds before training starts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

REGIONS, LENGTH, WINDOWS, HEADS, DIM, BATCH = 33, 70, 5, 16, 32, 64


def main() -> None:
    options = parse()
    if options.large:
        large()
        return
    if options.part:
        print(json.dumps(PARTS[options.part](options)))
        return
    environment = os.environ | {
        "OMP_NUM_THREADS": str(options.threads),
        "MKL_NUM_THREADS": str(options.threads),
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    found = {}
    for part in PARTS:
        command = [sys.executable, __file__, *sys.argv[1:], "--part", part]
        done = subprocess.run(
            command, env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
        found[part] = json.loads(done.stdout.splitlines()[-1])
    report(found, options)


def large() -> None:
    """Print CPU seconds per sample: one epoch, and the panel."""
    from sclcs import compute, simulate_cohort
    from sclcs.coresets import train_encoder

    regions, length = 400, 1200
    cohort = simulate_cohort(8, 5, regions, length=length, stride=length, seed=1)
    seconds = {}
    for epochs in (1, 1, 5):  # the first loads torch
        start = time.process_time()
        train_encoder(cohort, epochs=epochs, device="cpu")
        seconds[epochs] = time.process_time() - start
    scans = [sample.T for sample in cohort.signals[:3]]
    compute(scans[:1], "panel")  # compiles
    start = time.process_time()
    compute(scans, "panel")
    panel = (time.process_time() - start) / len(scans)
    print(f"{regions} regions x {length} time points, CPU seconds of one sample")
    print(f"one epoch of the encoder {(seconds[5] - seconds[1]) / 4 / len(cohort):.4f}")
    print(f"panel {panel:.3f}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=904)
    parser.add_argument("--epochs", type=int, default=50, help="epochs of the memory figures")
    parser.add_argument("--timed-epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--part", choices=list(PARTS))
    return parser.parse_args()


def make_cohort(subjects: int):
    """Noise has the right shapes, and takes no time to simulate."""
    import numpy as np
    import pandas as pd

    from sclcs import Cohort

    n = subjects * WINDOWS
    signals = np.random.default_rng(0).standard_normal((n, REGIONS, LENGTH), dtype=np.float32)
    table = pd.DataFrame(
        {
            "subject": np.repeat([f"s{i:04d}" for i in range(subjects)], WINDOWS),
            "window": np.tile(np.arange(WINDOWS), subjects),
        },
        index=[f"s{i:04d}_w{w}" for i in range(subjects) for w in range(WINDOWS)],
    )
    return Cohort(signals, table)


def held_now() -> float:
    import psutil

    return psutil.Process().memory_info().rss / 1e6


def peak() -> float:
    # Linux counts kilobytes, macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1e6 if sys.platform == "darwin" else 1e3
    )


def summary(epoch_seconds: list[float], before: float) -> dict[str, float]:
    return {"epoch": min(epoch_seconds), "memory": peak() - before, "total_memory": peak()}


def ours(options) -> dict[str, float]:
    import torch._dynamo  # noqa: F401 (torch.optim loads it at the first step)

    from sclcs.coresets import train_encoder
    from sclcs.coresets.encoder_training import EncoderTraining

    cohort = make_cohort(options.subjects)
    seconds: list[float] = []
    plain_epoch = EncoderTraining.train_epoch

    def timed(training) -> None:
        start = time.process_time()
        plain_epoch(training)
        seconds.append(time.process_time() - start)

    EncoderTraining.train_epoch = timed
    before = held_now()
    train_encoder(cohort, "paper", epochs=options.epochs, heads=HEADS, dim=DIM, device="cpu")
    return summary(seconds, before) | {"mean_epoch": sum(seconds) / len(seconds)}


def plain(options) -> dict[str, float]:
    import torch
    import torch._dynamo

    from plain_encoder import PlainTraining
    from sclcs.coresets.encoder_training import find_pairs

    cohort = make_cohort(options.subjects)
    before = held_now()
    pairs = find_pairs(cohort.samples, LENGTH, allow_overlap=True)
    training = PlainTraining(torch.from_numpy(cohort.signals), pairs, HEADS, DIM, BATCH)
    seconds = []
    for _ in range(options.timed_epochs):
        start = time.process_time()
        training.train_epoch()
        seconds.append(time.process_time() - start)
    for _ in range(options.epochs - options.timed_epochs):
        training.epoch += 1
        training.kept.append(training.kept[-1].clone())  # what fills memory
    start = time.process_time()
    training.scores()
    scoring = (time.process_time() - start) / options.epochs  # ours scores inside the epoch
    return summary([second + scoring for second in seconds], before)


def products(options) -> dict[str, float]:
    """Run only the matrix products of one epoch: training batches, then blocks of the pass."""
    import torch

    from sclcs.coresets.attention import BLOCK

    samples = options.subjects * WINDOWS
    batches = [2 * BATCH] * (options.subjects // BATCH)
    batches += [2 * (options.subjects % BATCH)] if options.subjects % BATCH else []
    blocks = [BLOCK] * (samples // BLOCK) + ([samples % BLOCK] if samples % BLOCK else [])
    makers = {size: product_set(torch, size) for size in {*batches, *blocks}}

    def epoch() -> None:
        for size in batches:
            makers[size][0]()
            makers[size][1]()
        for size in blocks:
            makers[size][0]()

    epoch()
    seconds = []
    for _ in range(5):
        start = time.process_time()
        epoch()
        seconds.append(time.process_time() - start)
    forward = 2 * REGIONS * (2 * HEADS * DIM * (LENGTH + 1) + REGIONS * HEADS * DIM)
    operations = forward * (samples + 3 * sum(batches)) - forward_of_inputs(sum(batches))
    return {"epoch": min(seconds), "operations": operations}


def forward_of_inputs(samples: int) -> int:
    """Return operations counted twice: no gradient flows to the inputs."""
    return samples * 2 * REGIONS * 2 * HEADS * DIM * (LENGTH + 1)


def product_set(torch, size: int):
    tokens = torch.randn(size * REGIONS, LENGTH + 1)
    weight = torch.randn(2 * HEADS, LENGTH + 1, DIM)
    projected = torch.empty(2 * HEADS, size * REGIONS, DIM)
    queries, keys = torch.randn(2, HEADS * size, REGIONS, DIM)
    scores = torch.empty(HEADS * size, REGIONS, REGIONS)
    gradient = torch.empty(HEADS * size, REGIONS, DIM)

    def forward() -> None:
        torch.bmm(tokens.expand(2 * HEADS, *tokens.shape), weight, out=projected)
        torch.bmm(queries, keys.transpose(1, 2), out=scores)

    def backward() -> None:
        torch.bmm(scores, keys, out=gradient)
        torch.bmm(scores.transpose(1, 2), queries, out=gradient)
        torch.bmm(tokens.t().expand(2 * HEADS, *tokens.t().shape), projected)

    return forward, backward


def report(found: dict[str, dict[str, float]], options: argparse.Namespace) -> None:
    our, other, bare = found["ours"], found["plain"], found["products"]
    sleepy = found["sleepy"]
    rate = bare["operations"] / 1e9
    print(
        f"{options.subjects} x {WINDOWS} windows, {HEADS} heads x {DIM}, {options.threads} threads"
    )
    print(
        f"CPU per epoch: ours {our['epoch']:.2f} s (mean {our['mean_epoch']:.2f}), "
        f"plain {other['epoch']:.2f} s, ratio {other['epoch'] / our['epoch']:.1f} (expected >= 3); "
        f"plain with sleeping threads {sleepy['epoch']:.2f} s, "
        f"ratio {sleepy['epoch'] / our['epoch']:.1f}"
    )
    print(
        f"memory of {options.epochs} epochs: ours {our['memory']:.0f} MB, "
        f"plain {other['memory']:.0f} MB, ratio 1/{other['memory'] / our['memory']:.1f} "
        f"(expected <= 1/5; whole process {our['total_memory']:.0f} and "
        f"{other['total_memory']:.0f} MB)"
    )
    print(
        f"rate: ours {rate / our['epoch']:.1f} GFLOP per CPU s, products alone "
        f"{rate / bare['epoch']:.1f}, share {bare['epoch'] / our['epoch']:.0%} (expected >= 40 %)"
    )
    print(f"200 epochs with scores: about {200 * our['mean_epoch'] / 60:.1f} CPU minutes")


PARTS = {"ours": ours, "plain": plain, "sleepy": plain, "products": products}
SLEEPING = {"sleepy", "products"}

if __name__ == "__main__":
    main()
