"""What the check of arguments costs per call of a public function, beside an empty Python call.

The checks alone are timed (the functions are not called): CPU time of the fastest of several
rounds. The target is 5 microseconds.
"""

import sys
import time

import numpy as np

import sclcs
from sclcs._core import check_arguments
from sclcs.store import compute_store

CALLS, ROUNDS, TARGET = 20_000, 15, 5.0
COHORT = sclcs.simulate_cohort(4, 1, 4, length=30, stride=30, seed=1)
CHECKED = {
    "run": (sclcs.run, (COHORT,), {"task": ["age"], "covariates": ("site",), "out": "RUN"}),
    "rank": (sclcs.rank, (COHORT, "age"), {"covariates": ["site"], "permutations": 9, "seed": 1}),
    "compute_store": (compute_store, ("c", "fc"), {"spis": ["pec"], "coreset": ["a"] * 20}),
    "Cohort.take, 100 names": (sclcs.Cohort.take, (COHORT, ["a"] * 100), {}),
    "Cohort.take, 1e6 rows": (sclcs.Cohort.take, (COHORT, np.arange(10**6)), {}),
}


def microseconds(function):
    rounds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(CALLS):
            function()
        rounds.append(time.process_time() - started)
    return 1e6 * min(rounds) / CALLS


def main():
    empty = microseconds(lambda: None)
    print(f"{'empty call':<24}{empty:8.2f} us")
    slow = []
    for name, (function, args, kwargs) in CHECKED.items():
        door = function.__wrapped__
        taken = microseconds(lambda d=door, a=args, k=kwargs: check_arguments(d, a, k)) - empty
        print(f"{name:<24}{taken:8.2f} us {taken / empty:6.1f} empty calls")
        slow += [name] if taken > TARGET else []
    if slow:
        sys.exit(f"Above {TARGET:g} us: {', '.join(slow)}")


if __name__ == "__main__":
    main()
