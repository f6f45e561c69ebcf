"""The two-stage run: what it writes, and what it does again when something changes."""

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from run_cohorts import OPERATORS, SETTINGS, expect_same, results, small_cohort

import sclcs
from sclcs._core.errors import InputError, UnknownNameError
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.coresets import SELECTORS
from sclcs.run_folder import RunFolder, collect_config
from sclcs.runs import RunResult, carry_out
from sclcs.runs.two_stages import winners
from sclcs.spi.versions import FAMILY_VERSIONS
from sclcs.stats import CRITERIA, Ranking, consistency, rank
from sclcs.stats.ranking_table import RANKING_VERSION
from sclcs.store.fc_store import FCStore

pytestmark = pytest.mark.usefixtures("quick_plan")

STAGES = ["check", "plan", "select", "compute-core", "rank", "compute-top"]
STAGES += ["confirm", "card", "report"]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return small_cohort().save(tmp_path_factory.mktemp("run") / "c.zarr")


def start(cohort, out, until=None, **changes):
    config = collect_config(None, {"cohort": str(cohort), "out": str(out), **SETTINGS, **changes})
    return carry_out(config, until=until)[1]


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
    assert len(folder.whole_matrices) == 36
    assert folder.trained_encoder() is None
    assert "[9/9] Write the report" in folder.log_file.read_text()
    costs = folder.confirmation()["costs"]
    assert costs["everything"] == pytest.approx(2 * costs["core"])
    assert costs["two_stage"] == pytest.approx(costs["select"] + costs["core"] + costs["top"])
    assert folder.report_file.read_text().lstrip().lower().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("changes", "redone"),
    [
        ({}, []),
        ({"title": "Mine"}, ["report"]),
        ({"description": "Words"}, ["report"]),
        ({"bootstrap": 10}, ["rank", "confirm", "card", "report"]),
        ({"confidence": 0.9}, ["rank", "confirm", "card", "report"]),
        ({"score": "difference"}, ["rank", "confirm", "card", "report"]),
        ({"top_k": 2}, ["plan", "compute-top", "confirm", "card", "report"]),
        ({"on": "local:2"}, ["plan", "report"]),
        ({"ratio": 0.4}, ["plan", "select", "compute-core", "rank", "confirm", "report"]),
        (
            {"method": "random"},
            ["plan", "select", "compute-core", "rank", "confirm", "report"],
        ),
        # No seed changes these operators: what is there of the whole cohort stays good.
        ({"seed": 1}, ["select", "compute-core", "rank", "confirm", "card", "report"]),
        (
            {"spis": OPERATORS[:2]},
            ["plan", "compute-core", "rank", "compute-top", "confirm", "card", "report"],
        ),
        ({"task": ["subject", "diagnosis"]}, ["check", "rank", "confirm", "card", "report"]),
        ({"task": ["diagnosis"]}, ["check", "rank", "confirm", "card", "report"]),
        ({"full_benchmark": True}, ["full-benchmark", "confirm", "card", "report"]),
        ({"export": ["npz"]}, ["export", "report"]),
    ],
    ids=str,
)
def test_a_changed_setting_redoes_what_depends_on_it(copied, cohort, tmp_path, changes, redone):
    assert start(cohort, copied, **changes) == redone
    assert start(cohort, copied, **changes) == []
    fresh = tmp_path / "FRESH"
    start(cohort, fresh, **changes)
    expect_same(copied, fresh)


def test_back_again_it_is_as_before(copied, finished, cohort):
    start(cohort, copied, task=["subject", "sex"], full_benchmark=True, export=["relmat"])
    assert (copied / "ranking-sex.csv").exists()
    assert (copied / "truth-sex.csv").exists()
    start(cohort, copied)
    expect_same(copied, finished)
    assert not (copied / "exports").exists()
    assert not (copied / "truth.csv").exists()


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


@pytest.mark.parametrize("store", ["fc-core.zarr", "fc.zarr"])
@pytest.mark.parametrize("harm", ["gone", "half gone", "damaged", "no store"])
def test_a_harmed_store_is_mended(copied, finished, cohort, store, harm):
    path = copied / store
    chunk = path / "matrices" / "envelope" / "c.0.0.0.0"
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
    assert redone[0] == {"fc-core.zarr": "compute-core", "fc.zarr": "compute-top"}[store]
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
    with pytest.raises(InputError, match=r"samples\.csv gone or not as it was written"):
        start(mine, copied)


