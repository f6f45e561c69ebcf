from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sclcs._core import InputError
from sclcs.coresets import select
from sclcs.coresets.boss import (
    allocate,
    benefit_matrix,
    class_budgets,
    difficulty_weights,
    hardest_share,
    lazy_greedy,
    size_aware_shape,
    stratum_numbers,
    without_hardest,
)


def represented(benefit, chosen):
    return benefit[chosen].max(axis=0).sum(dtype=np.float64)


def plain_greedy(benefit, size):
    chosen, covered = [], np.zeros(benefit.shape[1], dtype=benefit.dtype)
    for _ in range(size):
        gains = np.maximum(benefit - covered, 0).sum(axis=1, dtype=np.float64)
        gains[chosen] = -1
        chosen.append(int(np.argmax(gains)))
        covered = np.maximum(covered, benefit[chosen[-1]])
    return chosen


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "size"), [(9, 2), (11, 4), (12, 5)])
def test_greedy_against_every_subset(seed, n, size):
    rng = np.random.default_rng(seed)
    benefit = benefit_matrix(
        rng.normal(size=(n, 3)).astype(np.float32), difficulty_weights(rng.random(n), (2, 2))
    )
    chosen, gains = lazy_greedy(benefit, size)
    optimum = max(represented(benefit, np.array(s)) for s in combinations(range(n), size))
    reached = represented(benefit, chosen)
    assert reached >= (1 - 1 / np.e) * optimum
    assert reached == pytest.approx(gains.sum(), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_lazy_equals_plain_greedy_and_gains_fall(seed):
    rng = np.random.default_rng(seed)
    benefit = rng.random((60, 47)).astype(np.float32)
    chosen, gains = lazy_greedy(benefit, 60)
    assert chosen.tolist() == plain_greedy(benefit, 60)
    assert np.all(np.diff(gains) <= 0)


def test_ties_go_to_the_first():
    assert lazy_greedy(np.ones((5, 4), dtype=np.float32), 3)[0].tolist() == [0, 1, 2]


def test_weights_are_finite_for_any_shape(rng):
    errors = np.concatenate([[0.0, 1.0], rng.random(20)])
    for shape in [(2, 2), (0.1, 2), (1.6, 1.6), (0.5, 0.5)]:
        weights = difficulty_weights(errors, shape)
        assert np.all(np.isfinite(weights) & (weights > 0))
    assert difficulty_weights(np.full(4, 0.7), (2, 2)).tolist() == [1, 1, 1, 1]


def test_benefit_is_weighted_similarity(rng):
    features = rng.normal(size=(6, 4)).astype(np.float32)
    features[2] = 0
    weights = rng.random(6)
    benefit = benefit_matrix(features, weights)
    for j in range(6):
        for i in range(6):
            norm = np.linalg.norm(features[i]) * np.linalg.norm(features[j])
            cosine = features[i] @ features[j] / norm if norm else 0.0
            assert benefit[j, i] == pytest.approx((0.5 + 0.5 * cosine) * weights[j], abs=1e-6)


def test_budgets_of_classes():
    assert class_budgets(np.array([40, 33]), 21).tolist() == [12, 9]
    assert class_budgets(np.array([40, 33]), 2) is None
    assert class_budgets(np.full(904, 5), 452) is None
    for size in range(10, 70):
        budgets = class_budgets(np.array([40, 33]), size)
        assert budgets.sum() == size
        assert np.all(budgets <= [40, 33])


def test_samples_without_gain_are_not_the_first_ones(small_cohort):
    """A sharp preference for one difficulty leaves nothing to gain after a few samples."""
    sharp = {"epochs": 2, "beta_a": 60.0, "beta_b": 60.0, "cutoff": 0.0}
    by_chance = select(small_cohort, "boss", 0.3, **sharp)
    by_id = select(small_cohort, "boss", 0.3, ties="id", **sharp)
    n_without = by_id.parameters["samples_without_gain"]
    assert n_without == by_chance.parameters["samples_without_gain"] > 10
    tail = by_id.sample_ids[-n_without:]
    assert tail == sorted(tail)
    assert by_chance.sample_ids[: 21 - n_without] == by_id.sample_ids[: 21 - n_without]
    assert set(by_chance.sample_ids) != set(by_id.sample_ids)


def test_class_wise_only_where_it_makes_sense(small_cohort):
    by_subject = select(small_cohort, "boss", 0.3, epochs=2)
    assert by_subject.parameters["pools"] == 1
    by_diagnosis = select(small_cohort, "boss", 0.3, epochs=2, task="diagnosis")
    assert by_diagnosis.parameters["pools"] == 2
    classes = small_cohort.samples.loc[by_diagnosis.sample_ids, "diagnosis"].value_counts()
    shares = small_cohort.samples["diagnosis"].value_counts(normalize=True) * 21
    assert all(abs(classes[name] - shares[name]) < 1 for name in shares.index)
    everyone = select(small_cohort, "boss", 0.3, epochs=2, task="diagnosis", classwise=False)
    assert everyone.parameters["pools"] == 1
    assert select(small_cohort, "boss", 0.6, epochs=2).parameters["pools"] == 18
    with pytest.raises(InputError, match="classwise=True needs at least 2"):
        select(small_cohort, "boss", 0.3, epochs=2, classwise=True)
    with pytest.raises(InputError, match="`beta_a` must be a number above 0"):
        select(small_cohort, "boss", 0.3, epochs=2, beta_a=0)


def test_smaller_core_sets_favour_easier_samples(small_cohort):
    errors = np.linspace(0, 1, 201)
    for ratio in (0.1, 0.3, 0.5, 0.8):
        favoured = errors[difficulty_weights(errors, size_aware_shape(ratio)).argmax()]
        assert favoured == pytest.approx(ratio, abs=0.006)
    assert size_aware_shape(0.5) == (2.0, 2.0)  # the example of the released code
    assert size_aware_shape(0.1, (None, 7.0)) == (1.2, 7.0)
    usual = select(small_cohort, "boss", 0.1, epochs=2)
    assert usual.parameters["beta_used"] == pytest.approx(size_aware_shape(len(usual) / 72))
    medium = select(small_cohort, "boss", 0.1, epochs=2, beta_a=2.0, beta_b=2.0)
    assert medium.parameters["beta_used"] == [2.0, 2.0]
    assert set(usual.sample_ids) != set(medium.sample_ids)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=50).filter(sum),
    st.floats(0.01, 1.0),
)
def test_the_budget_is_spent_exactly(counts, share):
    counts = np.array(counts)
    size = max(1, int(share * counts.sum()))
    given_out = allocate(counts, size)
    assert given_out.sum() == size
    assert np.all((given_out >= 0) & (given_out <= counts))


