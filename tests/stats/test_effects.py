"""The primal form against the kernel form, edge by edge against regression, and its promises."""

import numpy as np
import pytest
import statsmodels.api as sm

from sclcs._core.errors import InputError
from sclcs.stats import effects
from sclcs.stats.design import apart, make_design
from sclcs.stats.effects import PENALTY, operator_effects
from sclcs.stats.permutations import permutation_table
from sclcs.stats.share import make_share_model, scatter_of
from sclcs.stats.views import make_features

N, R = 41, 6
KINDS = ["two", "three", "number", "repeated"]
COVARIATES = ["none", "numbers", "sites"]


def question(rng, kind, covariates, n=N):
    """A target with covariates, permutations and draws; an effect on one edge."""
    target, subjects = np.arange(n) % 2, None
    if kind == "three":
        target = np.r_[np.arange(n - 7) % 3, np.zeros(7, dtype=int)]
    if kind == "number":
        target = rng.gamma(2, size=n)
    if kind == "repeated":
        subjects = np.minimum(np.arange(n) // 4, n // 4 - 1)
    columns = [np.ones((n, 1))]
    if covariates != "none":
        columns.append(rng.normal(size=(n, 2)))
    if covariates == "sites":
        columns.append((np.arange(n)[:, None] // 5 % 4 == [1, 2, 3]).astype(float))
    model = make_share_model(target, np.hstack(columns), number=kind == "number", subjects=subjects)
    blocks = np.zeros(n, dtype=int) if subjects is None else subjects
    draws = rng.integers(0, 3, size=(8, n)).astype(float)  # some cases twice
    draws[4:] = draws[4:] > 0
    design = make_design(model, permutation_table(blocks, 59), draws)
    matrices = rng.normal(size=(n, R, R)).astype(np.float32)
    matrices[:, 0, 1] += 2 * target
    return design, matrices


@pytest.mark.parametrize("covariates", COVARIATES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_primal_form_is_the_kernel_form(rng, kind, covariates):
    design, matrices = question(rng, kind, covariates)
    if kind == "two":  # the other kinds are directed
        matrices = matrices + matrices.transpose(0, 2, 1)
    features, model = make_features(matrices), design.model
    found = operator_effects(features, design, scatter=True, dtype=np.float64)
    single = operator_effects(features, design, scatter=True)
    kernels = []
    for view in ("pattern", "values"):
        table = features.table(view)
        kernel = table @ table.T
        trace = np.trace(model.residual_kernel(kernel))
        kernels.append(kernel / trace)
        expected = model.statistics(kernels[-1], design.permutations)
        np.testing.assert_allclose(
            found.statistics[view], expected, atol=1e-10 * np.abs(expected).max()
        )
        moved = np.abs(single.statistics[view] - expected).max()
        assert moved < 1e-5 * expected.std()  # what single precision costs
        shares = model.drawn(kernels[-1], design.redraws.times)
        np.testing.assert_allclose(found.shares[view], shares, atol=1e-10)
        np.testing.assert_allclose(single.shares[view], shares, atol=1e-6)
    both = model.drawn((kernels[0] + kernels[1]) / 2, design.redraws.times)
    np.testing.assert_allclose(found.shares["both"], both, atol=1e-10)
    expected = model.statistics((kernels[0] + kernels[1]) / 2, design.permutations)
    np.testing.assert_allclose(found.criterion, expected, atol=1e-10 * np.abs(expected).max())
    assert (found.scatter is None) == (kind == "number")
    if found.scatter is not None:
        noise = model.permuted_noise(kernels[0], design.permutations)
        scatter = scatter_of(noise, model.classes, design.permutations)
        np.testing.assert_allclose(found.scatter.statistics, scatter.statistics, rtol=1e-8)
        assert found.scatter.ratio == pytest.approx(scatter.ratio)
        assert found.scatter.widest == scatter.widest


@pytest.mark.parametrize("directed", [True, False], ids=["more edges", "more cases"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_view_is_tested_by_ridge_regression(rng, kind, directed):
    n = 25 if directed else N
    design, matrices = question(rng, kind, "numbers", n)
    if not directed:
        matrices = matrices + matrices.transpose(0, 2, 1)
    features, model = make_features(matrices), design.model
    assert (features.n_edges > n) == directed
    found = operator_effects(features, design, dtype=np.float64)
    single = operator_effects(features, design)
    for view in ("pattern", "values"):
        table = features.table(view)
        kernel = model.residual_kernel(table @ table.T)
        penalty = PENALTY * np.trace(kernel) / n
        hat = kernel @ np.linalg.inv(kernel + penalty * np.eye(n))
        own = np.diag(hat) * design.unbiased
        expected = np.array([np.trace(u @ hat @ u.T) - (u**2).sum(0) @ own for u in design.weights])
        np.testing.assert_allclose(found.tests[view], expected, atol=1e-10)
        assert np.abs(single.tests[view] - expected).max() < 1e-4 * expected.std()


@pytest.mark.parametrize("n", [N, 9])
def test_of_very_many_edges_every_other_one_takes_part_in_the_ridge(rng, monkeypatch, n):
    monkeypatch.setattr(effects, "RIDGE_EDGES", 16)
    monkeypatch.setattr(effects, "BLOCK_NUMBERS", 7 * 60)  # blocks of 7 edges
    monkeypatch.setattr(effects, "FEWEST_EDGES", 1)
    design, matrices = question(rng, "two", "none", n)
    features = make_features(matrices)
    found = operator_effects(features, design, dtype=np.float64)
    some = features.table("values")[:, ::2]
    kernel = design.model.residual_kernel(some @ some.T)
    penalty = PENALTY * np.trace(kernel) / n
    hat = kernel @ np.linalg.inv(kernel + penalty * np.eye(n))
    own = np.diag(hat) * design.unbiased
    expected = [np.trace(u @ hat @ u.T) - (u**2).sum(0) @ own for u in design.weights]
    np.testing.assert_allclose(found.tests["values"], expected, atol=1e-10)


@pytest.mark.parametrize("covariates", COVARIATES)
@pytest.mark.parametrize("kind", ["two", "number"])
def test_the_strongest_edge_is_t_of_a_regression(rng, kind, covariates):
    design, matrices = question(rng, kind, covariates)
    features = make_features(matrices)
    found = operator_effects(features, design, dtype=np.float64)
    columns = np.hstack([design.model.nuisance, design.model.target])
    fits = [sm.OLS(edge, columns).fit() for edge in features.table("values").T]
    np.testing.assert_allclose(found.edges, [fit.tvalues[-1] for fit in fits], rtol=1e-8)
    assert found.tests["edge"][0] == pytest.approx(np.abs(found.edges).max())
    assert found.regions[np.abs(found.edges).argmax()].tolist() == [0, 1]
    assert found.edges.max() > 0 > found.edges.min()


def test_the_strongest_edge_of_several_classes_is_the_root_of_f(rng):
    design, matrices = question(rng, "three", "sites")
    features = make_features(matrices)
    found = operator_effects(features, design, dtype=np.float64)
    whole = np.hstack([design.model.nuisance, design.model.target])
    for place, edge in enumerate(features.table("values").T):
        small = sm.OLS(edge, design.model.nuisance).fit()
        expected = sm.OLS(edge, whole).fit().compare_f_test(small)[0]
        assert found.edges[place] ** 2 == pytest.approx(expected, rel=1e-6)


def test_a_permuted_statistic_is_that_of_a_permuted_target(rng):
    design, matrices = question(rng, "two", "none")
    features = make_features(matrices)
    found = operator_effects(features, design, dtype=np.float64)
    order = design.permutations[7]
    moved = make_design(
        make_share_model(design.model.classes[order], design.model.nuisance, number=False)
    )
    alone = operator_effects(features, moved, dtype=np.float64)
    for name in ("pattern", "values"):
        assert found.statistics[name][8] == pytest.approx(alone.statistics[name][0], rel=1e-9)
    for name in ("pattern", "values", "edge"):
        assert found.tests[name][8] == pytest.approx(alone.tests[name][0], rel=1e-9)


def test_edges_that_do_not_vary_have_no_effect(rng):
    design, matrices = question(rng, "two", "none")
    matrices[:, 2, 3] = 0.5
    matrices[:, 1, 0] = design.model.classes  # an edge that the target explains
    found = operator_effects(make_features(matrices), design)
    place = {tuple(pair): t for pair, t in zip(found.regions.tolist(), found.edges, strict=True)}
    assert place[2, 3] == 0
    assert np.isfinite(found.edges).all()
    assert np.abs(found.edges).max() == place[1, 0] > 1e3


def test_one_view_alone(rng):
    design, matrices = question(rng, "two", "none")
    features = make_features(matrices)
    whole, pattern = (
        operator_effects(features, design),
        operator_effects(features, design, ["pattern"]),
    )
    assert set(pattern.statistics) == set(pattern.shares) == {"pattern"}
    np.testing.assert_array_equal(pattern.criterion, whole.statistics["pattern"])
    assert not pattern.edges.any()
    with pytest.raises(InputError, match="at least one view"):
        operator_effects(features, design, [])


@pytest.mark.parametrize("kind", KINDS)
def test_some_cases_are_a_question_of_their_own(rng, kind):
    whole, matrices = question(rng, kind, "numbers")
    subjects = np.zeros(N, int) if whole.model.subjects is None else whole.model.subjects
    rows = np.flatnonzero(subjects < 6) if kind == "repeated" else rng.permutation(N)[:25]
    blocks = apart(subjects, rows)
    design = make_design(whole.model, permutation_table(blocks, 39), whole.draws)
    part = design.of(rows)
    assert part.n_cases == len(rows)
    np.testing.assert_array_equal(part.rows, np.sort(rows))
    inside = part.rows[part.permutations]  # the same people move
    np.testing.assert_array_equal(inside, design.permutations[:, part.rows])
    found = operator_effects(make_features(matrices), part, dtype=np.float64)
    table = make_features(matrices).table("pattern")[part.rows]
    kernel = table @ table.T
    trace = np.trace(part.model.residual_kernel(kernel))
    expected = part.model.statistics(kernel / trace, part.permutations)
    np.testing.assert_allclose(found.statistics["pattern"], expected, atol=1e-10)
    computed = operator_effects(make_features(matrices[part.rows]), part, dtype=np.float64)
    np.testing.assert_allclose(computed.statistics["pattern"], expected, atol=1e-10)


def test_permutations_must_stay_among_the_cases_that_are_tested(rng):
    design, _ = question(rng, "two", "none")
    with pytest.raises(InputError, match=r"inside\s+apart\(blocks, rows\)"):
        design.of(np.arange(20))


def test_tables_must_fit_the_cases(rng):
    design, matrices = question(rng, "two", "none")
    with pytest.raises(InputError, match="Expected permutations with one column for each of 41"):
        make_design(design.model, permutation_table(np.zeros(7, int), 3))
    with pytest.raises(InputError, match="Expected features of 41 cases"):
        operator_effects(make_features(matrices[:9]), design)
