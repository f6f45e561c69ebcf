"""Run the tests of the operators as other processors would: BLAS kernels, generic machine code.

Run: .venv/bin/python tools/try_processors.py [--jobs 2] [NAME ...]

OpenBLAS has kernels for families of processors, and numba compiles for the one it runs on. Both
can be told to take another one; a kernel whose instructions this processor lacks cannot run, and
is named instead. One pass per processor; exits with 1 if one fails.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
TESTS = ["test_processors.py", "test_agreement.py", "test_conformance.py", "families"]
AVX2 = ("AVX2", "FMA3")
WHICH_KERNEL = (
    "import numpy, scipy.linalg; from threadpoolctl import threadpool_info;"
    "print('+'.join(sorted({str(pool.get('architecture')) for pool in threadpool_info()"
    " if pool['user_api'] == 'blas'})))"
)


@dataclass(frozen=True)
class Processor:
    """One to be tried: what must be set, and what this machine must be able to do."""

    name: str
    settings: dict[str, str]
    needs: tuple[str, ...] = ()
    tests: list[str] = field(default_factory=lambda: TESTS)
    options: tuple[str, ...] = ()


PROCESSORS = [
    # Everything is compiled again, in a folder of its own: the longest pass, so it comes first.
    Processor(
        "generic",
        {"NUMBA_CPU_NAME": "generic"},
        tests=["test_processors.py", "test_agreement.py"],
        options=("-k", "not 2x100 and not 3x37 and not 6x71 and not 4x240 and not wide_20x16"),
    ),
    Processor("Haswell", {"OPENBLAS_CORETYPE": "Haswell"}, AVX2),
    Processor("SkylakeX", {"OPENBLAS_CORETYPE": "SkylakeX"}, ("AVX512_SKX",)),
    Processor("Zen", {"OPENBLAS_CORETYPE": "Zen"}, AVX2),
    Processor("Nehalem", {"OPENBLAS_CORETYPE": "Nehalem"}, ("SSE42",)),
]


def why_not(processor: Processor) -> str:
    """Say why a processor cannot be tried here; empty if it can."""
    if not processor.needs:
        return ""
    if platform.machine() not in {"x86_64", "AMD64"}:
        return f"this is a {platform.machine()} machine, which has other kernels"
    from numpy._core._multiarray_umath import __cpu_features__ as features

    lacking = [name for name in processor.needs if not features.get(name)]
    return f"this machine has no {' and no '.join(lacking)}" if lacking else ""


def attempt(processor: Processor, cache: Path) -> tuple[int, str]:
    """Run the tests as on another processor; return pytest's code, and what there is to say."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = os.environ | dict.fromkeys(threads, "1") | processor.settings
    if "NUMBA_CPU_NAME" in processor.settings:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    ask = [sys.executable, "-c", WHICH_KERNEL]
    asked = subprocess.run(ask, env=environment, capture_output=True, text=True, check=False)
    kernel = asked.stdout.strip()
    if asked.returncode:
        return 1, f"{processor.name}: numpy and scipy do not load\n{asked.stderr}"
    start = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-warnings"]
    command += [*processor.options, *(f"tests/spi/{name}" for name in processor.tests)]
    done = subprocess.run(
        command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    last = done.stdout.strip().rpartition("\n")[2]
    words = f"{processor.name} (BLAS kernel {kernel}): {last} [{time.monotonic() - start:.0f} s]"
    if done.returncode:
        words += f"\n{done.stdout}\n{done.stderr}"
    return done.returncode, words


def main() -> int:
    """Try all processors, some at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of the processors; all by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="passes at a time")
    options = parser.parse_args()
    wanted = [p for p in PROCESSORS if not options.names or p.name in options.names]
    possible = [p for p in wanted if not why_not(p)]
    for processor in wanted:
        if processor not in possible:
            print(f"EXTRA CHECK LOST: {processor.name} is not tried: {why_not(processor)}")
    codes = []
    with (
        tempfile.TemporaryDirectory(prefix="sclcs-numba-") as cache,
        ThreadPoolExecutor(max(1, options.jobs or 1)) as pool,
    ):
        for code, words in pool.map(lambda p: attempt(p, Path(cache)), possible):
            print(words, flush=True)
            codes.append(code)
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
