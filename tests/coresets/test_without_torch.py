"""What a user without torch does: only trained methods may ask for it."""

from __future__ import annotations

import subprocess
import sys

WITHOUT_TORCH = """
import importlib.machinery, importlib.util, sys

find = importlib.machinery.PathFinder.find_spec
def hide(name, *more):
    return None if name.partition(".")[0] == "torch" else find(name, *more)
importlib.machinery.PathFinder.find_spec = staticmethod(hide)
assert importlib.util.find_spec("torch") is None
"""


def run_without_torch(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH + code], capture_output=True, text=True, check=False
    )


def test_a_run_with_its_report_as_the_demo_makes_it(tmp_path):
    """tools/check_wheel.sh runs the whole demo where only the wheel is installed."""
    done = run_without_torch(
        f"""
import sclcs.cli.demo, sclcs.runs.demo
from sclcs import run, simulate_cohort

spis = ["cov_EmpiricalCovariance", "prec_EmpiricalCovariance", "spearmanr"]
cohort = simulate_cohort(12, 3, 4, length=60)
run(cohort, task="subject", spis=spis, full_benchmark=True,
    permutations=20, bootstrap=20, out={str(tmp_path / "run")!r})
"""
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "report.html").stat().st_size > 0


def test_untrained_methods_choose_and_trained_ones_say_what_to_install():
    done = run_without_torch(
        """
from sclcs.cohort import simulate_cohort
from sclcs.coresets import select

cohort = simulate_cohort(10, 2, 4, length=20)
print(len(select(cohort, "kmeans", ratio=0.25)))
select(cohort, "sclcs-dense", ratio=0.25)
"""
    )
    assert done.stdout.split() == ["5"]
    assert "pip install 'sclcs[torch]'" in done.stderr
