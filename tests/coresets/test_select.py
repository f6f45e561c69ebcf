import sys

import numpy as np
import pytest
from encoder_cohorts import make_cohort

from sclcs._core.constants import DEFAULT_METHOD
from sclcs._core.errors import InputError, MissingDependencyError, UnknownNameError
from sclcs.cohort.coreset import CoreSet
from sclcs.coresets import SELECTORS as ALL_SELECTORS, select
from sclcs.coresets.encoder import train as cache_module, train_encoder
from sclcs.run_folder import RunConfig

# The paper's methods; test_conformance.py asks every method.
SELECTORS = {name: ALL_SELECTORS[name] for name in ("random", "sclcs", "sclcs-dense", "sps-mha")}
QUICK = {"heads": 3, "dim": 4, "epochs": 3, "batch_subjects": 4}
TRAINED = [name for name, selector in SELECTORS.items() if selector.needs_training]


@pytest.fixture(scope="module")
def cohort():
    return make_cohort({f"s{i}": 3 for i in range(7)} | {"single": 1})


def parameters(method):
    return QUICK if SELECTORS[method].needs_training else {}


@pytest.mark.parametrize("method", SELECTORS)
@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9])
def test_size_order_and_record(cohort, method, ratio):
    core = select(cohort, method, ratio, seed=3, **parameters(method))
    assert len(core) == int(ratio * 22)
    assert set(core.sample_ids) <= set(cohort.sample_ids)
    assert (core.method, core.seed, core.fingerprint) == (method, 3, cohort.fingerprint)
    assert core.parameters["ratio"] == ratio
    if SELECTORS[method].needs_training:
        assert core.parameters["encoder"]["heads"] == 3
        assert len(core.score) == len(core)


@pytest.mark.parametrize("method", SELECTORS)
def test_the_seed_decides(cohort, method):
    def chosen(seed):
        return select(cohort, method, 0.4, seed, **parameters(method)).sample_ids

    assert chosen(0) == chosen(0)
    assert chosen(0) != chosen(1)


@pytest.mark.parametrize("method", [name for name, s in SELECTORS.items() if s.nested])
def test_nested_means_nested(cohort, method):
    small, large = (select(cohort, method, r, **parameters(method)) for r in (0.2, 0.6))
    assert large.sample_ids[: len(small)] == small.sample_ids


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
    monkeypatch.setattr(cache_module, "train_encoder", lambda *_, **__: pytest.fail("trained"))
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


def test_without_torch_a_method_that_needs_none_is_named(cohort, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependencyError, match=r"sclcs\[torch\].*for example pairs"):
        select(cohort)
    assert len(select(cohort, "pairs", 0.3)) == 6


def test_a_core_set_larger_than_the_pool_is_refused_before_training(cohort, monkeypatch):
    monkeypatch.setattr(cache_module, "train_encoder", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(InputError, match=r"needs 22 samples, but with beta=0\.5 the stable pool"):
        select(cohort, "sclcs-dense", 1.0, beta=0.5)


def test_logged_scores_that_are_infinite_cannot_be_chosen(cohort):
    with pytest.raises(InputError, match="have a finite score; lower the ratio or train longer"):
        select(cohort, "sclcs", 1.0, preset="official", **QUICK | {"epochs": 2})


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=lambda s: s.name)
def test_every_method_says_what_it_is(selector):
    facts = selector.to_dict()
    assert facts["summary"].endswith(".")
    assert facts["reference"]
    assert facts["direction"] in {"low", "high", "none"}


@pytest.mark.slow
@pytest.mark.parametrize("method", TRAINED)
def test_every_trained_method_works_on_the_real_cohort(real_cohort_file, method):
    from sclcs.cohort.readers.arrays import read_arrays

    scans = read_arrays(real_cohort_file)
    cohort = scans.to_cohort(window=70, stride=35, truncate=210, drop_first=1, on_bad="skip")
    core = select(cohort, method, 0.1, epochs=1, heads=4, dim=8)
    assert len(core) == 153
    assert np.isfinite(core.score).all()
