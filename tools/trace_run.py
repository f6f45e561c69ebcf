"""Follow the README's `sclcs run` on a small cohort, to see how far a reader has to walk.

    .venv/bin/python tools/trace_run.py [--list files|kernel|left]

It counts the files of the package on the way, our frames from the command to the function that
computes a family of operators, and the files that the run leaves. The run is done twice and the
second one followed: loading and compiling are no part of the way.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

README = Path(__file__).parents[1] / "README.md"


class Walk:
    """What a profile of the interpreter sees of the package.

    Parameters
    ----------
    package : Path
        Folder of the package that is followed.
    """

    def __init__(self, package: Path) -> None:
        self._package = f"{package}{os.sep}"
        self._families = f"{package / 'spi' / 'families'}{os.sep}"
        self.files: Counter[str] = Counter()
        self.kernel: list[str] = []

    def step(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note a call; of calls of a family the longest way from the command."""
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(self._package):
            return
        self.files[file.removeprefix(self._package)] += 1
        if file.startswith(self._families) and frame.f_code.co_name == "compute":
            way = self._way(frame)
            self.kernel = max(self.kernel, way, key=len)

    def _way(self, frame: FrameType | None) -> list[str]:
        """Return our functions from the command to a frame."""
        found: list[str] = []
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(self._package):
                found.append(f"{file.removeprefix(self._package)} {frame.f_code.co_qualname}")
            frame = frame.f_back
        return found[::-1]


def commands() -> list[list[str]]:
    """Return the README's words that simulate a cohort and run on it."""
    text = README.read_text(encoding="utf-8")
    lines = re.findall(
        r"^sclcs (cohort simulate .*|run cohort.zarr --task subject .*)$", text, re.MULTILINE
    )
    return [shlex.split(line, comments=True) for line in lines]


def follow() -> tuple[Walk, list[str]]:
    """Do the README's commands in this folder; return the walk of the run and what it left."""
    import sclcs
    from sclcs.cli.main import app

    walk = Walk(Path(str(sclcs.__file__)).parent)
    simulate, run = commands()
    app(simulate, standalone_mode=False)
    app([*run[:-1], "FIRST"], standalone_mode=False)
    threading.setprofile(walk.step)
    sys.setprofile(walk.step)
    try:
        app(run, standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    folder = Path(run[-1])
    left = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    return walk, left


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", choices=("files", "kernel", "left"), help="name them, too")
    wanted = parser.parse_args().list
    home, shown = Path.cwd(), sys.stdout
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.stdout = sys.stderr
        try:
            walk, left = follow()
        finally:
            os.chdir(home)
            sys.stdout = shown
    lines = {
        "files": [f"{count:8} {name}" for name, count in walk.files.most_common()],
        "kernel": walk.kernel,
        "left": left,
    }
    print(f"files of the package on the way: {len(walk.files)}")
    print(f"our frames from the command to a family: {len(walk.kernel)}")
    print(f"files that the run leaves: {len(left)}")
    print(*lines.get(wanted, []), sep="\n")


if __name__ == "__main__":
    main()
