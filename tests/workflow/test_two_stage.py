"""The two-stage run: what it writes, and what it does again when something changes."""

import shutil

import numpy as np
import pandas as pd
import pytest
from run_cohorts import OPERATORS, SETTINGS, results, small_cohort

import sclcs
from sclcs.benchmark import Ranking, consistency, rank
from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError, UnknownNameError
from sclcs.spi.fc_store import FCStore
from sclcs.two_stage import RunResult, carry_out, collect_config
from sclcs.workflow.run.folder import RunFolder
from sclcs.workflow.run.rank import winners

pytestmark = pytest.mark.usefixtures("quick_plan")

STAGES = ["check", "plan", "select", "compute-core", "rank", "compute-top", "confirm", "report"]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return small_cohort().save(tmp_path_factory.mktemp("run") / "c.zarr")


def start(cohort, out, **changes):
    config = collect_config(None, {"cohort": str(cohort), "out": str(out), **SETTINGS, **changes})
    return carry_out(config)[1]


@pytest.fixture(scope="module")
def finished(cohort, quick_plan, tmp_path_factory):
    out = tmp_path_factory.mktemp("finished") / "RUN"
    assert start(cohort, out) == STAGES
    return out


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "RUN")


def test_the_run_says_what_the_steps_say_one_by_one(finished, cohort):
    opened = Cohort.open(cohort)
    folder = RunFolder.open(finished)
    core = folder.core_set()
    assert len(core) == 18
    alone = rank(opened, "subject", OPERATORS, core, bootstrap=20)
    ranking = folder.ranking()
    pd.testing.assert_frame_equal(ranking.table, alone.table)
    everybody = rank(opened, "subject", OPERATORS, bootstrap=20)
    pd.testing.assert_frame_equal(folder.confirmed().table, everybody.table)
    found = folder.confirmation()["tasks"]["subject"]
    assert found["winners"] == ranking.table["spi"].tolist()
    expected = consistency(everybody.scores, ranking.scores, (3,))
    assert found["agreement"] == pytest.approx(expected)
    assert found["same_best"] == (everybody.table["spi"][0] == ranking.table["spi"][0])
    assert found["truth"] is None


def test_the_folder_can_be_read(finished, cohort):
    folder = RunFolder.open(finished)
    assert folder.tasks == ["subject"]
    assert folder.config().cohort == str(cohort)
    assert folder.check()["samples"] == 36
    assert folder.check()["tasks"]["subject"]["classes"] == 12
    assert folder.plan()["full"]["cpu_seconds"] > 0
    assert list(folder.state()["stages"]) == STAGES
    assert all(record["status"] == "done" for record in folder.state()["stages"].values())
    assert folder.core_matrices.sample_ids == sorted(
        folder.core_set().sample_ids, key=Cohort.open(cohort).sample_ids.index
    )
    assert len(folder.top_matrices) == 36
    assert folder.encoder_run() is None
    assert "[8/8] Write the report" in folder.log_file.read_text()
    costs = folder.confirmation()["costs"]
    assert costs["everything"] == pytest.approx(2 * costs["core"])
    assert costs["two_stage"] == pytest.approx(
        costs["select"] + costs["panel"] + costs["core"] + costs["top"]
    )
    assert folder.report_file.read_text().lstrip().lower().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("changes", "redone"),
    [
        ({}, []),
        ({"title": "Mine"}, ["report"]),
        ({"description": "Words"}, ["report"]),
        ({"bootstrap": 10}, ["rank", "confirm", "report"]),
        ({"confidence": 0.9}, ["rank", "confirm", "report"]),
        ({"score": "difference"}, ["rank", "confirm", "report"]),
        ({"top_k": 2}, ["plan", "compute-top", "confirm", "report"]),
        ({"jobs": 2}, ["plan", "report"]),
        ({"ratio": 0.4}, ["plan", "select", "compute-core", "rank", "confirm", "report"]),
        ({"method": "random"}, ["plan", "select", "compute-core", "rank", "confirm", "report"]),
        ({"seed": 1}, [name for name in STAGES if name not in {"check", "plan"}]),
        (
            {"spis": OPERATORS[:2]},
            ["plan", "compute-core", "rank", "compute-top", "confirm", "report"],
        ),
        ({"tasks": ["subject", "diagnosis"]}, ["check", "rank", "confirm", "report"]),
        ({"tasks": ["diagnosis"]}, ["check", "rank", "confirm", "report"]),
        ({"full_benchmark": True}, ["full-benchmark", "confirm", "report"]),
        ({"export": ["npz"]}, ["export", "report"]),
    ],
    ids=str,
)
def test_a_changed_setting_redoes_what_depends_on_it(copied, cohort, tmp_path, changes, redone):
    assert start(cohort, copied, **changes) == redone
    assert start(cohort, copied, **changes) == []
    if not set(changes) & {"bootstrap", "top_k", "ratio", "seed", "tasks", "full_benchmark"}:
        return  # with other operators, what was computed is kept; the rest changes no result
    fresh = tmp_path / "FRESH"
    start(cohort, fresh, **changes)
    assert results(copied) == results(fresh)


