"""The parts that experiments share."""

import math

import numpy as np
import pandas as pd
import pytest

from paper.headline import best_of, lag_one, without
from paper.options import Options
from paper.scorer import Scorer
from paper.setup import Setup
from paper.summary import (
    aggregate,
    agreement_tables,
    method_order,
    paper_agreement,
    summarise_agreement,
)
from paper.table11 import recut
from paper.tables import Table, spread
from sclcs import simulate_cohort
from sclcs._core import InputError, UnknownNameError
from sclcs.coresets import select
from sclcs.stats import consistency, rank
from sclcs.store import compute_store

OPERATORS = ["cov_EmpiricalCovariance", "kendalltau", "pdist_chebyshev", "cov_LedoitWolf"]


@pytest.fixture(scope="module")
def scorer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scorer")
    cohort = simulate_cohort(8, 3, 5, length=30, stride=15, seed=2)
    store = compute_store(cohort, folder / "fc", OPERATORS)
    return cohort, Scorer(store, OPERATORS, folder / "scores"), folder


def test_scores_are_those_of_rank_and_are_kept(scorer, monkeypatch):
    cohort, kept, folder = scorer
    cores = [select(cohort, "random", 0.7, seed) for seed in range(20)]
    requests = [(task, core) for core in cores for task in ("subject", "diagnosis")]
    found = kept.core(requests)
    quick = {"bootstrap": 0, "permutations": 0}
    papers_way = {"pooled": True, "overlapping": True, **quick}
    sound = Scorer(kept.source, OPERATORS, folder / "scores", sound=True).core(requests[:4])
    for (task, core), table, default in zip(requests[:4], found[:4], sound, strict=True):
        for score in ("cohen_d", "ratio"):
            expected = rank(kept.source, task, coreset=core, score=score, **papers_way).scores
            np.testing.assert_allclose(table[score], expected[OPERATORS], rtol=1e-5, atol=1e-6)
        expected = rank(kept.source, task, coreset=core, **quick).scores
        np.testing.assert_allclose(default["sound"], expected[OPERATORS], rtol=1e-5, atol=1e-6)
    assert found[0].loc["cov_LedoitWolf"].equals(found[0].loc["cov_EmpiricalCovariance"])
    monkeypatch.setattr("paper.scorer.evaluate", None)  # nothing is computed again
    again = Scorer(kept.source, OPERATORS[:2], folder / "scores").core(requests)
    pd.testing.assert_frame_equal(again[3], found[3].loc[OPERATORS[:2]])


def test_halves_hold_the_two_parts_of_every_split(scorer):
    _, kept, _ = scorer
    halves = kept.halves("subject", splits=3)
    assert halves["cohen_d"].shape == (len(OPERATORS), 6)
    np.testing.assert_array_equal(halves["ratio"], kept.halves("subject", splits=3)["ratio"])


def test_scans_are_cut_again_without_their_files():
    cohort = simulate_cohort(3, 3, 4, length=20, stride=10, seed=1)  # scans of 40 time points
    other = recut(cohort, 16, 12)
    assert (len(other), other.n_timepoints) == (9, 16)
    assert (
        other.samples["diagnosis"].tolist()
        == np.repeat(cohort.samples["diagnosis"].to_numpy()[::3], 3).tolist()
    )
    first, again = np.asarray(cohort.signals[:3]), np.asarray(other.signals[:3])
    np.testing.assert_array_equal(again[1][:, :8], first[1][:, 2:10])  # time points 12 to 19
    np.testing.assert_array_equal(again[2][:, 6:16], first[2][:, 10:20])  # 30 to 39
    assert set(other.samples["subject"]) == set(cohort.samples["subject"])


def test_windows_with_gaps_cannot_be_joined():
    cohort = simulate_cohort(3, 2, 4, length=10, stride=15, seed=1)
    with pytest.raises(InputError, match="leave gaps"):
        recut(cohort, 8, 4)


def test_spread_is_over_defined_values_with_ddof_one():
    table = pd.DataFrame({"method": ["a"] * 3 + ["b"] * 2, "x": [1.0, 2.0, 6.0, math.nan, 4.0]})
    found = aggregate(table, ["method"], ["x"]).set_index("method")
    assert found.loc["a", ["mean", "worst", "n", "undefined"]].tolist() == [3, 1, 3, 0]
    assert found.loc["a", "std"] == pytest.approx(np.std([1, 2, 6], ddof=1))
    assert found.loc["b", ["mean", "n", "undefined"]].tolist() == [4, 1, 1]


