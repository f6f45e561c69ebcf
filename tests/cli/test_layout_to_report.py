"""From a fresh folder to a report in two commands: what people with a pipeline's output type."""

import json

import pytest
from pipeline_trees import write_conn, write_dpabi, write_fmriprep, write_hcp, write_xcp_d
from typer.testing import CliRunner

from sclcs.cli.main import app

PEOPLE = [f"{number:02d}" for number in range(1, 13)]


def xcp_d(root):
    write_xcp_d(root / "study", PEOPLE, length=60)
    return [root / "study"], "diagnosis"


def conn(root):
    project = write_conn(root, 12, conditions=(0,), length=120, sessions=2)
    return [project, "--atlas", "all", "--tr", "2"], "subject"


def hcp(root):
    return [write_hcp(root / "hcp", [f"1003{name}" for name in PEOPLE], length=60)], "subject"


def dpabi(root):
    write_dpabi(root / "dpabi", [f"Sub{name}" for name in PEOPLE], length=60)
    rows = [f"Sub{name},{20.5 + 2 * int(name)}" for name in PEOPLE]
    (root / "ages.csv").write_text("\n".join(["SubID,age", *rows]))
    return [root / "dpabi", "--labels", root / "ages.csv"], "age"


def fmriprep(root):
    pytest.importorskip("nilearn")
    folder = write_fmriprep(root / "study", PEOPLE)
    return [folder, "--atlas", root / "study" / "atlas.nii.gz"], "diagnosis"


@pytest.mark.parametrize("layout", [xcp_d, conn, hcp, dpabi, fmriprep], ids=lambda f: f.__name__)
def test_two_commands_lead_to_a_report(tmp_path, layout):
    words, task = layout(tmp_path)
    operators = ["--spis", "pearson,kendall", "--permutations", "50", "--bootstrap", "50"]
    for command in (
        ["import", *words, "--out", tmp_path / "c.zarr"],
        ["run", tmp_path / "c.zarr", "--task", task, *operators, "--out", tmp_path / "RUN"],
    ):
        done = CliRunner().invoke(app, [str(word) for word in command], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    page = (tmp_path / "RUN" / "report.html").read_text(encoding="utf-8")
    assert "It was made of" in page
    assert "time points" in page
    assert task in json.loads((tmp_path / "RUN" / "answer.json").read_text())["tasks"]
