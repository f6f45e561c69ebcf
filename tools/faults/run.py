"""Try to break sclcs and print one table: tried, fine, named, silent, crashed.

``python tools/faults/run.py --seeds 1 2 3 --out results/faults``; it ends with 1 if anything was
silent or crashed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.corruptions import try_corruptions
from faults.extremes import try_extremes
from faults.inputs import try_inputs
from faults.kills import try_kills
from faults.surroundings import try_surroundings
from faults.tally import OUTCOMES, Tally

HEADER = ["kind", "tried", *OUTCOMES]


def run_all(
    seeds: list[int],
    *,
    kills: int,
    corruptions: int,
    inputs: int,
    spis: str,
    surroundings: bool,
    seconds: float = 3000,
) -> list[Tally]:
    """Do everything; counts are of all seeds together.

    Parameters
    ----------
    seeds : list of int
    kills, corruptions, inputs : int
    spis : str
        Operators to try on extreme signals; empty for none.
    surroundings : bool
    seconds : float
        Of the first three together; after that no more are begun.

    Returns
    -------
    list of Tally
        Kinds are joined over seeds.
    """
    found: dict[str, Tally] = {}

    def collect(work: Callable[[Path], list[Tally]]) -> None:
        with tempfile.TemporaryDirectory() as home:
            for tally in work(Path(home)):
                known = found.setdefault(tally.kind, Tally(tally.kind))
                known.counts.update(tally.counts)
                known.bad += tally.bad

    for seed in seeds:
        part = len(seeds)
        slot = seconds / part / 3
        if inputs:
            collect(lambda home: try_inputs(seed, -(-inputs // part), home, slot))  # noqa: B023
        if corruptions:
            collect(lambda home: try_corruptions(seed, -(-corruptions // part), home, slot))  # noqa: B023
        if kills:
            collect(lambda home: try_kills(seed, -(-kills // part), home, slot))  # noqa: B023
        if spis:
            collect(lambda _: try_extremes(seed, spis))  # noqa: B023
    if surroundings:
        collect(try_surroundings)
    return list(found.values())


def table(tallies: list[Tally]) -> str:
    """Return the table as Markdown, with a last row of sums."""
    rows = [tally.row for tally in tallies]
    sums = [sum(int(str(row[place])) for row in rows) for place in range(1, len(HEADER))]
    lines = [HEADER, ["---", *["---:"] * (len(HEADER) - 1)], *rows, ["all", *sums]]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def _commit() -> str:
    """Return which code was tried; ``+`` if files differ from the commit."""
    words = ["git", "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"]
    here = Path(__file__).parent
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main() -> int:
    """Read the options, do the work, print and keep the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options.add_argument("--kills", type=int, default=1000)
    options.add_argument("--corruptions", type=int, default=1000)
    options.add_argument("--inputs", type=int, default=10_000)
    options.add_argument("--spis", default="paper-fast")
    options.add_argument("--seconds", type=float, default=3000)
    options.add_argument("--no-surroundings", action="store_true")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    started, cpu = time.perf_counter(), time.process_time()
    tallies = run_all(
        given.seeds,
        kills=given.kills,
        corruptions=given.corruptions,
        inputs=given.inputs,
        spis=given.spis,
        surroundings=not given.no_surroundings,
        seconds=given.seconds,
    )
    text, bad = table(tallies), [line for tally in tallies for line in tally.bad]
    print(text)
    for line in bad[:50]:
        print(line)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "faults.md").write_text(text, encoding="utf-8")
        facts = {"seeds": given.seeds, "rows": [tally.row for tally in tallies], "bad": bad}
        facts |= {"seconds": round(time.perf_counter() - started, 1), "columns": HEADER}
        facts |= {"commit": _commit()}
        facts |= {"cpu_seconds_of_the_parent": round(time.process_time() - cpu, 1)}
        text = json.dumps(facts, indent=2) + "\n"
        (given.out / "faults.json").write_text(text, encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
