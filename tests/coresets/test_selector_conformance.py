"""Every selection method keeps the promises of its registry row."""

import json

import numpy as np
import pytest

from sclcs import CoreSet
from sclcs._core import InputError, UnknownNameError
from sclcs.cohort import Cohort
from sclcs.coresets import SELECTORS, select
from sclcs.coresets.registry import core_size

EPOCHS = 3
RATIOS = (0.1, 0.37, 0.5)
METHODS = list(SELECTORS)

every_method = pytest.mark.parametrize("method", METHODS)
those = {
    "nested": [name for name, row in SELECTORS.items() if row.nested],
    "label-free": [name for name, row in SELECTORS.items() if not row.needs_labels],
    "trained": [name for name, row in SELECTORS.items() if row.needs_training],
    "balanced": [name for name, row in SELECTORS.items() if row.can_balance],
}


def choose(cohort, method, ratio=0.3, seed=0, **parameters):
    if SELECTORS[method].needs_training:
        parameters.setdefault("epochs", EPOCHS)
    return select(cohort, method, ratio, seed, **parameters)


def with_labels_shuffled(cohort, columns):
    samples = cohort.samples.copy()
    rng = np.random.default_rng(11)
    for name in columns:
        samples[name] = rng.permutation(samples[name].to_numpy())
    return Cohort(cohort.signals, samples, cohort.regions, cohort.tr)


def test_the_contract_is_complete():
    promised = "random kmeans forgetting entropy el2n aum ccs eva boss subjects pairs stratified"
    ours = "kcenter sclcs sclcs-dense sps-mha"
    assert {*promised.split(), *ours.split()} <= set(METHODS)
    assert set(those["balanced"]) >= {"forgetting", "entropy", "el2n", "aum", "eva", "sclcs"}
    assert {"ccs", "boss", "random", "kmeans"}.isdisjoint(those["balanced"])


@every_method
def test_the_row_explains_itself(method):
    row = SELECTORS[method]
    assert row.summary.endswith(".")
    assert row.reference
    json.dumps(row.to_dict())


@every_method
def test_every_parameter_has_a_default_a_meaning_and_a_check(method):
    model = SELECTORS[method].parameters
    defaults, helps, expected = model.defaults(), model.helps(), model.expected()
    assert set(defaults) == set(helps) == set(expected) == set(model.model_fields)
    assert all(helps.values())
    assert all(expected.values())
    complete = SELECTORS[method].complete({})
    assert complete.to_dict() == defaults
    # What was checked once passes again, and nothing can be changed afterwards.
    assert SELECTORS[method].complete(complete.to_dict()) == complete
    for name in defaults:
        with pytest.raises(ValueError, match="frozen"):
            setattr(complete, name, None)


@every_method
def test_capabilities_are_those_of_the_parameters(method):
    row = SELECTORS[method]
    names = set(row.parameters.model_fields)
    assert row.can_balance == ("density" in names)
    assert (row.network == "encoder") == ("preset" in names)
    assert (row.network == "classifier") == ("batch_size" in names)
    assert row.network or not row.needs_training
    assert row.version >= 1


@every_method
@pytest.mark.parametrize("ratio", RATIOS)
def test_size_and_uniqueness(method, ratio, small_cohort):
    core = choose(small_cohort, method, ratio)
    assert len(core) == core_size(small_cohort, ratio) == int(ratio * 72)
    assert len(set(core.sample_ids)) == len(core)
    assert set(core.sample_ids) <= set(small_cohort.sample_ids)
    assert core.method == method


@every_method
def test_one_sample_and_nearly_all(method, small_cohort):
    assert len(choose(small_cohort, method, 1 / 72)) == 1
    assert len(choose(small_cohort, method, 0.94)) == 67


@every_method
def test_the_seed_decides(method, small_cohort):
    first = choose(small_cohort, method)
    assert choose(small_cohort, method).sample_ids == first.sample_ids
    assert choose(small_cohort, method, seed=1).sample_ids != first.sample_ids


@every_method
def test_the_order_of_samples_does_not_matter(method, small_cohort, shuffled_cohort):
    first, second = choose(small_cohort, method), choose(shuffled_cohort, method)
    assert first.sample_ids == second.sample_ids
    if first.score is not None:
        np.testing.assert_array_equal(first.score, second.score)


@pytest.mark.parametrize("method", those["nested"])
@pytest.mark.parametrize("larger", [0.5, 0.9])
def test_a_smaller_core_set_is_the_beginning_of_a_larger_one(method, larger, small_cohort):
    small = choose(small_cohort, method, 0.2).sample_ids
    assert choose(small_cohort, method, larger).sample_ids[: len(small)] == small


@pytest.mark.parametrize("method", those["label-free"])
def test_labels_are_not_looked_at(method, small_cohort):
    other = with_labels_shuffled(small_cohort, ["diagnosis", "site", "sex", "age"])
    assert choose(other, method).sample_ids == choose(small_cohort, method).sample_ids


@pytest.mark.parametrize("method", ["random", "kmeans", "kcenter"])
def test_subjects_are_not_looked_at_either(method, small_cohort):
    other = with_labels_shuffled(small_cohort, ["subject"])
    assert choose(other, method).sample_ids == choose(small_cohort, method).sample_ids