def test_back_again_it_is_as_before(copied, finished, cohort):
    start(cohort, copied, tasks=["subject", "site"], full_benchmark=True, export=["relmat"])
    assert (copied / "ranking-site.csv").exists()
    assert (copied / "truth-site.csv").exists()
    start(cohort, copied)
    assert results(copied) == results(finished)
    assert not (copied / "exports").exists()


@pytest.mark.parametrize(
    ("place", "redone"),
    [
        ("check.json", "check"),
        ("core.csv", "select"),
        ("ranking.json", "rank"),
        ("confirmation.json", "confirm"),
        ("report.html", "report"),
    ],
)
@pytest.mark.parametrize("gone", [True, False])
def test_what_is_gone_or_was_edited_is_made_again(copied, cohort, place, redone, gone):
    before, path = results(copied), copied / place
    if gone:
        path.unlink()
    else:
        path.write_text(path.read_text() + " ")
    assert start(cohort, copied) == [redone]
    assert results(copied) == before


@pytest.mark.parametrize("store", ["fc-core.zarr", "fc-top.zarr"])
@pytest.mark.parametrize("harm", ["gone", "half gone", "damaged", "no store"])
def test_a_harmed_store_is_mended(copied, finished, cohort, store, harm):
    path = copied / store
    chunk = path / "matrices" / "pec" / "c.0.0.0"
    if harm == "gone":
        shutil.rmtree(path)
    elif harm == "half gone":
        (path / "zarr.json").unlink()
    elif harm == "damaged":
        chunk.write_bytes(chunk.read_bytes()[:-4] + b"1234")
    else:
        shutil.rmtree(path)
        path.write_text("not a store")
    redone = start(cohort, copied)
    assert redone[0] == {"fc-core.zarr": "compute-core", "fc-top.zarr": "compute-top"}[store]
    assert results(copied) == results(finished)
    assert FCStore.open(path).verify() == []


def test_another_cohort_at_the_same_place_redoes_everything(finished, cohort, tmp_path):
    mine = tmp_path / "c.zarr"
    shutil.copytree(cohort, mine)
    out = tmp_path / "RUN"
    assert start(mine, out) == STAGES
    shutil.rmtree(mine)
    small_cohort(seed=2).save(mine)
    assert start(mine, out) == [name for name in STAGES if name != "plan"]
    fresh = tmp_path / "FRESH"
    start(mine, fresh)
    assert results(out) == results(fresh)
    assert results(out)["core.csv"] != b""
    assert results(out)["ranking.csv"] != results(finished)["ranking.csv"]


def test_an_edited_table_of_samples_is_noticed(copied, cohort, tmp_path):
    mine = shutil.copytree(cohort, tmp_path / "c.zarr")
    assert start(mine, copied) == ["report"]  # the same content at another place
    table = mine / "samples.csv"
    table.write_text(table.read_text().replace("HC", "XX"))
    with pytest.raises(InputError, match="fingerprint differs from the content"):
        start(mine, copied)


