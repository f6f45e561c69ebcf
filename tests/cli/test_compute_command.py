import json

import numpy as np
import pytest

from sclcs.cohort import Cohort
from sclcs.store import FCStore


@pytest.fixture
def saved(cohort, tmp_path):
    return cohort.save(tmp_path / "c.zarr")


def test_compute_ends_with_a_summary(sclcs, saved, tmp_path):
    out = tmp_path / "fc"
    shown = sclcs("compute", saved, "--spis", "cov_OAS,pec", "--spis", "prec_OAS", "--out", out)
    assert shown.code == 0, shown.err
    assert "3 operators on 7 samples: computed 21 matrices in" in shown.out
    assert "Matrices: 21 ok" in shown.out
    assert f"FC store: {out}" in shown.out
    assert (
        "everything was there already" in sclcs("compute", saved, "--spis", "pec", "--out", out).out
    )
    assert FCStore.open(out).complete_operators == ["cov_OAS", "prec_OAS", "pec"]


def test_json_says_how_much_was_done_and_what_failed(sclcs, saved, tmp_path):
    out = tmp_path / "fc"
    arguments = ["compute", saved, "--spis", "cov_OAS,te_symbolic_k-10_kt-1_l-1_lt-1", "--out", out]
    first = json.loads(sclcs(*arguments, "--json").out)
    assert first["computed"]["matrices"] == 14
    assert (first["operators"], first["samples"], first["store"]) == (2, 7, str(out))
    again = json.loads(sclcs(*arguments, "--json").out)
    assert again["computed"] == {"tasks": 0, "matrices": 0}
    forced = json.loads(sclcs(*arguments, "--json", "--force").out)
    assert forced["computed"]["matrices"] == 14


def test_a_new_seed_computes_again_what_draws_random_numbers_and_says_so(sclcs, saved, tmp_path):
    arguments = ["compute", saved, "--spis", "pec,cov_MinCovDet", "--out", tmp_path / "fc"]
    assert "With the new seed" not in sclcs(*arguments).out
    before = FCStore.open(tmp_path / "fc").matrices("pec")
    shown = sclcs(*arguments, "--seed", 5)
    assert "computed 7 matrices" in shown.out
    assert "With the new seed again: cov_MinCovDet; no seed changes the others." in shown.out
    store = FCStore.open(tmp_path / "fc")
    assert store.seeds == {"cov_MinCovDet": 5}
    np.testing.assert_array_equal(store.matrices("pec"), before)
    again = json.loads(sclcs(*arguments, "--seed", 5, "--json").out)
    assert (again["computed"]["matrices"], again["reseeded"]) == (0, [])


def test_failures_are_shown_by_reason(sclcs, tmp_path, cohort):
    short = Cohort(cohort.signals[:, :, :2], cohort.samples)
    path = short.save(tmp_path / "short.zarr")
    shown = sclcs("compute", path, "--spis", "cov_OAS,pec", "--out", tmp_path / "fc")
    assert shown.code == 0
    assert "skipped" in shown.out
    assert "time points, has 2" in shown.out


def test_a_coreset_file_chooses_the_samples(sclcs, saved, tmp_path):
    core = tmp_path / "core.csv"
    core.write_text("sample_id,subject,score,weight\ns5,c,0.1,1\ns1,a,0.2,1\n")
    sclcs("compute", saved, "--spis", "pec", "--out", tmp_path / "fc", "--coreset", core)
    assert FCStore.open(tmp_path / "fc").sample_ids == ["s1", "s5"]
    core.write_text("sample\ns5\n")
    shown = sclcs("compute", saved, "--spis", "pec", "--out", tmp_path / "fc", "--coreset", core)
    assert shown.code == 2
    assert "needs the column sample_id" in shown.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task-range", "1"], "Expected a share of the tasks as i/n"),
        (["--spis", "kendaltau"], "the nearest are kendalltau"),
        (["--on", "slurm:nowhere.yaml"], "SLURM configuration at nowhere.yaml"),
        (["--on", "local:0"], "The number of processes must be positive"),
        (["--on", "local"], "Expected the number of processes"),
        (["--on", "cloud:9"], "Unknown executor 'cloud'; the known ones are dask:tcp"),
        (["--coreset", "nowhere.csv"], "at nowhere.csv"),
    ],
)
def test_mistakes_are_one_line(sclcs, saved, tmp_path, options, message):
    shown = sclcs("compute", saved, "--out", tmp_path / "fc", *options)
    assert shown.code == 2
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1


def test_slurm_divides_the_work_by_itself(sclcs, saved, tmp_path):
    (tmp_path / "slurm.yaml").write_text("array: 2\n")
    option = ["--on", f"slurm:{tmp_path}/slurm.yaml", "--task-range", "1/2"]
    shown = sclcs("compute", saved, "--out", tmp_path / "fc", *option)
    assert shown.code == 2
    assert "leave out --task-range" in shown.err
    assert not (tmp_path / "fc").exists()


def test_one_string_says_who_works(sclcs, saved, tmp_path):
    out = tmp_path / "fc"
    assert sclcs("compute", saved, "--spis", "pec", "--out", out, "--on", "local:2").code == 0
    assert FCStore.open(out).complete_operators == ["pec"]


def test_interruption_says_how_to_go_on(sclcs, saved, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sclcs.store.fill_store", interrupt)
    arguments = ["compute", saved, "--spis", "pec", "--out", tmp_path / "fc"]
    assert sclcs(*arguments).code == 130
    assert "run the same command again to do the rest" in sclcs(*arguments).err
    assert "again without --force" in sclcs(*arguments, "--force").err


def test_status_shows_the_table_and_finds_damage(sclcs, saved, tmp_path):
    out = tmp_path / "fc"
    sclcs("compute", saved, "--spis", "pec,cov_OAS", "--out", out)
    shown = sclcs("fc", "status", out, "--check")
    assert shown.code == 0
    assert "2 operators on 7 samples" in shown.out
    assert "0 damaged matrices." in shown.out
    chunk = FCStore.open(out).layout.piece_file("envelope", 0)
    chunk.write_bytes(np.random.default_rng(0).bytes(100))
    shown = sclcs("fc", "status", out, "--check", "--json")
    assert shown.code == 2
    assert json.loads(shown.out)["damaged"] == [{"spi": "pec", "block": 0}]
    assert "damaged" not in json.loads(sclcs("fc", "status", out, "--json").out)
    assert "1 damaged matrices; run the same" in sclcs("fc", "status", out, "--check").out
