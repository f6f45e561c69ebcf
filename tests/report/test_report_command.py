import json
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sclcs.cli.main import app


@pytest.fixture
def run_folder(finished_run, tmp_path):
    return shutil.copytree(finished_run.path, tmp_path / "RUN")


def call(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_the_report_is_in_the_run_unless_told_otherwise(run_folder, tmp_path):
    assert call(run_folder).output.strip().endswith(f"Wrote {run_folder / 'report.html'}")
    again = call(run_folder, "--out", tmp_path / "new" / "page.html", "--json")
    facts = json.loads(again.stdout)
    assert facts["report"] == str(tmp_path / "new" / "page.html")
    page = (tmp_path / "new" / "page.html").read_bytes()
    assert len(page) == facts["bytes"]
    assert page == (run_folder / "report.html").read_bytes()


def test_runs_are_compared(run_folder, tmp_path):
    out = tmp_path / "compare.html"
    done = call("--compare", run_folder, run_folder, "--out", out)
    assert done.exit_code == 0
    assert "Do the rankings agree?" in out.read_text(encoding="utf-8")


def test_the_page_can_be_shown(run_folder, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert call(run_folder, "--open").exit_code == 0
    assert opened == [(run_folder / "report.html").as_uri()]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["{run}", "{run}"], "add --compare"),
        (["--compare", "{run}"], "two or more runs"),
        (["{run}/nothing"], "Expected the folder of a run"),
        (["{run}", "--out", "{run}/page.pdf"], "saved as .html"),
    ],
)
def test_mistakes_are_one_sentence(run_folder, arguments, told):
    command = [part.format(run=run_folder) for part in arguments]
    done = subprocess.run(
        [sys.executable, "-m", "sclcs", "report", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_show_is_the_answer_the_state_or_the_comparison(run_folder, tmp_path):
    def show(*words):
        return CliRunner().invoke(app, ["show", *map(str, words)])

    assert "best operators" in show(run_folder).output
    assert "confirm " in show(run_folder, "--state").output
    assert show(run_folder, run_folder, "--out", tmp_path / "two.html").exit_code == 0
    assert (tmp_path / "two.html").exists()
