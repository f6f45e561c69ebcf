import sys
from dataclasses import dataclass

import pytest

from sclcs.cli.main import main


@dataclass
class Outcome:
    code: int
    out: str
    err: str


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