def test_one_call_from_python(tmp_path):
    result = sclcs.run(
        small_cohort(),
        out=tmp_path / "RUN",
        tasks=["subject", "diagnosis"],
        full_benchmark=True,
        **SETTINGS,
    )
    assert isinstance(result, RunResult)
    assert result.stages == [*STAGES[:6], "full-benchmark", *STAGES[6:]]
    assert set(result.rankings) == set(result.confirmed) == {"subject", "diagnosis"}
    assert result.report.exists()
    shown = repr(result)
    for task, rows in result.best(2).items():
        assert len(rows) == 2
        assert task in shown
        assert rows[0]["spi"] in shown
        assert rows[0]["low"] <= rows[0]["score"] <= rows[0]["high"]
    folder = result.folder
    for task in folder.tasks:
        truth, ranking = folder.truth(task), folder.ranking(task)
        assert truth is not None
        expected = consistency(truth, ranking)
        assert folder.confirmation()["tasks"][task]["truth"] == pytest.approx(expected)
    assert folder.confirmation()["costs"]["everything_measured"] > 0
    # The cohort came from memory; the folder moves as a whole.
    moved = (tmp_path / "RUN").rename(tmp_path / "MOVED")
    assert len(RunFolder.open(moved).cohort()) == 36
    again = sclcs.run(config=moved / "config.yaml")
    assert again.folder.path == moved
    assert "select" not in again.stages


@pytest.mark.slow
def test_the_training_behind_a_core_set_is_kept(cohort, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("SCLCS_CACHE", str(tmp_path / "cache"))
    out, trained = tmp_path / "RUN", {"method": "sclcs", "parameters": {"epochs": 2, "dim": 4}}
    start(cohort, out, **trained)
    folder = RunFolder.open(out)
    run = folder.encoder_run()
    assert run is not None
    assert len(run.history) == 2
    chosen = folder.core_set()
    expected = dict(zip(run.sample_ids, run.scores, strict=True))
    assert chosen.score == pytest.approx([expected[name] for name in chosen.sample_ids])
    (kept,) = (tmp_path / "cache" / "encoder").iterdir()
    before = (kept / "run.json").stat().st_mtime_ns
    assert "select" in start(cohort, out, ratio=0.4, **trained)
    assert folder.encoder_run().facts == run.facts  # with its time: nothing was trained again
    assert (kept / "run.json").stat().st_mtime_ns == before
    start(cohort, out)
    assert RunFolder.open(out).encoder_run() is None


@pytest.mark.slow
def test_a_guided_choice_keeps_its_panel(cohort, tmp_path):
    panel = [*OPERATORS, "kendalltau"]
    quick = {"panel": panel, "restarts": 1, "proposals": 100, "distrust": 0.1}
    out, guided = tmp_path / "RUN", {"method": "guided", "parameters": quick}
    tasks = ["subject", "diagnosis"]
    start(cohort, out, tasks=tasks, **guided)
    folder = RunFolder.open(out)
    store = FCStore.open(folder.panel_store)
    assert (set(store.operators), len(store)) == (set(panel), 36)
    facts = folder.core_set().parameters
    assert facts["task"] == tasks
    assert {item["task"] for item in facts["certificate"]} == set(tasks)
    assert folder.confirmation()["costs"]["panel"] > 0
    # Guided by other tasks it chooses again, but the panel's matrices are there.
    redone = start(cohort, out, tasks=["subject"], **guided)
    assert "select" in redone
    assert folder.state()["stages"]["select"]["facts"]["matrices"] == 0
    start(cohort, out)
    assert not folder.panel_store.exists()


def test_the_effective_configuration_makes_the_same_run_elsewhere(finished, tmp_path):
    sclcs.run(config=finished / "config.yaml", out=tmp_path / "OTHER")
    assert results(tmp_path / "OTHER") == results(finished)


def test_samples_with_constant_regions_stop_the_run_or_are_left_out(tmp_path):
    good = small_cohort()
    signals = np.array(good.signals)
    signals[4, 2] = 7.0
    Cohort(signals, good.samples, good.regions, good.tr).save(tmp_path / "c.zarr")
    bad = good.sample_ids[4]
    with pytest.raises(InputError, match=rf"{bad}.*--on-bad skip"):
        start(tmp_path / "c.zarr", tmp_path / "RUN")
    start(tmp_path / "c.zarr", tmp_path / "RUN", on_bad="skip")
    folder = RunFolder.open(tmp_path / "RUN")
    assert [row["where"] for row in folder.check()["excluded"]] == [bad]
    assert folder.check()["samples"] == 35
    assert bad not in folder.top_matrices.sample_ids
    assert folder.cohort().sample_ids == folder.top_matrices.sample_ids
    assert start(tmp_path / "c.zarr", tmp_path / "RUN", on_bad="skip") == []


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"tasks": ["handedness"]}, UnknownNameError, "no column 'handedness'.*diagnosis"),
        ({"tasks": ["constant"]}, InputError, "'constant': there is no between pair"),
        ({"tasks": ["empty"]}, InputError, "'empty': no sample has a label"),
        ({"tasks": ["site", "site"]}, InputError, "every task once"),
        ({"spis": ["pecc"]}, UnknownNameError, "'pecc'; the nearest are pec"),
        ({"method": "gided"}, UnknownNameError, "Unknown selection method 'gided'"),
        ({"parameters": {"speed": 3}}, UnknownNameError, "parameter of pairs: speed"),
        ({"ratio": 0.001}, InputError, "leaves no sample"),
        ({"target_ndcg": 0.9}, UnknownNameError, "target_ndcg"),
        ({"score": "cohen"}, UnknownNameError, "No score is called 'cohen'"),
        ({"jobs": 0}, InputError, "jobs from 1"),
        ({"jobs": 2, "scheduler": "tcp://x:1"}, InputError, "jobs or scheduler"),
    ],
    ids=str,
)
def test_what_cannot_work_is_found_before_anything_is_written(tmp_path, changes, error, says):
    cohort = small_cohort()
    cohort.samples["constant"] = "same"
    cohort.samples["empty"] = None
    cohort.save(tmp_path / "c.zarr")
    with pytest.raises(error, match=says):
        start(tmp_path / "c.zarr", tmp_path / "RUN", **changes)
    assert not (tmp_path / "RUN").exists()


