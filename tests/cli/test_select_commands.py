import json

import pandas as pd
import pytest

from sclcs import simulate_cohort
from sclcs.cohort import CoreSet

QUICK = ["--param", "heads=2", "--param", "dim=3"]


@pytest.fixture(scope="module")
def cohort_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("select") / "cohort.zarr"
    simulate_cohort(12, 3, 5, length=20, stride=10, seed=1).save(path)
    return path


@pytest.mark.parametrize("method", ["random", "sclcs", "sclcs-dense", "sps-mha"])
def test_select_writes_the_core_set_and_its_record(sclcs, cohort_path, tmp_path, method):
    out = tmp_path / "new" / "core.csv"
    trained = [] if method == "random" else ["--epochs", "2", *QUICK]
    shown = sclcs("select", cohort_path, "--method", method, "--ratio", "0.25", *trained,
                  "--seed", "4", "--out", out)  # fmt: skip
    assert shown.code == 0, shown.err
    table = pd.read_csv(out)
    assert list(table) == ["sample_id", "subject", "score", "weight"]
    assert len(table) == 9
    facts = json.loads(out.with_suffix(".json").read_text())
    assert (facts["method"], facts["seed"]) == (method, 4)
    assert CoreSet.open(out).method == method
    assert f"{method}: 9 samples" in shown.out


def test_select_list(sclcs):
    shown = sclcs("select", "--list")
    assert shown.code == 0
    assert "sclcs-dense" in shown.out
    assert "beta" in sclcs("select", "--list", "--method", "sclcs-dense").out
    facts = json.loads(sclcs("select", "--list", "--json").out)
    assert facts["sclcs"]["needs_training"] is True


def test_select_json(sclcs, cohort_path, tmp_path):
    out = tmp_path / "core.csv"
    shown = sclcs("select", cohort_path, "--method", "random", "--out", out, "--json")
    assert json.loads(shown.out)["samples"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ratio", "1.5"], "Expected a ratio above 0 and at most 1"),
        (["--method", "sclc"], "the known ones are"),
        (["--param", "hedas=3"], "Unknown parameter of sclcs-dense: hedas"),
        (["--param", "heads"], "Expected --param name=value"),
        (["--param", "preset=papr"], "Unknown preset 'papr'"),
        (["--param", "heads=many"], "`heads` must be an integer"),
    ],
)
def test_mistakes_are_one_sentence(sclcs, cohort_path, tmp_path, arguments, message):
    shown = sclcs("select", cohort_path, *arguments, "--out", tmp_path / "core.csv")
    assert shown.code == 2
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1
    assert not (tmp_path / "core.csv").exists()


def test_an_existing_core_set_is_refused_before_any_work(sclcs, cohort_path, tmp_path):
    (tmp_path / "core.csv").write_text("mine")
    shown = sclcs("select", cohort_path, "--out", tmp_path / "core.csv")
    assert "already exists" in shown.err
    assert (tmp_path / "core.csv").read_text() == "mine"
    assert sclcs("select", cohort_path, "--out", tmp_path / "core.txt").code == 2
    assert "Expected a cohort and --out" in sclcs("select").err


def test_train_and_plot(sclcs, cohort_path, tmp_path):
    run, pictures = tmp_path / "run", tmp_path / "pictures"
    shown = sclcs("encoder", "train", cohort_path, "--epochs", "3", *QUICK, "--curves",
                  "--out", run)  # fmt: skip
    assert shown.code == 0, shown.err
    assert "36 samples scored in 3 epochs" in shown.out
    assert (run / "curves.npz").exists()
    shown = sclcs("encoder", "plot", run, "--cohort", cohort_path, "--out", pictures)
    assert shown.code == 0, shown.err
    assert len(list(pictures.glob("*.png"))) == 4