@pytest.mark.parametrize("method", ["el2n", "boss"])
def test_the_classifier_can_learn_another_column(method, small_cohort):
    by_subject = choose(small_cohort, method)
    by_diagnosis = choose(small_cohort, method, task="diagnosis")
    assert by_diagnosis.parameters["task"] == "diagnosis"
    assert by_diagnosis.sample_ids != by_subject.sample_ids


@every_method
def test_what_was_recorded_makes_it_again(method, small_cohort, tmp_path):
    core = choose(small_cohort, method, 0.25, seed=4)
    core.save(tmp_path / "core.csv")
    known = CoreSet.open(tmp_path / "core.csv")
    assert known.fingerprint == small_cohort.fingerprint
    fields = SELECTORS[method].parameters.model_fields
    facts = {n: v for n, v in known.parameters.items() if n in fields}
    again = select(small_cohort, known.method, known.parameters["ratio"], known.seed, **facts)
    assert again.sample_ids == core.sample_ids


@pytest.mark.parametrize("method", those["balanced"])
def test_density_balancing_draws_from_the_better_samples(method, small_cohort):
    core = choose(small_cohort, method, density=True, beta=0.5)
    assert len(set(core.sample_ids)) == len(core) == 21
    low = SELECTORS[method].direction == "low"
    threshold = core.parameters["pool_threshold"]
    assert np.all(core.score <= threshold) if low else np.all(core.score >= threshold)
    if method != "sclcs-dense":
        assert core.sample_ids != choose(small_cohort, method).sample_ids


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(those["balanced"])))
def test_density_is_refused_in_words(method, small_cohort):
    with pytest.raises(InputError, match=f"{method} does not do.*forgetting, entropy"):
        choose(small_cohort, method, density=True)


@every_method
def test_mistakes_are_named(method, small_cohort):
    with pytest.raises(UnknownNameError, match=f"Unknown parameter of {method}: colour"):
        choose(small_cohort, method, colour=1)
    for ratio in (0, 1.2, -0.1, 0.001, "half"):
        with pytest.raises(InputError, match="ratio"):
            choose(small_cohort, method, ratio)


@pytest.mark.parametrize("method", those["trained"])
def test_training_mistakes_are_named_before_training(method, small_cohort):
    for epochs in (0, -3, 2.5, "many"):
        with pytest.raises(InputError, match="epochs"):
            choose(small_cohort, method, epochs=epochs)
    with pytest.raises(InputError, match="device"):
        choose(small_cohort, method, device="abacus", cache=False)


@pytest.mark.parametrize("method", those["balanced"])
def test_a_pool_too_small_is_named(method, small_cohort):
    with pytest.raises(InputError, match="lower the ratio or beta"):
        choose(small_cohort, method, 0.9, density=True, beta=0.4)


@pytest.mark.parametrize("method", ["forgetting", "ccs", "boss"])
def test_a_task_that_cannot_be_learned_is_named(method, small_cohort):
    with pytest.raises(UnknownNameError, match="no column 'colour'"):
        choose(small_cohort, method, task="colour")
    with pytest.raises(InputError, match="measurements"):
        choose(small_cohort, method, task="motion")


WRONG = {
    "forgetting": {"never_learned": "maybe", "runs": 0, "density": "yes"},
    "el2n": {"el2n_epochs": 9, "checkpoint_epoch": 3, "train_seed": "abc"},
    "aum": {"aum_on": "logits", "aum_keep": "all"},
    "eva": {
        "eva_windows": [[0, 1]],
        "eva_weight": 2,
        "eva_ddof": 2,
        "eva_normalise": "no",
    },
    "ccs": {"cutoff": 1, "n_strata": 2.5, "aum_on": "x"},
    "boss": {
        "beta_a": 0,
        "beta_b": "2",
        "classwise": "some",
        "ties": "no",
        "error_epochs": 4,
        "aum_on": 1,
    },
    "kmeans": {"features": "all", "clusters": 0, "max_iter": 0},
    "kcenter": {"features": None},
    "pairs": {"windows": "two"},
    "stratified": {"windows": 0, "strata": []},
}


@pytest.mark.parametrize(
    ("method", "name"), [(method, name) for method, names in WRONG.items() for name in names]
)
def test_wrong_values_are_named_before_training(method, name, small_cohort, monkeypatch):
    monkeypatch.setattr(
        "sclcs.coresets.classifier.train_classifier",
        lambda *_, **__: pytest.fail("trained before the check"),
    )
    value = WRONG[method][name]
    with pytest.raises(InputError, match=name):
        choose(
            small_cohort,
            method,
            **{name: value},
            **({"cache": False} if SELECTORS[method].takes_task else {}),
        )


@pytest.mark.parametrize("method", those["balanced"])
@pytest.mark.parametrize(("name", "value"), [("beta", "x"), ("bw_adjust", 0), ("epsilon", -1)])
def test_wrong_density_options_are_named(method, name, value, small_cohort):
    with pytest.raises(InputError, match=name):
        choose(small_cohort, method, density=True, **{name: value})
