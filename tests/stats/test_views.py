"""The two views of an operator: what they are, and what they do not change with."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, rankdata

from sclcs._core.errors import InputError
from sclcs.stats.kernel import make_kernel
from sclcs.stats.memory import with_memory
from sclcs.stats.targets import Target, make_cases
from sclcs.stats.views import ValueScores, make_features, normal_scores

N, R = 17, 6
OFF = ~np.eye(R, dtype=bool)


def some_matrices(rng, *, directed=True):
    made = rng.normal(size=(N, R, R)).astype(np.float32)
    return made if directed else made + made.transpose(0, 2, 1)


def scores_of(values):
    ranks = rankdata(values, axis=0)
    return norm.ppf((ranks - 0.5) / len(values))


@pytest.mark.parametrize("directed", [True, False])
def test_values_are_normal_scores_of_ranks_across_subjects(rng, directed):
    matrices = some_matrices(rng, directed=directed)
    features = make_features(matrices)
    row, column = features.regions.T
    assert features.n_edges == (R * (R - 1) if directed else R * (R - 1) // 2)
    expected = scores_of(matrices[:, row, column])
    np.testing.assert_allclose(features.table("values"), expected, atol=1e-6)


@pytest.mark.parametrize("directed", [True, False])
def test_patterns_have_the_kernel_of_the_benchmark(rng, directed):
    matrices = some_matrices(rng, directed=directed)
    found = make_features(matrices).table("pattern")
    units = make_kernel(matrices).units.astype(np.float64)
    np.testing.assert_array_equal(found @ found.T, units @ units.T)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose((found**2).sum(axis=1), 1, rtol=1e-6)


def test_ties_share_their_mean_rank_and_signed_zeros_are_equal():
    column = np.array([[3.0, -0.0, 1.0, 0.0, -2.0, 1.0]], dtype=np.float32)
    found = normal_scores(column)[0]
    np.testing.assert_allclose(found, scores_of(column.T)[:, 0], atol=1e-6)
    assert normal_scores(np.full((1, 5), 2.0, dtype=np.float32)).tolist() == [[0.0] * 5]


def test_a_monotone_transform_of_an_operator_has_the_same_values(rng):
    matrices = some_matrices(rng)
    one, other = make_features(matrices), make_features(np.exp(3 * matrices))
    np.testing.assert_array_equal(one.table("values"), other.table("values"))


def test_training_subjects_get_the_same_scores_from_a_fitted_transformer(rng):
    vectors = rng.integers(0, 7, size=(N, 9)).astype(np.float32)  # many ties
    scores = ValueScores().fit(vectors)
    np.testing.assert_array_equal(scores.transform(vectors), normal_scores(vectors.T.copy()).T)
    np.testing.assert_array_equal(ValueScores().fit_transform(vectors), scores.transform(vectors))


def test_new_subjects_are_placed_by_training_subjects(rng):
    vectors = rng.normal(size=(N, 3)).astype(np.float32)
    scores = ValueScores().fit(vectors)
    ends = scores.transform(np.stack([vectors.min(axis=0) - 5, vectors.max(axis=0) + 5]))
    lowest = norm.ppf(0.5 / N)
    np.testing.assert_allclose(ends, [[lowest] * 3, [-lowest] * 3], rtol=1e-6)
    ordered = np.sort(vectors, axis=0)
    between = scores.transform((ordered[4:5] + ordered[5:6]) / 2)
    np.testing.assert_allclose(between, norm.ppf(5 / N), rtol=1e-5)  # five of them are below


def test_subjects_that_are_not_finite_teach_nothing_and_stand_in_the_middle(rng):
    vectors = rng.normal(size=(N, 3)).astype(np.float32)
    broken = np.vstack([vectors, [[np.nan, 1.0, 2.0]]])
    scores = ValueScores().fit(broken)
    np.testing.assert_array_equal(scores.sorted_, ValueScores().fit(vectors).sorted_)
    assert scores.transform(broken)[-1].tolist() == [0.0, 0.0, 0.0]


def test_a_transformer_says_what_is_wrong(rng):
    with pytest.raises(InputError, match="call fit"):
        ValueScores().transform(np.zeros((2, 3)))
    with pytest.raises(InputError, match="Expected 3 edges as in training, got 4"):
        ValueScores().fit(rng.normal(size=(5, 3))).transform(np.zeros((2, 4)))
    with pytest.raises(InputError, match="got none"):
        ValueScores().fit(np.full((2, 3), np.nan))
    with pytest.raises(InputError, match=r"\(subject, edge\)"):
        ValueScores().fit(np.zeros(3))


def test_samples_that_cannot_be_compared_are_left_out_as_in_the_kernel(rng):
    matrices = some_matrices(rng)
    matrices[3, 0, 1] = np.nan
    matrices[5] = 1.0
    features = make_features(matrices)
    assert np.flatnonzero(~features.usable).tolist() == [3, 5]
    kept = features.usable
    row, column = features.regions.T
    expected = scores_of(matrices[kept][:, row, column])
    np.testing.assert_allclose(features.table("values")[kept], expected, atol=1e-6)
    for view in ("pattern", "values"):
        assert not features.table(view)[~kept].any()


def windows_of(rng, n_samples):
    subjects = np.sort(rng.integers(0, 6, size=n_samples))
    return pd.DataFrame(
        {"subject": [f"p{code}" for code in subjects], "dx": np.array(["a", "b"])[subjects % 2]},
        index=[f"s{i}" for i in range(n_samples)],
    ).sample(frac=1, random_state=1)


def test_windows_are_averaged_into_subjects(rng):
    matrices = some_matrices(rng)
    matrices[2, 1, 0] = np.inf
    samples = windows_of(rng, N)
    cases = make_cases(samples, Target("dx", "classes"), weights=rng.uniform(0.5, 2, size=N))
    features = make_features(matrices, cases)
    kernel = make_kernel(matrices)
    found = features.table("pattern")
    np.testing.assert_allclose(found @ found.T, kernel.of_cases(cases, cases.rows), atol=1e-12)
    usable = kernel.usable
    row, column = features.regions.T
    scores = np.zeros((N, features.n_edges))
    scores[usable] = scores_of(matrices[usable][:, row, column])
    weights = cases.averaging * usable[cases.rows]
    expected = weights @ scores[cases.rows] / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(features.table("values"), expected, atol=1e-6)


def test_blocks_of_edges_and_of_memory_do_not_change_features(rng):
    matrices = some_matrices(rng)
    matrices[:9] = matrices[:9] + matrices[:9].transpose(0, 2, 1)  # the first are symmetric
    whole = make_features(matrices)
    for view in ("pattern", "values"):
        parts = np.hstack([part for _, part in whole.blocks(view, 7)])
        np.testing.assert_array_equal(parts, whole.table(view))
        with with_memory(2000):
            small = make_features(matrices)
            np.testing.assert_array_equal(small.table(view), whole.table(view))


def test_matrices_must_be_square(rng):
    with pytest.raises(InputError, match=r"Expected matrices \(sample, region, region\)"):
        make_features(rng.normal(size=(4, 3, 2)))
