"""Follow one `sclcs run` on a small cohort, to see how far a reader of the code has to walk.

    .venv/bin/python tools/trace_run.py [--json]
    .venv/bin/python tools/trace_run.py --list both          # the ways in both directions
    .venv/bin/python tools/trace_run.py --list steps         # who calls what in another file
    PYTHONPATH=/path/to/other/src .venv/bin/python tools/trace_run.py     # another tree

Two runs are followed: one as a user starts it, and one that is asked for no more than the first
version could do (no permutations, no card, its score, no redraws), so that trees of different age
are compared by the same work.

It counts the files of the package that are passed, the functions that are called, the different
ways from one file to another (and those that are walked in both directions), the steps on them,
and how often the cohort, FC stores and rankings are opened. Only what happens in this process
counts: the run has one process, and finds nothing that an earlier one kept.

A call through a wrapper that does nothing but call what it was given (the check of arguments, the
memory of files that were read) is a way from the caller to what is called, as it stands in the
text and as with `functools.cache`. The wrapper is passed, too. Ways in both directions that it
alone would make are shown in a line of their own.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

TASKS = ("subject", "diagnosis")
OPTIONS = ("--spis", "panel", "--method", "stratified", "--ratio", "0.5")
#: What the first version could not do, and is not asked for: options, if a tree has them.
NO_MORE = {"permutations": "0", "criteria": "none", "score": "cohen_d", "bootstrap": "0"}
USUAL = {"bootstrap": "20"}
WRAPPERS = {
    ("core/arguments.py", "checked.<locals>.call"),
    ("core/files.py", "ReadOnce.__call__"),
}
OPENED = {"cohort": "Cohort.open", "FC store": "FCStore.open", "ranking": "Ranking.open"}


class Walk:
    """What a profile of the interpreter sees of the package.

    Parameters
    ----------
    package : Path
        Folder of the package that is followed.
    """

    def __init__(self, package: Path) -> None:
        self._package = f"{package}{os.sep}"
        self._own: dict[CodeType, str] = {}
        self._here = ""
        self.functions: Counter[tuple[str, str]] = Counter()
        self.ways: Counter[tuple[str, str]] = Counter()
        self.strict_ways: Counter[tuple[str, str]] = Counter()
        self.files: Counter[str] = Counter()
        self.calls_over: Counter[tuple[str, str]] = Counter()
        self.reads: Counter[str] = Counter()
        self.stores_of_run = 0

    def step(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note one call; a step into another file is one entry of that file."""
        if event != "call":
            return
        place = self._place(frame.f_code)
        if not place or frame.f_code.co_qualname == "<module>":
            return
        self.functions[place, frame.f_code.co_qualname] += 1
        if frame.f_code.co_qualname == OPENED["FC store"]:
            self.stores_of_run += "/RUN/" in str(frame.f_locals["path"])
        for ways, through in ((self.ways, True), (self.strict_ways, False)):
            caller = self._caller(frame.f_back, through=through)
            if caller not in {"", place}:
                ways[caller, place] += 1
        if place != self._here:
            self.files[place] += 1
            self.calls_over[self._from(frame.f_back), f"{place} {frame.f_code.co_qualname}"] += 1
            self._here = place

    def _caller(self, frame: FrameType | None, *, through: bool) -> str:
        """Return the file of the package that a call came from, through whatever library."""
        while frame is not None:
            place = self._place(frame.f_code)
            if place and not (through and (place, frame.f_code.co_qualname) in WRAPPERS):
                return place
            frame = frame.f_back
        return ""

    def _from(self, frame: FrameType | None) -> str:
        """Return the function of the package that a call came from."""
        while frame is not None and not self._place(frame.f_code):
            frame = frame.f_back
        return f"{self._place(frame.f_code)} {frame.f_code.co_qualname}" if frame else ""

    def _place(self, code: CodeType) -> str:
        """Return the file inside the package, or nothing."""
        if code not in self._own:
            inside = code.co_filename.startswith(self._package)
            self._own[code] = code.co_filename.removeprefix(self._package) if inside else ""
        return self._own[code]

    def opened(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note files that are opened for reading."""
        if event == "open" and isinstance(arguments[0], str) and "r" in (arguments[1] or "r"):
            self.reads[arguments[0]] += 1

    def facts(self) -> dict[str, int]:
        """Return the figures."""
        calls: Counter[str] = Counter()
        for (_, name), count in self.functions.items():
            calls[name] += count
        tables = {
            name: count
            for name, count in self.reads.items()
            if Path(name).suffix == ".csv" and Path(name).stem.split("-")[0] in _RANKINGS
        }
        return {
            "files passed": len(self.files),
            "functions called": len({place for place in self.functions if _named(place[1])}),
            "ways from a file to another": len(self.ways),
            "of them in both directions": len(both_ways(self.ways)),
            "in both directions with the wrappers": len(both_ways(self.strict_ways)),
            "steps into another file": sum(self.files.values()),
            "calls": sum(self.functions.values()),
            **{f"{what} opened": calls[name] for what, name in OPENED.items()},
            "FC store of the run opened": self.stores_of_run,
            "ranking files": len(tables),
            "ranking files read or compared with their checksums": sum(tables.values()),
            "zarr.json read or compared with their checksums": sum(
                n for p, n in self.reads.items() if p.endswith("zarr.json")
            ),
        }

    def lines(self, what: str) -> list[str]:
        """Return what was counted, line by line."""
        if what == "both":
            return [
                f"{a} -> {b} {self.ways[a, b]} times, back {self.ways[b, a]}"
                for a, b in both_ways(self.ways)
            ]
        if what == "steps":
            steps = self.calls_over.most_common()
            return [f"{count:8}  {caller} -> {called}" for (caller, called), count in steps]
        if what == "files":
            return [f"{count:8}  {name}" for name, count in self.files.most_common()]
        return [f"{count:8}  {file} {name}" for (file, name), count in sorted(self._named())]

    def _named(self) -> list[tuple[tuple[str, str], int]]:
        return [(place, count) for place, count in self.functions.items() if _named(place[1])]


_RANKINGS = {"ranking", "confirmed", "truth"}


def both_ways(ways: Counter[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs of files that are walked in both directions."""
    return sorted({(min(way), max(way)) for way in ways if way[::-1] in ways})


def _named(function: str) -> bool:
    """Say whether a function has a name: no lambda, no comprehension."""
    return not function.rpartition(".")[2].startswith("<")


def follow(home: Path) -> dict[str, Walk]:
    """Run the command as a user would, and asked for no more than the first version did."""
    import sclcs
    from sclcs import simulate_cohort

    path = simulate_cohort(12, 3, 6, length=60, stride=30, seed=1).save(home / "cohort.zarr")
    walks = {
        name: Walk(Path(str(sclcs.__file__)).parent) for name in ("as it is", "like the first")
    }
    now: list[Walk] = []
    sys.addaudithook(lambda event, arguments: now[0].opened(event, arguments) if now else None)
    for (name, walk), options in zip(walks.items(), (USUAL, NO_MORE), strict=True):
        place = home / name.replace(" ", "-")
        command = _command(path, options)
        command(place / "FIRST")  # once before: loading and compiling are no part of the walk
        now[:] = [walk]
        threading.setprofile(walk.step)
        sys.setprofile(walk.step)
        try:
            command(place / "RUN")
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            now.clear()
    return walks


def _command(cohort: Path, options: Mapping[str, str]) -> Callable[[Path], object]:
    """Return the command; options that a tree does not know are what it cannot do."""
    from sclcs.cli.main import app
    from sclcs.cli.run import run

    known = inspect.signature(run).parameters
    tasks = [word for task in TASKS for word in ("--task", task)]
    more = [w for name, value in options.items() if name in known for w in (f"--{name}", value)]
    words = ["run", str(cohort), *tasks, *OPTIONS, *more, "--out"]
    return lambda out: app([*words, str(out)], standalone_mode=False)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--list", choices=("both", "steps", "files", "functions"), help="name them, too"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shown, sys.stdout = sys.stdout, sys.stderr
        try:
            walks = follow(Path(folder))
        finally:
            sys.stdout = shown
    facts = {name: walk.facts() for name, walk in walks.items()}
    if options.json:
        print(json.dumps(facts, indent=2))
        return
    print("  ".join(f"{name:>14}" for name in facts))
    for name in next(iter(facts.values())):
        print("  ".join(f"{column[name]:14}" for column in facts.values()), f" {name}")
    for name, walk in walks.items() if options.list else ():
        print(f"\n{name}:", *walk.lines(options.list), sep="\n")


if __name__ == "__main__":
    main()