def test_a_mistake_does_not_harm_a_finished_run(copied, finished, cohort):
    with pytest.raises(UnknownNameError):
        start(cohort, copied, tasks=["handedness"])
    assert (copied / "config.yaml").read_text() == (finished / "config.yaml").read_text()
    assert start(cohort, copied) == []


def test_a_core_set_that_cannot_rank_is_found_before_every_operator_is_computed(cohort, tmp_path):
    with pytest.raises(InputError, match=r"core-set of 3 samples cannot rank.*Raise the ratio"):
        start(cohort, tmp_path / "RUN", method="subjects", ratio=0.1)
    assert not (tmp_path / "RUN" / "fc-core.zarr").exists()


def test_without_draws_there_are_no_intervals(copied, cohort):
    start(cohort, copied, bootstrap=0)
    result = RunResult.open(RunFolder(copied))
    assert "nan" not in repr(result)
    assert result.folder.confirmation()["tasks"]["subject"]["inside_interval"] is None


def test_of_operators_that_are_bound_to_tie_one_is_among_the_best(finished):
    ranking = RunFolder(finished).ranking()
    table = pd.concat([ranking.table] * 2, ignore_index=True)
    table["spi"] = [f"{place}-{name}" for place, name in enumerate(table["spi"])]
    table["rank_group"] = ["x", "", "y", "x", "", "y"]
    table["rank"] = [1.5, 3.5, 5.5, 1.5, 3.5, 5.5]
    table.loc[5, ["score", "rank", "status"]] = [np.nan, np.nan, "constant"]
    names = table["spi"].tolist()
    many = Ranking(table, "subject", "cohen_d")
    assert winners(many, 10) == [names[0], names[1], names[4], names[2]]
    assert winners(many, 2) == names[:2]


def test_a_folder_of_something_else_is_refused(cohort, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="holds files, but no run"):
        start(cohort, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
