"""The first version and this one, in one run: what docs/scale.md says of both.

    python benchmarks/bench_before.py [--before CHECKOUT] [--only tasks dask status ...]

Every measurement is a process of its own that imports the package from one of the two checkouts,
in turns: CPU per task beyond kernels here and on Dask, the status of a whole store, compiling the
fast set into an empty folder, memory of a ranking. CPU seconds; the smaller of two turns counts.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from checkout import checkout

FIRST = "1759421"  # the last commit of the first version
HERE = Path(__file__).resolve()
#: Eight families, none expensive: what is measured is everything around them.
CHEAP = [
    "cov_EmpiricalCovariance", "kendalltau", "spearmanr", "pec",
    "pdist_cityblock", "xcorr_max_sig-True", "mi_gaussian", "bary_euclidean_mean",
]  # fmt: skip
TASKS = 568


def compute(cohort, out, names, scheduler=None, **options):
    """Fill a store with whichever version is imported; return the CPU seconds in operators."""
    if find_spec("sclcs.runs.costs") is None:
        first = import_module("sclcs.workflow.compute")  # where it was in the first version
        plan = first.plan_compute(cohort, out, names, **options)
        return first.run_plan(plan, scheduler=scheduler).kernel_seconds
    from sclcs.store import fill_store, find_executor, open_computation

    computation = open_computation(cohort, out, names, **options)
    who = [find_executor(f"dask:{scheduler}")] if scheduler else []
    return fill_store(computation, *who).kernel_seconds


def small_cohort(folder):
    """One task per sample and operator."""
    from sclcs import simulate_cohort

    cohort = simulate_cohort(TASKS // len(CHEAP), 1, 33, length=70, seed=1)
    return cohort.save(folder / "cohort.zarr")


def cpu_of_all():
    """CPU seconds of this process and of its children."""
    import psutil

    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in family)


def beyond_kernels(folder, scheduler=None):
    cohort = small_cohort(folder)
    compute(cohort, folder / "warm", CHEAP, scheduler)
    begun = cpu_of_all()
    kernels = compute(cohort, folder / "fc", CHEAP, scheduler, block_size=1)
    return 1000 * (cpu_of_all() - begun - kernels) / TASKS


def tasks(folder):
    """CPU beyond kernels per task, ms"""
    return beyond_kernels(folder)


def dask(folder):
    """the same on Dask, ms"""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False),
    ):
        return beyond_kernels(folder, cluster.scheduler_address)


def status(folder):
    """status of a whole store, ms per family and block"""
    from sclcs.store import FCStore

    compute(small_cohort(folder), folder / "fc", CHEAP, block_size=1)
    store = FCStore.open(folder / "fc")
    begun = time.process_time()
    store.status()
    return 1000 * (time.process_time() - begun) / TASKS


def compiling(_):
    """compiling the fast set in one process, CPU s"""
    from sclcs.spi import engine as warmup, resolve

    begun = time.process_time()
    if hasattr(warmup, "warm_up"):  # the first version
        warmup.warm_up(resolve("paper-fast"), 100)
    else:
        for part in warmup.warm_ups(resolve("paper-fast"), 100):
            part()
    return time.process_time() - begun


def memory(folder, task="diagnosis", subjects=2000, regions=10):
    """ranking 4000 samples by a label, bytes per pair of samples"""
    from bench_memory import peak
    from sclcs import simulate_cohort
    from sclcs.stats import rank
    from sclcs.store import FCStore

    child = os.fork()  # what the computation holds is not counted
    if child == 0:
        cohort = simulate_cohort(subjects, 2, regions, length=40, stride=40, seed=1)
        compute(cohort.save(folder / "cohort.zarr"), folder / "fc", CHEAP[:1])
        os._exit(0)
    os.waitpid(child, 0)
    store = FCStore.open(folder / "fc")
    begun = peak()
    rank(store, task, bootstrap=100)
    return (peak() - begun) / len(store) ** 2


def memory_subject(folder):
    """the same for fingerprinting"""
    return memory(folder, "subject")


def memory_matrices(folder):
    """ranking 1000 samples of 200 regions, bytes per number of a matrix"""
    samples, regions = 1000, 200
    return memory(folder, subjects=samples // 2, regions=regions) * samples / regions**2


MEASUREMENTS = {
    measure.__name__: measure
    for measure in (tasks, dask, status, compiling, memory, memory_subject, memory_matrices)
}


def measured(tree, name):
    """Measure one of the checkouts in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
        if name == "compiling":
            environment["NUMBA_CACHE_DIR"] = folder
        command = [sys.executable, str(HERE), "--measure", name, folder]
        done = subprocess.run(command, env=environment, check=True, text=True, capture_output=True)
        return float(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="a checkout; by default one is made")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    given = parser.parse_args()
    print(f"{'':68}{'first':>8}{'now':>8}")
    with checkout(FIRST, given.before) as before:
        for name in given.only:
            turns = [[measured(tree, name) for tree in (before, HERE.parents[1])] for _ in "12"]
            first, now = (min(values) for values in zip(*turns, strict=True))
            print(f"{MEASUREMENTS[name].__doc__:68}{first:>8.2f}{now:>8.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(MEASUREMENTS[sys.argv[2]](Path(sys.argv[3])))
    else:
        main()
