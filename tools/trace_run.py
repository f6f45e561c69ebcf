"""Follow one `sclcs run` on a small cohort, to see how far a reader of the code has to walk.

    .venv/bin/python tools/trace_run.py [--json]
    PYTHONPATH=/path/to/other/src .venv/bin/python tools/trace_run.py     # another tree

It counts the files of the package that are passed, the functions that are called, the different
ways from one file to another (and those that are walked in both directions), the steps on them,
and how often the cohort, FC stores and rankings are opened. Only what happens in this process
counts: the run has one process, and finds nothing that an earlier one kept.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

TASKS = ("subject", "diagnosis")
OPTIONS = ("--spis", "panel", "--method", "guided", "--ratio", "0.5", "--bootstrap", "20")
PARAMETERS = ("--param", "proposals=200", "--param", "restarts=1")
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
        self.files: Counter[str] = Counter()
        self.reads: Counter[str] = Counter()

    def step(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note one call; a step into another file is one entry of that file."""
        if event != "call":
            return
        place = self._place(frame.f_code)
        if not place or frame.f_code.co_qualname == "<module>":
            return
        self.functions[place, frame.f_code.co_qualname] += 1
        caller = self._caller(frame.f_back)
        if caller not in {"", place}:
            self.ways[caller, place] += 1
        if place != self._here:
            self.files[place] += 1
            self._here = place

    def _caller(self, frame: FrameType | None) -> str:
        """Return the file of the package that a call came from, through whatever library."""
        while frame is not None:
            place = self._place(frame.f_code)
            if place:
                return place
            frame = frame.f_back
        return ""

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

    def facts(self) -> dict[str, Any]:
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
            "of them both ways": len({way for way in self.ways if way[::-1] in self.ways}) // 2,
            "steps into another file": sum(self.files.values()),
            **{f"{what} opened": calls[name] for what, name in OPENED.items()},
            "FC store of the run opened": sum(
                count for name, count in self.reads.items() if name.endswith(_SAMPLES)
            ),
            "ranking files": len(tables),
            "ranking files read": sum(tables.values()),
            "zarr.json read": sum(n for p, n in self.reads.items() if p.endswith("zarr.json")),
        }


_RANKINGS = {"ranking", "confirmed", "truth"}
_SAMPLES = tuple(f"RUN/fc{kind}.zarr/samples.csv" for kind in ("", "-core", "-panel", "-top"))


def _named(function: str) -> bool:
    """Say whether a function has a name: no lambda, no comprehension."""
    return not function.rpartition(".")[2].startswith("<")


def follow(home: Path) -> Walk:
    """Run the command once and return what was seen."""
    import sclcs
    from sclcs import simulate_cohort
    from sclcs.cli.main import app

    path = simulate_cohort(12, 3, 6, length=60, stride=30, seed=1).save(home / "cohort.zarr")
    tasks = [word for task in TASKS for word in ("--task", task)]
    command = ["run", str(path), *tasks, *OPTIONS, *PARAMETERS, "--out"]
    # Once before: loading and compiling are no part of the walk.
    app([*command, str(home / "FIRST")], standalone_mode=False)
    walk = Walk(Path(str(sclcs.__file__)).parent)
    sys.addaudithook(walk.opened)
    walk.reads.clear()
    threading.setprofile(walk.step)
    sys.setprofile(walk.step)
    try:
        app([*command, str(home / "RUN")], standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--most", type=int, default=0, help="also show the files entered most")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shown, sys.stdout = sys.stdout, sys.stderr
        try:
            walk = follow(Path(folder))
        finally:
            sys.stdout = shown
        facts = walk.facts()
    if options.json:
        print(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        print(f"{value:8}  {name}")
    for name, count in walk.files.most_common(options.most):
        print(f"{count:8}  {name}")


if __name__ == "__main__":
    main()
