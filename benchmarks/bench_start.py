"""How long a newcomer waits until the kernels are compiled: the fast set and the whole catalogue.

    python benchmarks/bench_start.py [--spis paper-fast all]

The first `compute` of a new process, with an empty folder for compiled kernels and once more with
what the first left there. Machines are busy, so it is CPU seconds that count. The families are
those that cost most, alone in their order: what two share is compiled with the first.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

REGIONS, TIMES = 33, 70

CHILD = f"""
import json, sys, time
import numpy as np
import sclcs.spi
from sclcs.spi.engine import warm_ups
from sclcs.spi.operators import operator_facts
signals = np.random.default_rng(0).normal(size=({TIMES}, {REGIONS}))
names, spent = sclcs.spi.resolve(sys.argv[1]), {{}}
if sys.argv[2] == "families":
    for part in warm_ups(names, {TIMES}):
        started = time.process_time()
        part()
        spent[operator_facts()[part.args[0][0]].family] = time.process_time() - started
else:
    started = time.process_time()
    sclcs.spi.compute(signals, names)
    spent["all"] = time.process_time() - started
print(json.dumps([len(names), spent]))
"""


def measure(spis, what, folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    command = [sys.executable, "-c", CHILD, spis, what]
    return json.loads(subprocess.check_output(command, env=environment, text=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spis", nargs="+", default=["paper-fast", "all"])
    print(f"first compute of {REGIONS} x {TIMES} in a new process, CPU seconds")
    for spis in parser.parse_args().spis:
        with tempfile.TemporaryDirectory() as folder:
            count, first = measure(spis, "all", folder)
            _, again = measure(spis, "all", folder)
        print(f"{spis} ({count} operators): {first['all']:.1f} compiling, {again['all']:.1f} after")
        with tempfile.TemporaryDirectory() as folder:
            _, families = measure(spis, "families", folder)
        longest = sorted(families.items(), key=lambda item: -item[1])[:12]
        print("  " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in longest), flush=True)


if __name__ == "__main__":
    main()