def test_a_table_of_agreement_shows_ours_and_the_papers():
    rows = [
        {"task": "subject", "method": method, "ratio": ratio, "score": "cohen_d", "gain": gain}
        | dict.fromkeys(("ndcg@5", "ndcg@10", "ndcg@20", "kendall", "regret"), value)
        for method, ratio, values in (("random", 0.1, (0.5, 0.7)), ("chance", 0.0, (0.2,)))
        for value in values
        for gain in ("minmax", "raw")
    ]
    summary = summarise_agreement(pd.DataFrame(rows), ("task", "method", "ratio"), "table2")
    by = ("task", "score", "gain")
    tables = agreement_tables(summary, by, lambda facts: f"about {facts['task']}")
    name = "subject-cohen_d-minmax"  # raw gains are in the summary
    assert [table.name for table in tables] == [name, f"{name}-regret"]
    assert tables[0].header == ["method", "@5, 0.1", "@10, 0.1", "@20, 0.1"]
    assert tables[0].rows == [
        ["random", *["60.0 ±14.1"] * 3],
        ["  paper", "15.2 ±14.0", "18.0 ±17.5", "22.0 ±21.9"],
        ["chance", *["20.0"] * 3],  # without a size, it stands in every column
    ]
    assert tables[1].rows == [["random", "60.0 ±14.1"], ["chance", "20.0"]]
    assert "about subject" in tables[0].markdown()
    assert tables[0].text().splitlines()[-1].split() == ["chance", *["20.0"] * 3]


def test_tables_are_safe_in_latex():
    table = Table("t", "100 % of a_b ±1", ["x_y", "b"], [["`f_g`", "1 & 2"]])
    text = table.latex()
    assert r"100 \% of a\_b $\pm$1" in text
    assert r"f\_g & 1 \& 2 \\" in text
    assert "`f_g`" in table.markdown()
    assert spread(math.nan, 1.0) == "–"


def test_options_name_what_is_wrong():
    with pytest.raises(InputError, match="ratios above 0"):
        Options(ratios=(0.1, 1.5))
    with pytest.raises(InputError, match="`repeats` must be an integer above 0, got 0"):
        Options.make(repeats=0)
    with pytest.raises(UnknownNameError, match="Unknown selection method magic"):
        Options.make(methods=["magic"])
    with pytest.raises(UnknownNameError, match="Unknown option epoch"):
        Options.make(epoch=3)
    toy = Options.make(toy=True, epochs=None, ratios=[0.5])
    assert (toy.epochs, toy.ratios, toy.toy) == (2, (0.5,), True)
    assert Options(seed=3, repeats=2, draws=4).seeds("random") == [3, 4, 5, 6]


def test_fits_split_whole_groups_stop_early_and_leave_the_simplex():
    torch = pytest.importorskip("torch")
    from paper.table4 import FittingData, fit, references, split

    groups = np.repeat([f"s{k}" for k in range(20)], 2).astype(object)
    parts = split(groups, seed=0)
    assert [len(part) for part in parts] == [28, 4, 8]
    assert not set(groups[parts[0]]) & set(groups[parts[2]])
    random = np.random.default_rng(0)
    signals = random.normal(size=(40, 5, 12)).astype(np.float32)
    signals = (signals - signals.mean(2, keepdims=True)) / signals.std(2, keepdims=True)
    inputs = torch.from_numpy(np.concatenate([signals, np.ones((40, 5, 1), np.float32)], axis=2))
    correlation = torch.from_numpy(signals @ signals.transpose(0, 2, 1) / 12)
    mask = torch.ones((5, 5), dtype=torch.bool)
    data = FittingData(inputs, correlation, mask, *parts, symmetric=True)
    known = references(data)
    assert known["pearson"] == pytest.approx(0, abs=1e-9)
    assert known["edges"] < known["mean"]
    found = fit(data, "logits", epochs=8, patience=8)
    assert found.train < 0.7 * found.start  # a product of the inputs: the maps can become it
    assert [epoch for epoch, _, _ in found.curves] == list(range(1, 9))
    offset = FittingData(inputs, torch.full((40, 5, 5), 0.1), mask, *parts, symmetric=True)
    shifted = fit(offset, "affine", epochs=8)
    # The mean of a bare softmax is fixed: its error could not fall below this.
    assert shifted.train < (0.1 - 1 / 5) ** 2
    stopped = fit(offset, "logits", epochs=50, patience=1)
    assert len(stopped.curves) <= stopped.best_epoch + 1


