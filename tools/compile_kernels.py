"""Compile the kernels of every operator into the cache on disk, each once, on all processors.

Run: .venv/bin/python tools/compile_kernels.py [--jobs 2]

Processes that meet a kernel for the first time at the same moment all compile it. Here every
family is compiled by one process; what tests, docs and benchmarks start afterwards only loads.
Kernels that are in the cache already are loaded, which takes seconds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor

from sclcs.spi import operator_facts, warm_up

N_TIMES = 70


def compile_family(family: str, members: list[str]) -> str:
    """Run the operators of a family on a tiny batch."""
    started = time.process_time()
    warm_up(members, N_TIMES)
    return f"{family}: {time.process_time() - started:.1f} CPU s"


def main() -> None:
    """Deal the families out, the largest first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args()
    families: dict[str, list[str]] = defaultdict(list)
    for name, facts in operator_facts().items():
        families[facts.family].append(name)
    order = sorted(families, key=lambda family: -len(families[family]))
    with ProcessPoolExecutor(options.jobs) as pool:
        for line in pool.map(compile_family, order, [families[name] for name in order]):
            print(line, flush=True)


if __name__ == "__main__":
    main()
