"""A small cohort, store and run that tests copy and damage."""

import shutil
import sys
from dataclasses import dataclass

import pytest

from sclcs import simulate_cohort
from sclcs.cli.main import main
from sclcs.run_folder import collect_config
from sclcs.runs import carry_out
from sclcs.store import compute_store

OPERATORS = ["cov_EmpiricalCovariance", "pec", "pdist_cityblock"]


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    def is_named(self, *words):
        """One sentence and exit code 2, with these words; never a traceback."""
        assert self.code == 2, (self.code, self.out, self.err)
        assert "Traceback" not in self.err
        for word in words:
            assert word in self.err + self.out, (word, self.out, self.err)
        return True


@pytest.fixture
def sclcs(monkeypatch, capsys):
    """Run the command as a user would, in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sclcs", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder with a cohort, an FC store and a run."""
    home = tmp_path_factory.mktemp("made")
    cohort = simulate_cohort(8, 2, 5, length=40, stride=40, seed=3)
    cohort.save(home / "c.zarr")
    compute_store(home / "c.zarr", home / "fc", OPERATORS, block_size=7)
    with pytest.MonkeyPatch.context() as patch:
        from sclcs.runs.costs import Start

        patch.setattr("sclcs.runs.check.CALIBRATION_SECONDS", 0.01)
        patch.setattr("sclcs.runs.costs._measure_start", lambda *_: Start(1.0, 1.0, 10**8))
        options = {"cohort": str(home / "c.zarr"), "out": str(home / "RUN"), "spis": OPERATORS}
        options |= {"method": "pairs", "ratio": 0.5, "bootstrap": 5, "top_k": 2, "permutations": 5}
        carry_out(collect_config(None, options))
    return home


@pytest.fixture
def home(made, tmp_path):
    """Copies of them, to be damaged."""
    for name in ("c.zarr", "fc", "RUN"):
        shutil.copytree(made / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def rank(sclcs, home):
    """Rank the store (or another source)."""

    def run(source="fc", *options):
        quick = ["--bootstrap", 0, "--permutations", 0, "--out", home / "r.csv"]
        return sclcs("rank", home / source, "--task", "diagnosis", *quick, *options)

    return run