def test_the_budget_is_even_where_it_can_be():
    assert allocate(np.array([100, 100, 100, 3]), 63).tolist() == [20, 20, 20, 3]
    assert allocate(np.array([0, 0, 7]), 7).tolist() == [0, 0, 7]


def test_the_top_sample_stays_even_if_all_scores_are_negative(rng):
    scores = -rng.random(200) - 1e-3
    bins = stratum_numbers(scores, 50)
    assert bins.min() == 0
    assert bins.max() == 49
    assert bins[np.argmax(scores)] == 49
    assert np.bincount(bins, minlength=50).sum() == 200


def test_equal_scores_are_one_stratum():
    assert stratum_numbers(np.full(9, -0.5), 50).tolist() == [0] * 9


def test_bins_equal_a_plain_loop(rng):
    scores = rng.normal(size=120)
    low, high = scores.min(), scores.max()
    edges = low + np.arange(1, 7) * (high - low) / 7
    expected = [sum(score >= edge for edge in edges) for score in scores]
    np.testing.assert_array_equal(stratum_numbers(scores, 7), expected)


def test_the_hardest_are_discarded(rng):
    scores = rng.normal(size=50)
    rows = without_hardest(scores, 0.3, rng.random(50))
    assert len(rows) == 35
    assert scores[rows].min() > np.sort(scores)[14]


def test_the_default_cutoff_follows_the_ratio():
    n = 4520
    assert [hardest_share(None, int(r * n), n) for r in (0.1, 0.2, 0.3, 0.5, 0.7)] == [
        0.3,
        0.1,
        0.1,
        0.0,
        0.0,
    ]
    for ratio in np.linspace(0.01, 1, 100):
        size = int(ratio * 97)
        if size:
            assert 97 - int(hardest_share(None, size, 97) * 97) >= size
    with pytest.raises(InputError, match="leaves 36 of 72"):
        hardest_share(0.5, 40, 72)
    with pytest.raises(InputError, match="cutoff"):
        hardest_share(1.0, 40, 72)


@pytest.mark.parametrize("cutoff", [0.0, 0.2, 0.5, None])
def test_ccs_leaves_the_hardest_out(cutoff, small_cohort):
    everything = select(small_cohort, "aum", 1.0, epochs=3)
    aum = dict(zip(everything.sample_ids, everything.score, strict=True))
    core = select(small_cohort, "ccs", 0.4, epochs=3, cutoff=cutoff)
    assert len(core) == 28
    used = core.parameters["cutoff_used"]
    assert min(core.score) >= sorted(aum.values())[int(used * 72)]
    one = select(small_cohort, "ccs", 0.4, epochs=3, cutoff=cutoff, n_strata=1)
    assert len(one) == 28
    with pytest.raises(InputError, match="n_strata"):
        select(small_cohort, "ccs", 0.4, epochs=3, n_strata=0)