def test_one_call_from_python(tmp_path):
    result = sclcs.run(
        small_cohort(),
        out=tmp_path / "RUN",
        task=["subject", "diagnosis"],
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
    run = folder.trained_encoder()
    assert run is not None
    assert len(run.history) == 2
    chosen = folder.core_set()
    expected = dict(zip(run.sample_ids, run.scores, strict=True))
    assert chosen.score == pytest.approx([expected[name] for name in chosen.sample_ids])
    (kept,) = (tmp_path / "cache" / "encoder").iterdir()
    before = (kept / "run.json").stat().st_mtime_ns
    assert "select" in start(cohort, out, ratio=0.4, **trained)
    assert folder.trained_encoder().info == run.info  # with its time: nothing was trained again
    assert (kept / "run.json").stat().st_mtime_ns == before
    start(cohort, out)
    assert RunFolder.open(out).trained_encoder() is None


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
    assert bad not in folder.whole_matrices.sample_ids
    assert folder.cohort().sample_ids == folder.whole_matrices.sample_ids
    assert start(tmp_path / "c.zarr", tmp_path / "RUN", on_bad="skip") == []


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"task": ["handedness"]}, UnknownNameError, "no column 'handedness'.*diagnosis"),
        ({"task": ["constant"]}, InputError, "'constant': all 12 subjects are of one class"),
        ({"task": ["empty"]}, InputError, "'empty': no sample has a label"),
        ({"task": ["site", "site"]}, InputError, "every task once"),
        ({"spis": ["pecc"]}, UnknownNameError, "'pecc'; the nearest are pec"),
        ({"method": "gided"}, UnknownNameError, "Unknown selection method 'gided'"),
        ({"parameters": {"speed": 3}}, UnknownNameError, "parameter of pairs: speed"),
        ({"ratio": 0.001}, InputError, "leaves no sample"),
        ({"target_ndcg": 0.9}, InputError, "Unknown key 'target_ndcg'"),
        ({"score": "cohen"}, UnknownNameError, "No score is called 'cohen'"),
        ({"on": "local:0"}, InputError, "number of processes must be positive"),
        ({"on": "cloud:1"}, UnknownNameError, "Unknown executor 'cloud'"),
        ({"memory": "few"}, InputError, "such as 4G"),
        ({"memory": "300M"}, InputError, "needs at least 0.37 GB of memory, but 300M are allowed"),
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
        start(cohort, copied, task=["handedness"])
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
    names = table["spi"].tolist()
    table["equivalents"] = [names[3], "", "", names[0], "", ""]
    table["rank"] = [1.5, 3.5, 5.5, 1.5, 3.5, 5.5]
    table.loc[5, ["score", "rank", "status"]] = [np.nan, np.nan, "constant"]
    many = Ranking(table, "subject", "cohen_d")
    assert winners(many, 10) == [names[0], names[1], names[4], names[2]]
    assert winners(many, 2) == names[:2]


def test_the_card_counts_equivalents_that_were_not_computed_again(cohort, tmp_path):
    start(cohort, tmp_path / "RUN", until="card", spis=[*OPERATORS, "cov_OAS"], top_k=4)
    folder = RunFolder(tmp_path / "RUN")
    assert "cov_OAS" not in set(folder.confirmed().table["spi"])
    card = folder.card("subject")
    assert card.table.set_index("spi").loc["cov_EmpiricalCovariance", "also"] == 1


