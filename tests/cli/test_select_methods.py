import csv
import json

import pytest

from sclcs import simulate_cohort
from sclcs.coresets import SELECTORS


@pytest.fixture(scope="module")
def stored_cohort(tmp_path_factory):
    """36 samples: 12 subjects x 3 windows, 5 regions, 21 time points."""
    path = tmp_path_factory.mktemp("select") / "cohort.zarr"
    simulate_cohort(12, 3, 5, length=21, stride=11, seed=2).save(path)
    return path


def test_the_list_explains_every_method(sclcs):
    shown = sclcs("select", "--list")
    assert shown.code == 0
    for name, selector in SELECTORS.items():
        assert name in shown.out
        assert selector.summary in shown.out
    facts = json.loads(sclcs("select", "--list", "--json").out)
    assert facts["aum"]["direction"] == "low"


def test_one_method_is_explained_with_its_parameters(sclcs):
    shown = sclcs("select", "--list", "--method", "eva")
    assert "Reference:" in shown.out
    for name in SELECTORS["eva"].parameters.names():
        assert name in shown.out
    assert sclcs("select", "--list", "--method", "evo").code == 2


@pytest.mark.parametrize("method", list(SELECTORS))
def test_every_method_works(method, sclcs, stored_cohort, tmp_path):
    out = tmp_path / "core.csv"
    epochs = ["--epochs", "2"] if SELECTORS[method].needs_training else []
    shown = sclcs(
        "select", stored_cohort, "--method", method, "--ratio", 0.25, "--out", out, *epochs
    )
    assert shown.code == 0, shown.err
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    assert json.loads(out.with_suffix(".json").read_text())["method"] == method


def test_density_from_the_command_line(sclcs, stored_cohort, tmp_path):
    options = ("--ratio", 0.25, "--epochs", 2, "--density")
    out = tmp_path / "dense.csv"
    assert sclcs("select", stored_cohort, "--method", "aum", "--out", out, *options).code == 0
    facts = json.loads(out.with_suffix(".json").read_text())
    assert facts["parameters"]["density"] is True
    refused = sclcs("select", stored_cohort, "--method", "ccs", "--out", tmp_path / "n", *options)
    assert refused.code == 2
    refused = sclcs(
        "select", stored_cohort, "--method", "ccs", "--out", tmp_path / "n.csv", *options
    )
    assert refused.code == 2
    assert "ccs does not do" in refused.err
    assert not (tmp_path / "n.csv").exists()


def test_windows_of_epochs_as_a_parameter(sclcs, stored_cohort, tmp_path):
    out = tmp_path / "core.csv"
    options = ("--method", "eva", "--epochs", 4, "--out", out)
    done = sclcs("select", stored_cohort, *options, "--param", "eva_windows=[[0, 1], [2, 3]]")
    assert done.code == 0, done.err
    facts = json.loads(out.with_suffix(".json").read_text())
    assert facts["parameters"]["windows_used"] == [[0, 1], [2, 3]]
