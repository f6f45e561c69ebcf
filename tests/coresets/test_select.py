from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from encoder_cohorts import make_cohort

import sclcs
from sclcs._core import DEFAULT_METHOD, InputError, UnknownNameError, text_digest
from sclcs.cohort import CoreSet, read_scans
from sclcs.coresets import (
    SELECTORS,
    encoder as encoder_module,
    select,
    train_encoder,
)
from sclcs.run_folder import RunConfig

QUICK = {"heads": 3, "dim": 4, "epochs": 3, "batch_subjects": 4}


@pytest.fixture(scope="module")
def cohort():
    return make_cohort({f"s{i}": 3 for i in range(7)} | {"single": 1})


@pytest.mark.parametrize("method", ["sclcs", "sclcs-dense", "sps-mha"])
def test_what_is_recorded(cohort, method):
    core = select(cohort, method, 0.5, seed=3, **QUICK)
    assert (core.method, core.seed, core.fingerprint) == (method, 3, cohort.fingerprint)
    assert core.parameters["ratio"] == 0.5
    assert core.parameters["encoder"]["heads"] == 3
    assert len(core.score) == len(core) == 11


def test_sclcs_is_the_lowest_scores_in_order(cohort):
    run = train_encoder(cohort, "paper", seed=2, **QUICK)
    core = select(cohort, "sclcs", 0.3, seed=2, **QUICK)
    order = np.argsort(run.scores, kind="stable")[:6]
    assert core.sample_ids == [run.sample_ids[row] for row in order]
    assert core.score == pytest.approx(run.scores[order])


def test_sps_mha_is_sclcs_with_uniform_fusion(cohort):
    one = select(cohort, "sps-mha", 0.3, **QUICK)
    other = select(cohort, "sclcs", 0.3, fusion="uniform", **QUICK)
    assert one.sample_ids == other.sample_ids


def test_presets_can_be_chosen(cohort):
    core = select(cohort, "sclcs", 0.2, preset="official", **QUICK | {"epochs": 6})
    assert core.parameters["encoder"]["attention"] == "logits"


def test_another_ratio_or_draw_trains_nothing(cohort, tmp_path, monkeypatch):
    first = select(cohort, "sclcs-dense", 0.2, cache=tmp_path, **QUICK)
    monkeypatch.setattr(encoder_module, "train_encoder", lambda *_, **__: pytest.fail("trained"))
    select(cohort, "sclcs", 0.5, cache=tmp_path, **QUICK)
    select(cohort, "sclcs-dense", 0.4, beta=0.2, cache=tmp_path, **QUICK)
    drawn = select(cohort, "sclcs-dense", 0.2, seed=9, train_seed=0, cache=tmp_path, **QUICK)
    assert drawn.sample_ids != first.sample_ids
    assert "cache" not in drawn.parameters


def test_ties_go_to_the_earlier_sample(cohort):
    core = select(cohort, "sclcs", 0.3, learning_rate=0.0, **QUICK)
    assert core.sample_ids == cohort.sample_ids[:6]


def test_a_core_set_can_be_saved_and_opened(cohort, tmp_path):
    core = select(cohort, "sclcs-dense", 0.3, **QUICK)
    again = CoreSet.open(core.save(tmp_path / "core.csv"))
    assert again.sample_ids == core.sample_ids
    assert again.parameters == core.parameters
    assert again.score == pytest.approx(core.score)


@pytest.mark.parametrize("ratio", [0, -0.1, 1.01, "half", float("nan")])
def test_impossible_ratios(cohort, ratio):
    with pytest.raises(InputError, match=r"ratio(` must be a number| above 0 and at most 1)"):
        select(cohort, "random", ratio)


def test_a_ratio_that_leaves_nothing(cohort):
    with pytest.raises(InputError, match="leaves no sample"):
        select(cohort, "random", 0.04)


def test_unknown_names_list_the_known_ones(cohort):
    with pytest.raises(UnknownNameError, match=r"'sclc'; the known ones are .*sclcs-dense"):
        select(cohort, "sclc")
    with pytest.raises(UnknownNameError, match=r"of sclcs: betta; the known ones are .*heads"):
        select(cohort, "sclcs", betta=1)
    with pytest.raises(UnknownNameError, match=r"of random: epochs; the known ones are none"):
        select(cohort, "random", epochs=1)


def test_the_default_is_the_recommendation_of_the_paper(cohort):
    assert select(cohort, ratio=0.3, **QUICK).method == DEFAULT_METHOD == "sclcs-dense"
    assert RunConfig(ratio=0.3).method == DEFAULT_METHOD


