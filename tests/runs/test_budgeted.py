"""The budgeted run: what it computes, what it estimates, that it ends the same whatever happens."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml
from dask_cluster import Cluster
from kill_script import KILL_IN_EVERY_STAGE
from run_cohorts import everything

import sclcs
from sclcs import simulate_cohort
from sclcs._core.errors import InputError
from sclcs.cohort.cohort import Cohort
from sclcs.run_folder import RunFolder, collect_config
from sclcs.runs import RunResult, StoppedInStageError, budget as budget_plan, carry_out
from sclcs.runs.budget import Costs, record_speed, recorded_speed
from sclcs.runs.costs import CohortShape
from sclcs.runs.order import RunOrder
from sclcs.runs.purchases import NOT_ESTIMATED, Purchases, core_scores
from sclcs.spi import resolve
from sclcs.stats import rank

CHEAP = [
    "cov_EmpiricalCovariance", "cov_LedoitWolf", "prec_OAS", "kendalltau", "spearmanr", "pec",
    "pec_orth", "pdist_cityblock", "pdist_cosine", "pdist_chebyshev", "xcorr_max_sig-True",
    "bary_euclidean_mean", "mi_gaussian", "je_gaussian",
]  # fmt: skip
DEAR = ["mi_kraskov_NN-4", "dcorr", "hsic", "dtw", "lcss_constraint-itakura", "je_kozachenko"]
SETTINGS = {
    "spis": [*CHEAP, *DEAR],
    "task": ["diagnosis"],
    "budget": "64%",
    "exact_below": 0.0,
    "bootstrap": 20,
    "permutations": 100,
    "criteria": ["none"],
}
STAGES = [
    "check", "plan", "compute-panel", "select", "compute-core", "estimate", "account", "report",
]  # fmt: skip


def groups(effect=0.6, seed=1):
    """Forty-eight samples of twenty-four subjects: 6 regions, 60 time points."""
    return simulate_cohort(24, 2, 6, length=60, stride=60, group=effect, seed=seed)


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return groups().save(tmp_path_factory.mktemp("budget") / "c.zarr")


def start(cohort, out, until=None, **changes):
    config = collect_config(None, {"cohort": str(cohort), "out": str(out), **SETTINGS, **changes})
    return carry_out(config, until=until)[1]


@pytest.fixture(scope="module")
def finished(cohort, tmp_path_factory):
    out = tmp_path_factory.mktemp("finished") / "RUN"
    assert start(cohort, out) == STAGES
    return out


def test_exact_scores_are_those_of_a_ranking_and_the_others_are_marked(finished, cohort):
    folder = RunFolder.open(finished)
    table, answer = folder.ranking().table, folder.answer()
    assert set(table["spi"]) == {*CHEAP, *DEAR}
    exact = table[table["source"] == "exact"].set_index("spi")
    guessed = table[table["source"] == "estimated"]
    assert len(guessed) > 0
    assert set(guessed["spi"]) <= set(DEAR)
    computed = list(folder.whole_matrices.complete_operators)
    alone = rank(Cohort.open(cohort), "diagnosis", computed, bootstrap=20, permutations=100)
    expected = alone.table.set_index("spi")
    pd.testing.assert_series_equal(
        exact["score"].sort_index(), expected["score"].reindex(exact.index).sort_index()
    )
    assert (guessed["low"] < guessed["score"]).all()
    assert (guessed["score"] < guessed["high"]).all()
    assert guessed["reason"].str.contains("estimated from operators like it").all()
    assert (table["rank"].dropna().sort_values().diff().dropna() >= 0).all()
    assert table["rank"].iloc[0] == 1
    assert answer["operators"]["exact"] == len(computed)
    assert answer["operators"]["asked"] == len(table)


def test_the_answer_says_how_sure_it_is_and_keeps_to_the_budget(finished):
    answer = RunFolder.open(finished).answer()
    cost, facts = answer["cost"], answer["tasks"]["diagnosis"]
    assert cost["spent"] <= cost["budget"]
    assert cost["spent"] == pytest.approx(cost["panel"] + cost["core"] + cost["confirmed"])
    assert cost["share"] == pytest.approx(cost["spent"] / cost["everything"])
    assert cost["share"] <= 0.35
    assert facts["effect_p"] < 0.05
    assert facts["chosen"] in facts["best_set"]
    assert facts["regret_share"] >= 0
    assert sum(facts["probability_best"].values()) <= 1.0001
    assert answer["stopped"] in {"settled", "budget spent", "complete"}
    assert answer["sentence"].startswith("Stopped because")


def test_the_folder_and_the_result_can_be_read(finished):
    folder = RunFolder.open(finished)
    result = RunResult.open(folder)
    assert result.answer == folder.answer()
    assert result.best(2)["diagnosis"][0]["source"] == "exact"
    assert len(folder.core_set()) == folder.answer()["operators"]["core_samples"]
    places = pd.read_csv(folder.geometry_file, index_col="spi")
    assert set(places.index) == {*CHEAP, *DEAR}
    assert places[["x", "y"]].notna().all().all()
    costs = folder.confirmation()["costs"]
    assert costs["two_stage"] == pytest.approx(costs["panel"] + costs["core"] + costs["top"])
    keys = yaml.safe_load(folder.config_file.read_text())
    assert (keys["budget"], keys["ratio"], keys["method"]) == ("64%", None, None)
    json.dumps(result.to_dict())


def test_the_report_tells_exact_from_estimated_and_draws_the_map(finished):
    folder = RunFolder.open(finished)
    page, table = folder.report_file.read_text(), folder.ranking().table
    section = page.split('id="estimates"')[1].split("</section>")[0]
    assert "Exact and estimated" in section
    assert section.count('class="dot fam') == len(table)
    assert section.count(" guess") == (table["source"] == "estimated").sum()
    assert section.count('class="ring"') == table["best_set"].sum()
    assert "is expected to lose" in section
    assert "estimated from operators like it" in page


def test_everything_is_computed_if_that_is_cheap_and_the_run_says_so(cohort, tmp_path):
    out = tmp_path / "RUN"
    done = start(cohort, out, budget=None, exact_below=120.0)
    assert done == ["check", "plan", "compute-all", "estimate", "account", "report"]
    folder = RunFolder.open(out)
    assert folder.answer()["way"] == "exact"
    assert "too little to save any" in folder.answer()["why"]
    assert set(folder.ranking().table["source"]) == {"exact"}
    alone = rank(Cohort.open(cohort), "diagnosis", [*CHEAP, *DEAR], bootstrap=20, permutations=100)
    pd.testing.assert_frame_equal(folder.ranking().table, alone.table)
    assert RunResult.open(folder).core_set is None
    page = folder.report_file.read_text()
    assert "Nothing is estimated" in page
    assert "core-set" not in page.split('id="losses"')[1].split("</section>")[0]
    assert "matrix for every sample of the cohort" in page
    assert "not at all" not in page.split('id="estimates"')[1].split("</section>")[0]


@pytest.mark.parametrize("stage", STAGES[:-1])
def test_stopped_after_any_stage_it_goes_on_and_ends_the_same(cohort, finished, tmp_path, stage):
    out = tmp_path / "RUN"
    start(cohort, out, until=stage)
    assert start(cohort, out)[0] == STAGES[STAGES.index(stage) + 1]
    assert everything(out) == everything(finished)


def test_stopped_between_purchases_it_buys_the_same(tmp_path, monkeypatch):
    rich = {"budget": "60%"}
    cohort = groups(0.3).save(tmp_path / "c.zarr")  # weak, so that one purchase settles nothing
    monkeypatch.setattr("sclcs.runs.purchases.SMALL_REGRET", 0.0)  # never settled
    start(cohort, tmp_path / "WHOLE", **rich)
    steps = RunFolder(tmp_path / "WHOLE").answer()["steps"]
    assert len(steps) >= 2
    buy, out = Purchases._buy, tmp_path / "RUN"

    def stop_at_the_second(self, *arguments):
        if len(self.steps) == 1:
            raise KeyboardInterrupt
        buy(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Purchases, "_buy", stop_at_the_second)
        with pytest.raises(StoppedInStageError):
            start(cohort, out, **rich)
    assert start(cohort, out, **rich) == STAGES[5:]
    assert everything(out) == everything(tmp_path / "WHOLE")


def test_the_core_set_speaks_for_itself_where_it_is_sure(finished, tmp_path):
    """Two samples per subject say much about fingerprinting, and a strong effect shows early."""
    assert RunFolder(finished).answer()["tasks"]["diagnosis"]["own_weight"] > 0.2
    cohort = groups().save(tmp_path / "c.zarr")
    start(cohort, tmp_path / "RUN", until="estimate", task=["subject", "diagnosis"])
    folder = RunFolder(tmp_path / "RUN")
    assert folder.core_set().method == "pairs"
    assert folder.answer()["tasks"]["subject"]["own_weight"] > 0.2


def test_scores_of_a_core_set_that_cannot_answer_are_left_out(cohort, tmp_path):
    start(cohort, tmp_path / "RUN", until="compute-core", task=["diagnosis"], score="predict")
    folder = RunFolder.open(tmp_path / "RUN")
    order = RunOrder(folder, folder.config(), Cohort.open(cohort))
    assert core_scores(order, "diagnosis") == {}


def test_the_executor_does_not_matter(cohort, finished, tmp_path):
    start(cohort, tmp_path / "RUN", on="local:2")
    assert everything(tmp_path / "RUN") == everything(finished)


@pytest.mark.slow
def test_dask_does_not_matter_either(cohort, finished, tmp_path):
    pytest.importorskip("distributed")
    cluster = Cluster(tmp_path)
    try:
        cluster.add_worker()
        cluster.add_worker()
        start(cohort, tmp_path / "RUN", on=f"dask:{cluster.address}")
    finally:
        cluster.close()
    assert everything(tmp_path / "RUN") == everything(finished)


@pytest.mark.slow
def test_killed_anywhere_it_goes_on_and_ends_the_same(tmp_path):
    """SIGKILL at the beginning and at random moments of stages, several in the estimate."""
    cohort = groups(0.3).save(tmp_path / "c.zarr")
    asked = {"cohort": str(cohort), "out": str(tmp_path / "RUN"), **SETTINGS, "budget": "60%"}
    moments = [*STAGES[2:6], "estimate", "estimate", *STAGES[6:]]
    done = subprocess.run(
        [sys.executable, "-c", KILL_IN_EVERY_STAGE, json.dumps(asked), *moments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    killed = json.loads(done.stdout)
    assert killed.count("estimate") >= 3, killed
    assert len(set(killed)) >= 4, killed  # a stage may be over before the killer sees it
    carry_out(collect_config(None, asked))
    assert everything(tmp_path / "RUN") == everything(tmp_path / "RUN-warm")


def test_a_lost_or_edited_answer_is_made_again(cohort, finished, tmp_path):
    out = shutil.copytree(finished, tmp_path / "RUN")
    (out / "answer.json").unlink()
    assert start(cohort, out) == ["estimate"]
    (out / "ranking.csv").write_text("spi\n")
    assert start(cohort, out) == ["estimate"]
    assert everything(out) == everything(finished)


def test_where_nothing_is_seen_nothing_is_estimated(tmp_path):
    quiet = groups(effect=0.0, seed=6)
    result = sclcs.run(quiet, out=tmp_path / "RUN", **SETTINGS)
    facts = result.answer["tasks"]["diagnosis"]
    assert facts["effect_p"] >= 0.05
    assert result.answer["stopped"] == "no effect"
    assert result.answer["steps"] == []
    assert facts["best_set"] == []
    table = result.rankings["diagnosis"].table
    left = table[table["source"] == "estimated"]
    assert len(left) > 0
    assert left["score"].isna().all()
    assert left["rank"].isna().all()
    assert (left["status"] == NOT_ESTIMATED).all()


def test_tasks_share_the_panel_the_core_set_and_the_budget(cohort, tmp_path):
    out = tmp_path / "RUN"
    start(cohort, out, task=["diagnosis", "subject"])
    folder = RunFolder.open(out)
    answer = folder.answer()
    assert set(answer["tasks"]) == {"diagnosis", "subject"}
    assert answer["cost"]["spent"] <= answer["cost"]["budget"]
    for task in folder.tasks:
        assert set(folder.ranking(task).table["spi"]) == {*CHEAP, *DEAR}
    sources = [
        folder.ranking(t).table.set_index("spi")["source"].sort_index() for t in folder.tasks
    ]
    pd.testing.assert_series_equal(*sources)


@pytest.mark.parametrize("text", ["0", "-5m", "soon", "0.01%", "0s"])
def test_a_bad_budget_is_told_the_smallest_that_works(cohort, tmp_path, text):
    with pytest.raises(
        InputError, match=r"; the smallest that works here is [0-9.]+% of the"
    ) as no:
        start(cohort, tmp_path / "RUN", budget=text)
    assert not (tmp_path / "RUN").exists()
    share = str(no.value).split("works here is ")[1].split(" ")[0]
    start(cohort, tmp_path / "RUN", budget=share, until="plan")


def test_a_budget_does_not_go_with_two_stages(cohort, tmp_path):
    with pytest.raises(InputError, match="one of budget and ratio"):
        start(cohort, tmp_path / "RUN", ratio=0.1)
    config = collect_config(None, {"ratio": 0.2})
    assert (config.method, config.ratio, config.budgeted) == ("sclcs-dense", 0.2, False)
    config = collect_config(None, {"method": "random"})
    assert (config.method, config.ratio, config.budget) == ("random", 0.1, None)
    assert collect_config(None, {}).budget == "5%"


def test_a_time_is_measured_once_and_kept(cohort, tmp_path):
    out = tmp_path / "RUN"
    start(cohort, out, budget="10h", until="plan")
    first = (out / "speed.json").read_bytes()
    speed = json.loads(first)["speed"]
    assert speed > 0
    plan = json.loads((out / "plan.json").read_text())["budget"]
    assert plan["way"] == "exact"
    slow = speed * 2 * 10 * 3600 / plan["everything"]  # 10 h are half of everything
    (out / "speed.json").write_text(json.dumps({"speed": slow}))
    start(cohort, out, budget="10h", until="plan")
    assert json.loads((out / "plan.json").read_text())["budget"]["way"] == "estimated"


def test_the_speed_of_a_machine_is_not_that_of_loading_modules(cohort, tmp_path, monkeypatch):
    """The first call is slow for other reasons; of the others the quickest counts."""
    seconds = iter([500.0, 3.0, 2.0, 4.0])
    monkeypatch.setattr(budget_plan, "_seconds_for", lambda *_: next(seconds))
    folder, samples = RunFolder.create(tmp_path / "RUN"), Cohort.open(cohort)
    record_speed(folder, samples)
    operators = resolve("panel")
    part = samples.take(samples.sample_ids[: budget_plan.PILOT_SAMPLES])
    expected = Costs.of(operators, CohortShape.of(part)).on_everybody(operators)
    assert recorded_speed(folder) == pytest.approx(2.0 / expected, rel=0.05)


def test_the_truth_stands_beside_the_estimate_if_asked_for(cohort, finished, tmp_path):
    out = shutil.copytree(finished, tmp_path / "RUN")
    done = start(cohort, out, full_benchmark=True)
    assert done == ["full-benchmark", "account", "report"]
    found = RunFolder.open(out).confirmation()["tasks"]["diagnosis"]
    truth = RunFolder.open(out).truth("diagnosis").scores
    assert truth[found["true_best"]] == truth.max()
    chosen = truth[found["chosen"]]
    assert found["regret_share"] == pytest.approx(
        (truth.max() - chosen) / (truth.max() - truth.median())
    )
    assert np.isfinite(found["truth"]["kendall"])
    page = RunFolder.open(out).report_file.read_text()
    assert f"Everything was computed afterwards: the true best is {found['true_best']}" in page


def test_an_exact_run_scores_once_and_its_card_and_answer_agree_with_the_ranking(
    cohort, tmp_path, monkeypatch
):
    scored = []

    def count(self, operators):
        scored.extend(operators)
        return score(self, operators)

    score = Purchases._score
    monkeypatch.setattr(Purchases, "_score", count)
    out = tmp_path / "RUN"
    start(cohort, out, spis=CHEAP[:4], exact_below=1e6, criteria=["reliability"])
    folder = RunFolder.open(out)
    assert sorted(scored) == sorted(CHEAP[:4])
    ranking, card, answer = folder.ranking(), folder.card("diagnosis"), folder.answer()
    assert answer["way"] == "exact"
    assert answer["tasks"]["diagnosis"]["effect_p"] == ranking.findings["effect"]["p"]
    entries = ranking.groups.set_index("spi")
    assert set(card.table["spi"]) == set(entries.index)
    for row in card.table.to_dict(orient="records"):
        assert row["target"] == pytest.approx(entries["score"][row["spi"]])
        assert row["best_set"] == entries["best_set"][row["spi"]]
        assert np.isfinite(row["reliability"])
