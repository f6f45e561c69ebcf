"""What a ranking loses if random projections of matrices are kept instead of matrices.

    python benchmarks/bench_projection.py FC_STORE [FC_STORE ...]

A matrix becomes its unit vector (centred, scaled ranks), and that becomes `dimension` numbers: its
products with random directions, the same for all samples. Similarities are the products of what is
kept. Rankings of all operators of a store from these are compared with the exact ones: Kendall's
tau, nDCG of the first ten, and how much worse the operator is that would be chosen (regret, as a
share of the best score). Unit vectors themselves (float32) give the exact ranking.
"""

import argparse
from functools import lru_cache

import numpy as np
from scipy.stats import kendalltau

from sclcs.stats import Kernel, KernelView, find_criterion, make_kernel, make_question
from sclcs.store import FCStore

DIMENSIONS = (64, 256, 1024)
TASKS = ("diagnosis", "subject")


@lru_cache(maxsize=16)
def directions_of(n_edges, dimension, seed):
    rng = np.random.default_rng([seed, dimension])
    return rng.standard_normal((n_edges, dimension), np.float32)


def projected(kernel, dimension, seed):
    kept = kernel.units @ directions_of(kernel.units.shape[1], dimension, seed)
    lengths = np.linalg.norm(kept, axis=1, keepdims=True)
    return Kernel(kept / np.where(lengths > 0, lengths, 1), kernel.usable, kernel.screen)


def ndcg(exact, other, first=10):
    gains = exact - exact.min()
    discounts = 1 / np.log2(np.arange(2, first + 2))
    best = np.sort(gains)[::-1][:first] @ discounts
    return gains[np.argsort(-other, kind="stable")[:first]] @ discounts / best


def scores(store, task, seeds):
    question = make_question(store.samples, task, n_timepoints=store.n_timepoints)
    criterion = find_criterion(None, question.target)
    found = {}
    for name in store.complete_operators:
        kernel = make_kernel(store.matrices(name), rows=question.rows)
        if not kernel.screen.usable.all():
            continue
        kinds = {("exact", 0): kernel}
        kinds |= {(d, s): projected(kernel, d, s) for d in DIMENSIONS for s in range(seeds)}
        for key, one in kinds.items():
            value = float(criterion.compute(KernelView(one, question))[0])
            found.setdefault(key, []).append(value)
    return {key: np.array(values) for key, values in found.items()}, criterion.name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stores", nargs="+")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    given = parser.parse_args()
    for path in given.stores:
        store = FCStore.open(path)
        for task in given.tasks:
            found, score = scores(store, task, given.seeds)
            exact = found["exact", 0]
            print(f"\n{path}: {len(store)} samples, {len(store.regions)} regions, {task} ({score})")
            print(f"{len(exact)} operators; kept per sample   bytes  Kendall    nDCG@10   regret")
            for dimension in DIMENSIONS:
                others = [found[dimension, seed] for seed in range(given.seeds)]
                taus = [kendalltau(exact, other).statistic for other in others]
                gains = [ndcg(exact, other) for other in others]
                losses = [1 - exact[np.argmax(other)] / exact.max() for other in others]
                print(
                    f"{dimension:22d} numbers {dimension * 4:10,}   {min(taus):.3f}      "
                    f"{min(gains):.3f}     {max(losses):.3f}",
                    flush=True,
                )
    print(f"\nthe worst of {given.seeds} random projections; the same projection for all operators")


if __name__ == "__main__":
    main()
