"""How much CPU time cross-validated prediction takes: 131 operators, 766 subjects, 10 x 10 folds.

Run: python benchmarks/bench_prediction.py [--operators 131] [--permutations 1000]

The matrices are random. Scores and the permutation test are timed apart, on a few operators (all
cost the same); the line for all operators is the mean times their number.
"""

import argparse
import time

import numpy as np
import pandas as pd

from sclcs.stats import CRITERIA, KernelView, make_kernel, make_question
from sclcs.stats.ranking import TRAINED_SPLITS

REGIONS, SUBJECTS, SITES, TIMED = 33, 766, 15, 4
BUDGET = 300.0  # CPU seconds for the scores of all operators


def facts(random):
    return pd.DataFrame(
        {
            "subject": [f"p{k:03d}" for k in range(SUBJECTS)],
            "window": 0,
            "diagnosis": np.where(np.arange(SUBJECTS) % 2, "ASD", "TC"),
            "age": random.uniform(7, 60, SUBJECTS),
            "site": [f"site-{k % SITES}" for k in range(SUBJECTS)],
            "mean_fd": random.uniform(0, 0.5, SUBJECTS),
        },
        index=[f"s{k}" for k in range(SUBJECTS)],
    )


def seconds_of(work, repeats=TIMED):
    start = time.process_time()
    for place in range(repeats):
        work(place)
    return (time.process_time() - start) / repeats


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", type=int, default=131)
    parser.add_argument("--permutations", type=int, default=1000)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    samples = facts(random)
    shape = (TIMED, SUBJECTS, REGIONS, REGIONS)
    kernels = [make_kernel(part) for part in random.normal(size=shape).astype(np.float32)]
    criterion = CRITERIA["predict"]
    for task, more in (
        ("age", {}),
        ("age", {"covariates": "site,mean_fd"}),
        ("diagnosis", {"covariates": "site,mean_fd,age"}),
        ("diagnosis", {"covariates": "mean_fd,age", "harmonise": "site"}),
    ):
        question = make_question(samples, task, **more)
        table = question.permutations(options.permutations)
        criterion.compute(KernelView(kernels[0], question))  # compilation, first touch
        harmonised = "harmonise" in more
        scores = seconds_of(
            lambda k, asked=question: criterion.compute(KernelView(kernels[k], asked)),
            1 if harmonised else TIMED,
        )
        tests = seconds_of(
            lambda k, asked=question, moved=table: criterion.statistics(
                KernelView(kernels[k], asked), moved
            ),
            1,
        )
        halves = question.training_halves(TRAINED_SPLITS)
        worth = seconds_of(
            lambda k, asked=question, split=halves: KernelView(kernels[k], asked).cross_fit(
                criterion.predictions, split
            ),
            1,
        )
        whole = options.operators * scores
        print(
            f"{task} {more or 'without covariates'}: {scores:.2f} CPU s per operator, "
            f"{options.operators} operators {whole:.0f} CPU s"
            f"{'' if harmonised else f' ({whole / BUDGET:.0%} of five minutes)'}; "
            f"{options.permutations} permutations {options.operators * tests:.0f} CPU s more, the "
            f"worth on new subjects {options.operators * worth:.0f} CPU s more"
        )


if __name__ == "__main__":
    main()
