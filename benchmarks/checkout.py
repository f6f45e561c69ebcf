"""An earlier commit's sources in a temporary folder, for benchmarks that compare with it."""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


@contextmanager
def checkout(commit, given=None):
    """Give the folder of a commit: the one that was given, or a temporary one.

    Without the history (a shallow clone, a download) the benchmark ends with a sentence.
    """
    if given:
        yield given
        return
    git = shutil.which("git") or "git"
    archive = [git, "-C", str(REPOSITORY), "archive", "--format=tar", commit, "src"]
    packed = subprocess.run(archive, capture_output=True, check=False)
    if packed.returncode:
        sys.exit(f"Commit {commit} is not here; `git fetch --unshallow` brings it.")
    with tempfile.TemporaryDirectory(prefix="sclcs-before-") as folder:
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as tree:
            tree.extractall(folder, filter="data")
        yield Path(folder)
