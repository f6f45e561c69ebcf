"""What may be said: exact levels, coverage, and values worked out by hand."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import f_oneway

from sclcs.stats.inference import (
    best_set_p,
    effect_test,
    joint_draws,
    new_subjects_worth,
    score_covariance,
)
from sclcs.stats.permutations import (
    can_permute,
    half_draws,
    permutation_table,
    pool_small_strata,
)
from sclcs.stats.share import make_share_model, scatter_of


def test_family_wise_p_by_hand():
    # Two operators, four permutations; the second has the wider null.
    statistics = np.array([[3.0, 1, 0, 1, 0], [5.0, 30, -20, 0, 10]])
    test = effect_test(statistics)
    assert test.p_single.tolist() == [0.2, 3 / 5]
    assert test.p[0] == 0.2  # standardised, the wide one does not drown the first
    assert test.p[1] >= test.p_single[1]


def test_family_wise_error_is_what_it_says():
    rng = np.random.default_rng(6)
    hits = 0
    for _ in range(1000):
        shared = rng.normal(size=(1, 100))
        statistics = (rng.normal(size=(6, 100)) + shared) * np.array([[1], [9], [1], [1], [4], [1]])
        hits += effect_test(statistics).p.min() <= 0.05
    assert 0.036 <= hits / 1000 <= 0.064


def test_an_operator_without_statistics_has_no_p():
    statistics = np.vstack([np.full(5, np.nan), [2.0, 0, 1, 0, 1], np.zeros(5)])
    test = effect_test(statistics)
    assert np.isnan(test.p[0])
    assert test.p_single[1] == 0.2
    assert test.p_single[2] == 1.0  # nothing to permute: no evidence


def test_permutations_stay_inside_blocks():
    blocks = np.array([2, 0, 1, 0, 2, 2, 0])
    table = permutation_table(blocks, 200, seed=1)
    assert (np.sort(table, axis=1) == np.arange(7)).all()
    assert (blocks[table] == blocks).all()
    assert len({tuple(row) for row in table[:, blocks == 2].tolist()}) == 6
    np.testing.assert_array_equal(table, permutation_table(blocks, 200, seed=1))
    assert can_permute(blocks, np.array([0, 0, 1, 1, 0, 0, 0]))
    assert not can_permute(blocks, np.array([1, 0, 1, 0, 1, 1, 0]))


def test_strata_and_halves():
    classes, sites = np.repeat([0, 1], 12), np.tile([0] * 7 + [1] * 5, 2)
    strata = pool_small_strata(classes, sites)
    assert np.bincount(strata).tolist() == [7, 5, 7, 5]
    draws = half_draws(strata, 6, seed=2)
    assert (draws[::2] + draws[1::2] == 1).all()
    for stratum in range(4):
        sizes = draws[:, strata == stratum].sum(axis=1)
        assert set(sizes) <= {len(strata[strata == stratum]) // 2 + extra for extra in (0, 1)}


def pair_statistic(values, draw):
    """Mean product of different subjects: a statistic of pairs, degenerate without an effect."""
    kept = values[draw > 0]
    total = kept.sum(axis=0)
    return (total @ total - (kept**2).sum()) / (len(kept) * (len(kept) - 1))


@pytest.mark.parametrize("effect", [0.0, 0.15, 0.6])
def test_redraws_have_the_true_spread_where_the_bootstrap_has_not(effect):
    rng = np.random.default_rng(11)
    n, edges = 40, 12
    strata = np.zeros(n, int)
    found, spread = [], []
    for repeat in range(120):
        values = rng.normal(size=(n, edges)) + effect
        halves = half_draws(strata, 60, seed=repeat)
        point = np.array([pair_statistic(values, np.ones(n))])
        scores = np.array([[pair_statistic(values, draw) for draw in halves]])
        found.append(point[0])
        spread.append(np.sqrt(score_covariance(point, scores)[0, 0]))
    assert np.mean(spread) == pytest.approx(np.std(found), rel=0.2)


def test_joint_draws_keep_what_operators_share():
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(1, 400))
    own = 0.1 * rng.normal(size=(3, 400))
    apart = shared + own
    halves = np.empty((4, 800))
    halves[:3, ::2], halves[:3, 1::2] = 1 + apart, 1 - apart
    halves[3] = np.nan
    point = np.array([1.0, 1.0, 1.0, np.nan])
    drawn = joint_draws(point, halves, 2000, seed=0)
    assert np.isnan(drawn[3]).all()
    assert np.corrcoef(drawn[:3])[0, 1] > 0.97
    assert drawn[:3].mean() == pytest.approx(1.0, abs=0.1)
    assert drawn[0].std() == pytest.approx(apart[0].std(), rel=0.1)


def test_redraws_leave_out_splits_without_scores_and_give_up_without_any():
    halves = np.array([[1.0, 2, np.nan, 3, 2, 1, 1, 3], [1.0, 2, 4, 3, 2, 2, 1, 4]])
    assert np.isfinite(joint_draws(np.array([1.5, 2.0]), halves, 5)).all()
    assert np.isnan(joint_draws(np.array([1.5, 2.0]), halves[:, :4], 5)).all()


def test_the_best_set_holds_the_best_as_often_as_promised():
    rng = np.random.default_rng(21)
    truth = np.array([1.0, 0.97, 0.9, 0.5, 0.0])
    mixing = np.eye(5) * 0.05 + 0.05
    held, sizes = 0, []
    for _ in range(300):
        point = truth + mixing @ rng.normal(size=5)
        drawn = point[:, None] + mixing @ rng.normal(size=(5, 300))
        kept = best_set_p(point, drawn, 100) > 0.1
        held += kept[0]
        sizes.append(kept.sum())
    assert held / 300 >= 0.87
    assert np.mean(sizes) < 3.2  # and it is not merely everything


def test_the_best_set_of_clear_cases():
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(3, 500)) * 0.01
    point = np.array([1.0, 0.2, np.nan])
    p = best_set_p(point, point[:, None] + noise, 50)
    assert p[0] == 1.0
    assert p[1] == 0.0
    assert np.isnan(p[2])
    # Always ahead by the same amount, whoever is drawn.
    same = np.array([[1.0], [0.9]]) + rng.normal(size=(1, 50))
    assert best_set_p(np.array([1.0, 0.9]), same, 50).tolist() == [1.0, 0.0]


def test_worth_on_new_subjects_by_hand():
    # Split 1: half a chooses operator 0 (3), which has 1 on half b; b chooses 1 (5), 2 on a.
    halves = np.array([[3.0, 1.0, 4.0, 6.0], [2.0, 5.0, 1.0, 0.0], [np.nan] * 4])
    worth = new_subjects_worth(halves)
    assert worth.new_subjects == pytest.approx(np.mean([1, 2, 6, 4]))
    assert worth.same_subjects == pytest.approx(np.mean([3, 5, 4, 6]))
    assert new_subjects_worth(np.full((2, 4), np.nan)) is None


def scatter_by_loops(values, classes, covariates):
    """Anderson 2006 with distances that have no bias: F of distances to what a model expects."""
    labels = np.unique(classes)
    columns = np.column_stack([covariates, classes[:, None] == labels])
    hat = columns @ np.linalg.pinv(columns)
    left = 1 - np.diag(hat)
    kept = left > 1e-6
    distances = np.linalg.norm(values - hat @ values, axis=1)[kept] / np.sqrt(left[kept])
    return f_oneway(*(distances[classes[kept] == label] for label in labels)).statistic


def scatter_in(classes, values, permutations, covariates):
    model = make_share_model(classes, covariates, number=False)
    return scatter_of(model.permuted_noise(values @ values.T, permutations), classes, permutations)


@pytest.mark.parametrize("n_covariates", [0, 2])
def test_scatter_measures_from_a_model_of_the_permuted_classes(n_covariates):
    rng = np.random.default_rng(5)
    classes = np.repeat([0, 1, 2], [8, 5, 4])
    values = rng.normal(size=(17, 6)) + 3.0 * classes[:, None]
    covariates = np.column_stack([np.ones(17), rng.normal(size=(17, n_covariates))])
    permutations = permutation_table(np.zeros(17, int), 7, seed=2)
    found = scatter_in(classes, values, permutations, covariates).statistics
    orders = [np.arange(17), *permutations]
    expected = [scatter_by_loops(values, classes[order], covariates) for order in orders]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_subject_alone_at_its_site_does_not_look_free_of_scatter():
    rng = np.random.default_rng(6)
    classes = np.repeat([0, 1], [7, 6])
    values = rng.normal(size=(13, 5))
    alone = (np.arange(13) == 9).astype(float)
    covariates = np.column_stack([np.ones(13), alone])
    none = np.empty((0, 13), dtype=np.int64)
    found = scatter_in(classes, values, none, covariates)
    kept = alone == 0
    without = scatter_in(classes[kept], values[kept], none[:, kept], np.ones((12, 1)))
    assert found.statistics[0] == pytest.approx(without.statistics[0], rel=1e-9)
    assert found.ratio == pytest.approx(without.ratio, rel=1e-9)


def scatter_p(scatter):
    return (scatter.statistics >= scatter.statistics[0] - 1e-12).mean()


def test_scatter_finds_the_noisier_class_and_keeps_its_level():
    rng = np.random.default_rng(4)
    permutations = permutation_table(np.zeros(34, int), 99, seed=0)

    def scatter(sizes, noisier=1.0, shift=0.0):
        classes = np.repeat([0, 1], sizes)
        values = rng.normal(size=(34, 25)) * np.where(classes == 1, noisier, 1.0)[:, None]
        values[:, 0] += shift * classes
        return scatter_in(classes, values, permutations, np.ones((34, 1)))

    found = scatter((22, 12), 1.6)
    assert scatter_p(found) < 0.02
    assert found.widest == 1
    assert found.ratio == pytest.approx(1.6**2, rel=0.5)
    # Measured from the means as they are, a class of four scattered in 11 % of null cohorts.
    for sizes in [(17, 17), (30, 4), (4, 30)]:
        level = np.mean([scatter_p(scatter(sizes)) <= 0.05 for _ in range(200)])
        assert level <= 0.085
    # A difference of the means never makes scatter; one as wide as persons hides none of it.
    assert np.mean([scatter_p(scatter((26, 8), shift=8.0)) <= 0.05 for _ in range(200)]) <= 0.085
    assert np.mean([scatter_p(scatter((26, 8), 1.6, 1.0)) <= 0.05 for _ in range(40)]) >= 0.9


def test_scatter_keeps_its_level_where_patients_differ_in_the_covariates():
    """Cases with large covariates have small residuals, in the real classes only."""
    rng = np.random.default_rng(7)
    permutations = permutation_table(np.zeros(44, int), 99, seed=1)

    def null_p():
        classes = np.repeat([0, 1], 22)
        motion = rng.normal(size=(44, 2)) * np.where(classes == 1, 3.0, 1.0)[:, None]
        covariates = np.column_stack([np.ones(44), motion])
        return scatter_p(scatter_in(classes, rng.normal(size=(44, 10)), permutations, covariates))

    # Without giving back what covariates take of a case: 9 %.
    assert np.mean([null_p() <= 0.05 for _ in range(1000)]) <= 0.07


def test_the_share_of_all_relabellings_is_zero_on_average():
    """Without an effect every labelling is as likely: the distance of the means has no bias."""
    rng = np.random.default_rng(9)
    values = rng.normal(size=(8, 5)) * rng.uniform(0.5, 2, size=(8, 1))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    kernel = values @ values.T
    distances = []
    for patients in combinations(range(8), 3):
        classes = np.isin(np.arange(8), patients).astype(np.int64)
        model = make_share_model(classes, np.ones((8, 1)), number=False)
        share = model.point(kernel)
        noise = model.permuted_noise(kernel, np.empty((0, 8), dtype=np.int64))[0]
        mean_noise = np.mean([noise[classes == k].mean() for k in (0, 1)])
        distances.append(share / (1 - share) * mean_noise)
    assert len(distances) == 56
    assert np.mean(distances) == pytest.approx(0, abs=1e-12)
    assert np.std(distances) > 0.05