def test_rankings_of_few_and_many_questions_agree(scorer):
    cohort, kept, _ = scorer
    core = select(cohort, "random", 0.7, 3)
    alone = rank(kept.source, "diagnosis", coreset=core).scores
    assert consistency(alone, kept.core([("diagnosis", core)])[0]["cohen_d"])["kendall"] == 1.0


def test_a_variant_is_its_selector_with_other_parameters(toy_cohort, tmp_path):
    setup = Setup(toy_cohort, tmp_path / "fc", Options.make(toy=True))
    core = setup.select("sclcs-official", 0.4, 0, task="diagnosis", cache=False)
    encoder = core.parameters["encoder"]
    assert encoder["attention"] == "logits"
    assert encoder["epochs"] == 5 * Options.make(toy=True).epochs  # as long as it is published
    assert core.method == "sclcs"
    usual = setup.select("sclcs", 0.4, 0, cache=False).parameters["encoder"]
    assert (usual["attention"], usual["epochs"]) == ("softmax", Options.make(toy=True).epochs)
    paper = paper_agreement("table2").set_index("method")["mean"]
    assert paper["sclcs-official"].tolist() == paper["sclcs"].tolist()
    assert method_order(["chance", "sclcs-official", "pairs", "sclcs"]) == [
        "sclcs", "pairs", "sclcs-official", "chance",
    ]  # fmt: skip


def test_the_literal_setting_of_theorem_2_compares_rows_that_sum_to_one(toy_cohort):
    from paper.table4 import fit, fitting_data, references, row_stochastic

    matrices = np.array([np.corrcoef(signals) for signals in np.asarray(toy_cohort.signals)])
    data, unit = fitting_data(toy_cohort, matrices, "sound", 0, readout="stochastic")
    targets = data.targets.numpy()
    np.testing.assert_allclose(targets.sum(axis=2), 1, rtol=1e-5)
    assert (np.diagonal(targets, axis1=1, axis2=2) == 0).all()
    assert (unit, data.symmetric) == (1.0, False)
    flat = row_stochastic(np.zeros((1, 5, 5)))
    assert flat[0, 0].tolist() == [0, 0.25, 0.25, 0.25, 0.25]
    # Untrained maps are nearly flat: about as good as one number, and never worse than far off.
    errors = {heads: fit(data, "stochastic", epochs=3, heads=heads).start for heads in (1, 4)}
    assert len(set(errors.values())) == 2
    assert max(errors.values()) < 4 * references(data)["mean"]


def test_universal_averages_its_seeds_and_names_the_worst():
    from paper.table4 import EXPERIMENT

    cell = {"protocol": "sound", "readout": "affine", "heads": 16, "spi": "pec_orth"}
    measured = pd.DataFrame(
        [
            {**cell, "repeat": seed, "kind": kind, "symmetric": symmetric, "skill": skill}
            | dict.fromkeys(["epochs", "train_start", "train_end", "test", "r2", "r2_pearson"], 1.0)
            for seed, symmetric, skill in ((0, True, 0.5), (1, False, 0.1), (2, True, 0.3))
            for kind in ("result", "curve")
        ]
    )
    found = EXPERIMENT.summarise(measured).loc[0]
    assert (found["skill"], found["skill_worst"], found["seeds"]) == (pytest.approx(0.3), 0.1, 3)
    assert found["skill_std"] == pytest.approx(0.2)
    assert not found["symmetric"]


def test_the_best_of_many_settings_is_above_their_mean():
    draws = np.array([0.1, 0.2, 0.3, 0.4, 0.9])
    found = best_of(draws)
    assert draws.mean() < found <= draws[-3:].mean()
    assert found == pytest.approx(draws[-3:].mean(), abs=1e-6)  # ten triples, 168 settings
    assert math.isnan(best_of(draws[:2]))


def test_what_scores_share_with_the_autocorrelation_is_taken_out(toy_cohort, rng):
    lags = lag_one(toy_cohort)
    sample = np.asarray(toy_cohort.signals[7], dtype=float)
    sample -= sample.mean(axis=1, keepdims=True)
    expected = [(row[1:] * row[:-1]).sum() / (row**2).sum() for row in sample]
    assert lags[7] == pytest.approx(np.mean(expected))
    left = without(lags + rng.normal(0, 0.05, len(lags)), lags)
    ranks = lags.argsort().argsort()
    assert abs(np.corrcoef(left, ranks)[0, 1]) < 1e-9
