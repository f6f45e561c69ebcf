"""How long a newcomer waits until the kernels are compiled, in one process and in two.

    python benchmarks/bench_start.py [--spis paper-fast]

An empty folder for compiled kernels, as on the first day. Machines are busy, so it is CPU seconds
that count: of all processes together, and of the one that has most to do, which is how long one
waits with a processor for each.
"""

import argparse
import os
import tempfile
import time
from functools import partial
from pathlib import Path

TIMES = 100


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spis", nargs="+", default=["paper-fast"])
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2])
    given = parser.parse_args()
    for processes in given.processes:
        with tempfile.TemporaryDirectory() as cache:
            # A child, because numba reads the variable once; its workers inherit it.
            os.environ["NUMBA_CACHE_DIR"] = cache
            child = os.fork()
            if child == 0:
                measure(given.spis, processes, Path(cache))
                os._exit(0)
            os.waitpid(child, 0)


def measure(spis, processes, folder):
    from sclcs.spi import resolve, warm_ups
    from sclcs.store.executors.local import LocalExecutor

    operators = resolve(spis)
    log = folder / "spent"
    parts = [partial(timed, part, log) for part in warm_ups(operators, TIMES)]
    LocalExecutor(processes).prepare(parts)
    spent, families = {}, []
    for line in log.read_text().splitlines():
        pid, seconds, name = line.split()
        spent[pid] = spent.get(pid, 0.0) + float(seconds)
        families.append((float(seconds), name))
    longest = ", ".join(f"{name} {seconds:.0f}" for seconds, name in sorted(families)[::-1][:6])
    print(
        f"{len(operators)} operators, {processes} processes: {sum(spent.values()):.0f} CPU s, "
        f"{max(spent.values()):.0f} in the busiest; {longest}",
        flush=True,
    )


def timed(part, log):
    from sclcs.spi import operator_facts

    started = time.process_time()
    part()
    family = operator_facts()[part.args[0][0]].family
    with log.open("a") as stream:
        stream.write(f"{os.getpid()} {time.process_time() - started} {family}\n")


if __name__ == "__main__":
    main()
