"""What the test for an effect costs: views, permutations, redraws and scatter of all operators.

Run: python benchmarks/bench_decision.py [--operators 131] [--subjects 766] [--regions 33]

The primal form (sclcs.decision: both views, ridge, strongest edge) against the kernel form
(sclcs.stats: patterns alone) in one run, on random matrices of which half are undirected. CPU
seconds of one thread for all operators, from a few of them; memory beyond the matrices, traced.
"""

import argparse
import time
import tracemalloc

import numpy as np

from sclcs.stats import effect_finding, make_design, make_features, make_kernel, operator_effects
from sclcs.stats.permutations import permutation_table
from sclcs.stats.share import make_share_model

BUDGET = 20.0


def primal(matrices, design, *, scatter):
    return operator_effects(make_features(matrices), design, scatter=scatter)


def by_kernel(matrices, design, *, scatter):
    kernel, model = make_kernel(matrices), design.model
    units = kernel.units.astype(np.float64)
    products = units @ units.T
    model.statistics(products, design.permutations)
    model.drawn(products, design.redraws.times)
    if scatter:
        model.permuted_noise(products, design.permutations)


def cost(work, tables, design, *, scatter):
    """Return CPU seconds per operator, and the peak of memory in MB."""
    work(tables[0], design, scatter=scatter)  # compiles, prepares
    before = time.process_time()
    for matrices in tables:
        work(matrices, design, scatter=scatter)
    seconds = (time.process_time() - before) / len(tables)
    tracemalloc.start()
    work(tables[-1], design, scatter=scatter)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--operators", type=int, default=131)
    parser.add_argument("--subjects", type=int, default=766)
    parser.add_argument("--regions", type=int, default=33)
    parser.add_argument("--permutations", type=int, default=1000)
    parser.add_argument("--halves", type=int, default=200)
    parser.add_argument("--measured", type=int, default=8, help="operators that are measured")
    parser.add_argument("--without-kernels", action="store_true", help="where they do not fit")
    options = parser.parse_args()
    n, random = options.subjects, np.random.default_rng(0)
    base = random.standard_normal((n, options.regions, options.regions), dtype=np.float32)
    tables = [np.roll(base, i, axis=0) for i in range(options.measured)]
    tables = [one + one.transpose(0, 2, 1) if i % 2 else one for i, one in enumerate(tables)]
    classes, site = random.integers(0, 2, n), random.integers(0, 15, n)
    numbers = random.standard_normal((n, 3))
    sites = (site[:, None] == np.arange(1, 15)).astype(float)
    print(
        f"{options.operators} operators, {n} subjects, {options.regions} regions, "
        f"{options.permutations} permutations, {options.halves} halves\n"
        f"bar: the test in under {BUDGET:.0f} CPU seconds\n"
    )
    permutations = permutation_table(site, options.permutations)
    halves = np.repeat((random.random((options.halves // 2, n)) < 0.5).astype(float), 2, axis=0)
    halves[1::2] = 1 - halves[::2]
    for name, columns in (
        ("no covariates", np.ones((n, 1))),
        ("15 sites and 3 numbers", np.hstack([np.ones((n, 1)), sites, numbers])),
    ):
        model = make_share_model(classes, columns, number=False)
        for what, design, scatter in (
            ("test", make_design(model, permutations), False),
            ("test and scatter", make_design(model, permutations), True),
            ("test and halves", make_design(model, permutations, halves), False),
        ):
            line = f"{name:23s} {what:17s}"
            ways = (("primal, 2 views", primal), ("kernel, 1 view", by_kernel))
            for way, work in ways[: 1 if options.without_kernels else 2]:
                seconds, peak = cost(work, tables, design, scatter=scatter)
                line += f"  {way}: {seconds * options.operators:6.1f} s {peak:6.0f} MB"
            print(line, flush=True)
    effects = {str(i): primal(one, design, scatter=False) for i, one in enumerate(tables)}
    effects = {str(i): effects[str(i % len(tables))] for i in range(options.operators)}
    before = time.process_time()
    effect_finding(effects)
    print(f"\nfamily-wise test of all operators: {time.process_time() - before:.2f} s")


if __name__ == "__main__":
    main()