def test_a_folder_of_something_else_is_refused(cohort, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="holds files, but no run"):
        start(cohort, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


RANDOM = "cov_MinCovDet"


def test_a_new_seed_recomputes_only_what_draws_random_numbers(cohort, tmp_path):
    out, spis = tmp_path / "RUN", [*OPERATORS, RANDOM]
    start(cohort, out, spis=spis, top_k=4)
    assert RunFolder(out).whole_matrices.seeds == {RANDOM: 0}
    redone = start(cohort, out, spis=spis, top_k=4, seed=1)
    assert "compute-top" in redone
    folder = RunFolder(out)
    assert folder.whole_matrices.seeds == {RANDOM: 1}
    # The core-set is another one: of its 18 samples, those of the others are computed.
    facts = {name: record["facts"] for name, record in folder.state()["stages"].items()}
    assert facts["compute-core"]["matrices"] == 18
    assert facts["compute-top"]["matrices"] == 36 - 18
    start(cohort, tmp_path / "FRESH", spis=spis, top_k=4, seed=1)
    expect_same(out, tmp_path / "FRESH")


def test_each_operator_is_computed_once_per_sample(cohort, tmp_path):
    out = tmp_path / "RUN"
    start(cohort, out, full_benchmark=True)
    facts = {name: record["facts"] for name, record in RunFolder(out).state()["stages"].items()}
    made = [facts[name]["matrices"] for name in ("compute-core", "compute-top", "full-benchmark")]
    assert made == [3 * 18, 3 * 18, 0]
    costs = RunFolder(out).confirmation()["costs"]
    assert costs["everything_measured"] == pytest.approx(costs["core"] + costs["top"])
    assert sorted(path.name for path in out.glob("*.zarr")) == ["fc-core.zarr", "fc.zarr"]


def upgrade_selector(patch):
    patch.setitem(SELECTORS, "pairs", replace(SELECTORS["pairs"], version=2))


def upgrade_score(patch):
    criteria = {**CRITERIA, "cohen_d": replace(CRITERIA["cohen_d"], version=99)}
    patch.setattr("sclcs.stats.criteria.CRITERIA", criteria)


def upgrade_ranking(patch):
    patch.setattr("sclcs.runs.order.RANKING_VERSION", RANKING_VERSION + 1)


def upgrade_operator(patch):
    newer = {**FAMILY_VERSIONS, "envelope": 2}
    patch.setattr("sclcs.spi.versions.FAMILY_VERSIONS", newer)


@pytest.mark.parametrize(
    ("upgrade", "redone"),
    [
        (upgrade_selector, ["select"]),
        (upgrade_score, ["rank", "confirm", "card", "report"]),  # rankings say which version
        (upgrade_ranking, ["rank", "confirm", "card"]),
        (upgrade_operator, ["compute-core", "rank", "compute-top", "confirm", "card", "report"]),
    ],
)
def test_after_an_upgrade_that_changes_numbers_old_ones_are_not_kept(
    copied, cohort, monkeypatch, upgrade, redone
):
    """Keys of the first version held no version of an algorithm: fault 5."""
    assert start(cohort, copied) == []
    upgrade(monkeypatch)
    assert start(cohort, copied) == redone
    assert start(cohort, copied) == []


def test_what_a_run_reads_is_read_once(cohort, tmp_path, monkeypatch):
    """A two-task run of the first version opened four rankings 52 times: fault 6."""
    opened = Counter()
    for kind in (Ranking, Cohort, CoreSet):
        real = kind.open.__func__
        monkeypatch.setattr(
            kind,
            "open",
            classmethod(
                lambda cls, path, real=real: (opened.update([Path(path).name]), real(cls, path))[1]
            ),
        )
    start(cohort, tmp_path / "RUN", task=["subject", "diagnosis"])
    assert opened == {
        "c.zarr": 1,
        "core.csv": 1,
        "ranking.csv": 1,
        "ranking-diagnosis.csv": 1,
        "confirmed.csv": 1,
        "confirmed-diagnosis.csv": 1,
    }


def test_what_two_core_sets_share_is_copied(copied, cohort):
    """Smaller core-sets of `pairs` are the beginning of larger ones."""
    assert "compute-core" in start(cohort, copied, ratio=0.4)
    record = RunFolder(copied).state()["stages"]["compute-core"]
    assert record["facts"]["matrices"] == 0
    start(cohort, copied, ratio=0.6, top_k=1)
    assert not list(copied.glob(".previous-*"))
    assert not list(copied.glob(".trash-*"))


def test_a_store_put_aside_by_a_killed_run_does_no_harm(copied, finished, cohort):
    folder = RunFolder(copied)
    folder.core_store.rename(copied / ".previous-fc-core.zarr")
    assert start(cohort, copied)[0] == "compute-core"
    assert RunFolder(copied).state()["stages"]["compute-core"]["facts"]["matrices"] == 0
    assert results(copied) == results(finished)
    assert not (copied / ".previous-fc-core.zarr").exists()


@pytest.mark.parametrize(
    ("parameters", "error", "says"),
    [
        ({"candidates": ["random"]}, UnknownNameError, "parameter of stratified: candidates"),
        ({"windows": 0}, InputError, "`windows` must be an integer of at least 1, got 0"),
    ],
)
def test_wrong_parameters_are_found_before_anything_is_written(
    cohort, tmp_path, parameters, error, says
):
    with pytest.raises(error, match=says):
        start(cohort, tmp_path / "RUN", method="stratified", parameters=parameters)
    assert not (tmp_path / "RUN").exists()


def test_tasks_of_all_kinds_with_covariates_and_a_card(cohort, tmp_path):
    out = tmp_path / "RUN"
    changes = {"task": ["diagnosis", "age", "subject"], "covariates": "site,age", "ratio": 0.6}
    start(cohort, out, **changes, method="stratified", treat_as="age=number", criteria="motion")
    folder = RunFolder.open(out)
    asked = {task: folder.ranking(task).provenance["question"] for task in folder.tasks}
    assert [asked[task]["kind"] for task in folder.tasks] == ["classes", "number", "subject"]
    assert asked["diagnosis"]["covariates"] == ["site", "age"]
    assert asked["age"]["covariates"] == ["site"]  # a target is not its own covariate
    assert asked["subject"]["covariates"] == []  # persons are compared with themselves
    card = folder.card("age")
    assert card.names == ["motion"]
    assert set(folder.confirmed("age").table["spi"]) <= set(card.table["spi"])
    assert "What else they see" in folder.report_file.read_text()
    before = folder.card_file("age").read_bytes()
    assert start(cohort, out, **changes, method="stratified", treat_as="age=number",
                 criteria="none") == ["report"]  # fmt: skip
    assert not folder.card_file("age").exists()
    start(cohort, out, **changes, method="stratified", treat_as="age=number", criteria="motion")
    assert folder.card_file("age").read_bytes() == before
