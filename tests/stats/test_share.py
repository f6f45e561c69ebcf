"""The explained share against ordinary regression of every feature, and its promises."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings, strategies as st

from sclcs._core.errors import InputError
from sclcs.stats.memory import with_memory
from sclcs.stats.permutations import permutation_table
from sclcs.stats.share import make_share_model


def features(rng, n_cases, n_edges=23):
    values = rng.normal(size=(n_cases, n_edges)) * rng.uniform(0.5, 2, size=(n_cases, 1))
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def kernel_of(values):
    return values @ values.T


def regression(values, columns, contrasts):
    """Squared size of contrasts of coefficients, less their HC2 variance; and HC2 noise.

    One ordinary least-squares fit per feature, by statsmodels.
    """
    size, noise = np.zeros(len(contrasts)), np.zeros(len(values))
    hat = columns @ np.linalg.pinv(columns)
    for feature in values.T:
        fit = sm.OLS(feature, columns).fit(cov_type="HC2")
        for place, contrast in enumerate(contrasts):
            size[place] += (contrast @ fit.params) ** 2 - contrast @ fit.cov_params() @ contrast
        noise += fit.resid**2 / (1 - np.diag(hat))
    return size, noise


def two_class_share(kernel, classes):
    """The unbiased two-sample statistic, from pairs of different cases."""
    inside = []
    spread = []
    for label in (0, 1):
        block = kernel[np.ix_(classes == label, classes == label)]
        off = block[~np.eye(len(block), dtype=bool)].mean()
        inside.append(off)
        spread.append(np.diag(block).mean() - off)
    between = kernel[np.ix_(classes == 0, classes == 1)].mean()
    d2 = (sum(inside) - 2 * between) / np.mean(spread)
    return d2 / 4 / (1 + d2 / 4)


def test_two_classes_without_covariates_are_the_two_sample_statistic(rng):
    classes = np.repeat([0, 1], [9, 5])
    kernel = kernel_of(features(rng, 14))
    model = make_share_model(classes, np.ones((14, 1)), number=False)
    assert model.point(kernel) == pytest.approx(two_class_share(kernel, classes), rel=1e-10)


def test_several_classes_with_covariates_are_regression_with_hc2(rng):
    classes = np.repeat([0, 1, 2], [7, 6, 9])
    covariates = np.c_[np.ones(22), rng.normal(size=(22, 2))]
    values = features(rng, 22)
    dummies = (classes[:, None] == [1, 2]).astype(float)
    columns = np.hstack([covariates, dummies])
    pairs = [[0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, -1]]
    size, noise = regression(values, columns, np.array(pairs, float))
    mean_noise = np.mean([noise[classes == label].mean() for label in range(3)])
    f2 = size.mean() / mean_noise / 4
    model = make_share_model(classes, covariates, number=False)
    assert model.point(kernel_of(values)) == pytest.approx(f2 / (1 + f2), rel=1e-8)
    found = model.permuted_noise(kernel_of(values), np.empty((0, 22), dtype=np.int64))
    np.testing.assert_allclose(found, noise[None], rtol=1e-8)


def test_a_number_with_covariates_is_regression_with_hc2(rng):
    target = rng.gamma(2, size=19)
    covariates = np.c_[np.ones(19), rng.normal(size=19)]
    values = features(rng, 19)
    size, noise = regression(values, np.c_[covariates, target], np.array([[0, 0, 1.0]]))
    f2 = size[0] * target.var(ddof=1) / noise.mean()
    model = make_share_model(target, covariates, number=True)
    assert model.point(kernel_of(values)) == pytest.approx(f2 / (1 + f2), rel=1e-8)


def test_within_subjects_is_regression_on_a_dummy_per_subject(rng):
    subjects = np.repeat(np.arange(8), [2, 2, 3, 2, 2, 3, 2, 2])
    n = len(subjects)
    condition = np.concatenate([np.arange(size) % 2 for size in np.bincount(subjects)])
    values = features(rng, n)
    dummies = (subjects[:, None] == np.arange(8)).astype(float)
    columns = np.c_[dummies, condition]
    size, noise = regression(values, columns, np.array([[0] * 8 + [1.0]]))
    mean_noise = np.mean([noise[condition == c].mean() for c in (0, 1)])
    f2 = size[0] / mean_noise / 4
    model = make_share_model(condition, np.ones((n, 1)), number=False, subjects=subjects)
    assert model.point(kernel_of(values)) == pytest.approx(f2 / (1 + f2), rel=1e-8)


@given(seed=st.integers(0, 10_000), number=st.booleans(), with_covariates=st.booleans())
@settings(max_examples=25)
def test_a_draw_of_some_subjects_is_the_share_of_these_subjects(seed, number, with_covariates):
    rng = np.random.default_rng(seed)
    kernel = kernel_of(features(rng, 21))
    target = rng.normal(size=21) if number else np.repeat([0, 1, 2], 7)
    covariates = np.ones((21, 1))
    if with_covariates:
        covariates = np.c_[covariates, rng.normal(size=21)]
    kept = np.ones(21, dtype=bool)
    kept[rng.choice(21, 6, replace=False)] = False
    if not number and np.bincount(target[kept], minlength=3).min() < 2:
        return
    model = make_share_model(target, covariates, number=number)
    found = model.drawn(kernel, np.stack([np.ones(21), kept.astype(float)]))
    alone = make_share_model(target[kept], covariates[kept], number=number)
    assert found[0] == pytest.approx(model.point(kernel), rel=1e-9)
    expected = alone.point(kernel[np.ix_(kept, kept)])
    assert found[1] == pytest.approx(expected, rel=1e-7, abs=1e-10)


def test_a_draw_without_a_class_or_with_a_site_missing(rng):
    classes = np.repeat([0, 1], 6)
    site = np.tile([0, 0, 1, 1, 2, 2], 2)
    covariates = np.c_[np.ones(12), site == 1, site == 2]
    model = make_share_model(classes, covariates, number=False)
    draws = np.ones((3, 12))
    draws[0, classes == 1] = 0
    draws[1, (classes == 1) & (np.arange(12) > 6)] = 0  # one case of the class is left
    draws[2, site == 2] = 0
    kernel = kernel_of(features(rng, 12))
    found = model.drawn(kernel, draws)
    assert np.isnan(found).tolist() == [True, True, False]
    kept = site != 2
    alone = make_share_model(classes[kept], covariates[kept][:, :2], number=False)
    assert found[2] == pytest.approx(alone.point(kernel[np.ix_(kept, kept)]), rel=1e-7)


@pytest.mark.parametrize("sizes", [(22, 22), (40, 4), (4, 40)])
def test_chance_is_zero_whatever_the_sizes_of_the_classes(sizes):
    rng = np.random.default_rng(7)
    classes = np.repeat([0, 1], sizes)
    model = make_share_model(classes, np.ones((len(classes), 1)), number=False)
    found = [model.point(kernel_of(rng.normal(size=(len(classes), 30)))) for _ in range(400)]
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(400)


def test_a_true_effect_is_found_in_its_size_whatever_the_sizes_of_the_classes():
    rng = np.random.default_rng(8)
    shift = np.zeros(30)
    shift[:3] = 1.0  # d2 = 3 / 30 per unit variance: share 0.1 / 4 / (1 + 0.1 / 4)
    expected = 0.025 / 1.025
    for sizes in [(40, 40), (70, 10)]:
        classes = np.repeat([0, 1], sizes)
        model = make_share_model(classes, np.ones((80, 1)), number=False)
        found = [
            model.point(kernel_of(rng.normal(size=(80, 30)) + classes[:, None] * shift))
            for _ in range(200)
        ]
        assert np.mean(found) == pytest.approx(expected, abs=3 * np.std(found) / np.sqrt(200))


def test_permutations_move_the_target_and_the_observed_one_comes_first(rng):
    classes = np.repeat([0, 1], [8, 6])
    covariates = np.c_[np.ones(14), rng.normal(size=14)]
    kernel = kernel_of(features(rng, 14))
    model = make_share_model(classes, covariates, number=False)
    same = np.tile(np.arange(14), (2, 1))
    found = model.statistics(kernel, same)
    np.testing.assert_allclose(found, found[0])
    # Without covariates, permuting the target is permuting the subjects.
    plain = make_share_model(classes, np.ones((14, 1)), number=False)
    orders = permutation_table(np.zeros(14, int), 5, seed=3)
    moved = [
        make_share_model(classes[order], np.ones((14, 1)), number=False).statistics(
            kernel, np.empty((0, 14), int)
        )[0]
        for order in orders
    ]
    np.testing.assert_allclose(plain.statistics(kernel, orders)[1:], moved, rtol=1e-9)


def test_a_permuted_target_is_adjusted_for_covariates_like_the_real_one(rng):
    """A permutation is nothing but another target: its statistic is that of a model of it."""
    covariates = np.c_[np.ones(17), rng.normal(size=(17, 3))]
    number = rng.normal(size=17) + covariates[:, 1]
    kernel = kernel_of(features(rng, 17))
    model = make_share_model(number, covariates, number=True)
    orders = permutation_table(np.zeros(17, int), 6, seed=3)
    left = number - covariates @ np.linalg.lstsq(covariates, number, rcond=None)[0]
    nobody = np.empty((0, 17), int)
    expected = [
        make_share_model(left[order], covariates, number=True).statistics(kernel, nobody)[0]
        for order in [np.arange(17), *orders]
    ]
    np.testing.assert_allclose(model.statistics(kernel, orders), expected, rtol=1e-9)


@pytest.mark.parametrize("number", [True, False], ids=["number", "three classes"])
def test_many_covariates_do_not_make_effects(number):
    """Without an effect 5 % of cohorts show one, whatever is taken out (here 15 of 60)."""
    rng, found = np.random.default_rng(11), []
    for repeat in range(300):
        covariates = np.c_[np.ones(60), rng.normal(size=(60, 15))]
        target = 0.6 * covariates[:, 1] + 0.8 * rng.normal(size=60)
        if not number:
            target = np.digitize(target, [-0.5, 0.5])
        values = rng.normal(size=(60, 20)) + covariates[:, 1:2] * rng.normal(size=20)
        orders = permutation_table(np.zeros(60, int), 99, seed=repeat)
        model = make_share_model(target, covariates, number=number)
        statistics = model.statistics(kernel_of(values), orders)
        found.append((statistics >= statistics[0] - 1e-12).mean() <= 0.05)
    assert 0.01 <= np.mean(found) <= 0.09  # four standard errors; 0.24 without readjustment


def test_impossible_models_are_refused(rng):
    classes = np.repeat([0, 1], 4)
    with pytest.raises(InputError, match="one value only"):
        make_share_model(np.zeros(8, int), np.ones((8, 1)), number=False)
    with pytest.raises(InputError, match="one value only"):
        make_share_model(np.ones(8), np.ones((8, 1)), number=True)
    with pytest.raises(InputError, match="explain the target completely"):
        make_share_model(classes, np.c_[np.ones(8), classes], number=False)
    # Covariates that depend on each other do no harm.
    twice = np.c_[np.ones(8), np.arange(8.0), 3 - 2 * np.arange(8.0)]
    once = twice[:, :2]
    kernel = kernel_of(features(rng, 8))
    first = make_share_model(np.tile([0, 1], 4), twice, number=False).point(kernel)
    assert first == pytest.approx(
        make_share_model(np.tile([0, 1], 4), once, number=False).point(kernel)
    )


def test_draws_come_out_the_same_whether_their_forms_are_kept_or_made_again(rng):
    covariates = np.column_stack([np.ones(30), np.arange(30) < 9, rng.normal(size=30)])
    kernels = [kernel_of(features(rng, 30)) for _ in range(2)]
    draws = (rng.random((40, 30)) < 0.6).astype(float)
    orders = np.stack([rng.permutation(30) for _ in range(20)])

    def found():
        model = make_share_model(np.arange(30) % 2, covariates, number=False)
        return [
            part
            for kernel in kernels
            for part in (model.drawn(kernel, draws), model.statistics(kernel, orders))
        ]

    kept = found()
    with with_memory(0):
        for one, other in zip(kept, found(), strict=True):
            np.testing.assert_array_equal(one, other)
