"""A machine without `fcntl` and `resource`, as Windows is: both are hidden here."""

import subprocess
import sys

import numpy as np
import pytest

HIDDEN = """
import sys
import psutil  # on Linux it needs `resource` for itself
sys.modules["fcntl"] = sys.modules["resource"] = None
from sclcs._core import platform
assert platform.fcntl is None and platform.resource is None
"""
COMMAND = f"{HIDDEN}\nfrom sclcs.cli.main import main\nmain()"


def without(code, *arguments, folder=None):
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_import_compute_rank_and_run_need_neither_module(tmp_path):
    simulate = ["cohort", "simulate", "--subjects", 6, "--windows", 2, "--regions", 4]
    simulate += ["--length", 40, "--stride", 40]
    rows = np.random.default_rng(0).normal(size=(6, 100, 4))
    (tmp_path / "scans").mkdir()
    for number, scan in enumerate(rows):
        place = tmp_path / "scans" / f"sub-{number // 2}_ses-{number % 2}.tsv"
        np.savetxt(place, scan, delimiter="\t")
    imported = ["cohort", "import", "arrays", "scans", "--layout", "time-region", "--out", "i.zarr"]
    operators = ["--spis", "pec,cov_EmpiricalCovariance"]
    steps = [
        [*simulate, "--out", "c.zarr"],
        imported,
        ["compute", "c.zarr", *operators, "--out", "fc"],
        ["compute", "c.zarr", *operators, "--out", "fc2", "--on", "local:2"],
        ["rank", "fc", "--bootstrap", 20, "--permutations", 20, "--out", "ranking.csv"],
        ["run", "c.zarr", *operators, "--bootstrap", 20, "--permutations", 20, "--out", "RUN"],
    ]
    for step in steps:
        without(COMMAND, *step, folder=tmp_path)
    assert (tmp_path / "RUN" / "report.html").exists()
    assert list(tmp_path.rglob("*.partial")) == []


def test_files_are_written_whole_and_leftovers_go(tmp_path):
    code = f"""{HIDDEN}
from pathlib import Path
from sclcs._core.files import atomic_directory, remove_partials, write_text
write_text("a.txt", "one")
write_text("a.txt", "two")
Path(".a.txt.12345678.partial").write_text("left")
remove_partials(Path("."))
with atomic_directory("folder") as partial:
    (partial / "b").write_text("b")
assert platform.peak_memory() > 1_000_000
assert platform.address_space_limit() is None
"""
    without(code, folder=tmp_path)
    assert (tmp_path / "a.txt").read_text() == "two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "folder"]
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["b"]