def test_a_core_set_larger_than_the_pool_is_refused_before_training(cohort, monkeypatch):
    monkeypatch.setattr(encoder_module, "train_encoder", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(InputError, match=r"needs 22 samples, but with beta=0\.5 the stable pool"):
        select(cohort, "sclcs-dense", 1.0, beta=0.5)


def test_logged_scores_that_are_infinite_cannot_be_chosen(cohort):
    with pytest.raises(InputError, match="have a finite score; lower the ratio or train longer"):
        select(cohort, "sclcs", 1.0, preset="official", **QUICK | {"epochs": 2})


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    cohort = sclcs.simulate_cohort(12, 3, 4, length=60, seed=2)
    path = tmp_path_factory.mktemp("study") / "cohort.zarr"
    cohort.save(path)
    return cohort, path


def test_a_path_is_as_good_as_a_cohort(study, tmp_path):
    cohort, path = study
    core = sclcs.select(path, "sclcs-dense", 0.25, epochs=2, device="cpu", cache=False)
    again = sclcs.select(cohort, "sclcs-dense", 0.25, epochs=2, cache=False)
    assert list(core.sample_ids) == list(again.sample_ids)
    assert core.parameters["epochs"] == 2
    file = core.save(tmp_path / "core.csv")
    assert sclcs.balance(path, file) == sclcs.balance(cohort, core)
    assert sclcs.compare(file, again)["jaccard"] == 1


def test_epochs_are_refused_by_methods_that_do_not_train(study):
    with pytest.raises(InputError, match="epochs"):
        sclcs.select(study[0], "random", epochs=3)


def test_core_sets_are_compared_by_what_they_share(study):
    cohort = study[0]
    ids = cohort.sample_ids
    one = sclcs.CoreSet(ids[:4], score=[1, 2, 3, 4]).bound_to(cohort)
    other = sclcs.CoreSet(ids[1:6], score=[2, 3, 4, 0, 0]).bound_to(cohort)
    found = sclcs.compare(one, other)
    assert (found["shared"], found["jaccard"], found["spearman"]) == (3, 0.5, 1)
    persons = [set(core.subjects) for core in (one, other)]
    assert found["subjects_jaccard"] == len(persons[0] & persons[1]) / len(persons[0] | persons[1])
    unknown = sclcs.compare(sclcs.CoreSet(ids[:2]), other)
    assert np.isnan([unknown["spearman"], unknown["subjects_jaccard"]]).all()


def test_a_ranking_and_a_core_set_do_not_compare(study, tmp_path):
    core = sclcs.select(study[0], "random")
    ranking = sclcs.stats.rank(study[0], "subject", ["spearmanr", "cov_EmpiricalCovariance"])
    assert sclcs.compare(ranking, ranking.save(tmp_path / "r.csv"), k=[1])["ndcg@1"] == 1
    with pytest.raises(InputError, match="one of each"):
        sclcs.compare(ranking, core)


# What methods that look at nothing but names chose, by their version. Numbers of signals are not
# the same on every processor to the last bit; ids are.
CHOICES = {
    ("random", 1): "269d70976bd3",
    ("subjects", 1): "c0a83b2109b0",
    ("pairs", 1): "cf0434874398",
    ("stratified", 2): "c9ba55dd099f",
}


@pytest.mark.parametrize(("method", "version"), CHOICES)
def test_a_changed_choice_needs_a_new_version(small_cohort, method, version):
    chosen = select(small_cohort, method, 0.37, seed=5).sample_ids
    found = text_digest("\n".join(chosen), 12)
    assert SELECTORS[method].version == version
    assert found == CHOICES[method, version], "raise the version of this method"


WITHOUT_TORCH = """
import importlib.machinery, importlib.util, sys

find = importlib.machinery.PathFinder.find_spec
def hide(name, *more):
    return None if name.partition(".")[0] == "torch" else find(name, *more)
importlib.machinery.PathFinder.find_spec = staticmethod(hide)
assert importlib.util.find_spec("torch") is None
"""


def run_without_torch(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH + code], capture_output=True, text=True, check=False
    )


def test_a_run_with_its_report_as_the_demo_makes_it(tmp_path):
    """tools/check_wheel.sh runs the whole demo where only the wheel is installed."""
    done = run_without_torch(
        f"""
import sclcs.cli.demo, sclcs.runs.demo
from sclcs import run, simulate_cohort

spis = ["cov_EmpiricalCovariance", "prec_EmpiricalCovariance", "spearmanr"]
cohort = simulate_cohort(12, 3, 4, length=60)
run(cohort, task="subject", spis=spis, full_benchmark=True,
    permutations=20, bootstrap=20, out={str(tmp_path / "run")!r})
"""
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "report.html").stat().st_size > 0


def test_untrained_methods_choose_and_trained_ones_say_what_to_install():
    done = run_without_torch(
        """
from sclcs.cohort import simulate_cohort
from sclcs.coresets import select

cohort = simulate_cohort(10, 2, 4, length=20)
print(len(select(cohort, "kmeans", ratio=0.25)))
select(cohort, "sclcs-dense", ratio=0.25)
"""
    )
    assert done.stdout.split() == ["5"]
    assert "pip install 'sclcs[torch]'" in done.stderr


@pytest.fixture(scope="module")
def real_cohort(real_cohort_file):
    whole = read_scans(real_cohort_file).to_cohort(
        window=70, stride=35, truncate=210, drop_first=1, on_bad="skip"
    )
    assert (whole.n_subjects, len(whole)) == (307, 1535)
    people = whole.samples["subject"].unique()[::8]
    return whole.where(subject=list(people))


@pytest.mark.slow
@pytest.mark.parametrize("method", list(SELECTORS))
def test_every_method_works_on_real_signals(method, real_cohort):
    parameters = {"epochs": 2} if SELECTORS[method].needs_training else {}
    core = select(real_cohort, method, 0.1, **parameters)
    assert len(set(core.sample_ids)) == 19
