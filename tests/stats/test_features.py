import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import spearmanr

from sclcs._core.errors import InputError
from sclcs.stats.features import unit_vectors, vectorize
from sclcs.stats.kernel import make_kernel


def off_diagonal(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


@given(seed=st.integers(0, 10_000), levels=st.sampled_from([2, 5, 1000]))
@settings(max_examples=25)
def test_products_of_unit_ranks_are_spearman_correlations_with_ties(seed, levels):
    rng = np.random.default_rng(seed)
    fc = np.floor(rng.normal(size=(4, 5, 5)) * levels) / levels
    similarity = make_kernel(fc).similarity
    for i in range(4):
        for j in range(4):
            expected = spearmanr(off_diagonal(fc[i]), off_diagonal(fc[j])).statistic
            if np.isfinite(expected):
                assert similarity[i, j] == pytest.approx(expected, abs=1e-6)


def test_pearson_is_numpys(rng):
    fc = rng.normal(size=(4, 5, 5))
    flat = np.array([off_diagonal(m) for m in fc])
    similarity = make_kernel(fc, similarity="pearson").similarity
    np.testing.assert_allclose(similarity, np.corrcoef(flat), atol=1e-6)


@pytest.mark.parametrize("kind", ["spearman", "pearson"])
def test_all_entries_of_a_symmetric_matrix_equal_its_upper_triangle(rng, kind):
    fc = rng.normal(size=(7, 5, 5)).astype(np.float32)
    fc = fc + fc.transpose(0, 2, 1)
    upper = make_kernel(fc, "upper", kind)
    assert vectorize(fc).shape == (7, 10)  # recognised as symmetric: half the work
    nearly = fc.copy()
    nearly[0, 1, 0] = np.nextafter(nearly[0, 1, 0], np.float32(np.inf))
    both = make_kernel(nearly, "offdiag", kind)
    assert both.units.shape == (7, 20)
    np.testing.assert_allclose(both.similarity[1:, 1:], upper.similarity[1:, 1:], atol=1e-6)


def test_symmetric_part_and_direction(rng):
    fc = rng.normal(size=(3, 4, 4))
    np.testing.assert_allclose(
        vectorize(fc, "sym_upper")[1],
        ((fc[1] + fc[1].T) / 2)[np.triu_indices(4, 1)],
        rtol=1e-6,
    )
    assert vectorize(fc, "offdiag").shape == (3, 12)
    with pytest.raises(InputError, match="offdiag, upper, sym_upper"):
        vectorize(fc, "all")


@given(seed=st.integers(0, 10_000))
def test_monotone_maps_of_each_sample_change_nothing(seed):
    rng = np.random.default_rng(seed)
    fc = rng.integers(-20, 20, size=(5, 4, 4)).astype(float)
    mapped = np.stack([np.exp(fc[0] / 9), fc[1] ** 3, 2 * fc[2] + 1, fc[3], np.arctan(fc[4])])
    np.testing.assert_array_equal(make_kernel(fc).units[:, :12], make_kernel(mapped).units[:, :12])


def test_minus_zero_ties_with_zero():
    vectors = np.array([[-0.0, 0.0, 1.0]], dtype=np.float32)
    units = unit_vectors(vectors)
    assert units[0, 0] == units[0, 1]


def test_samples_that_cannot_be_compared_are_told_apart(rng):
    fc = rng.normal(size=(5, 4, 4))
    fc[1] = 7.0
    fc[3, 0, 2] = np.inf
    fc[:, range(4), range(4)] = np.nan  # the diagonal is never read
    vectors = make_kernel(fc)
    assert vectors.usable.tolist() == [True, False, True, False, True]
    assert vectors.screen.finite.tolist() == [True, True, True, False, True]
    assert vectors.screen.constant.tolist() == [False, True, False, False, False]
    assert not vectors.units[[1, 3]].any()


def test_known_similarities_are_kept_when_samples_are_taken(rng):
    vectors = make_kernel(rng.normal(size=(6, 4, 4)))
    rows = np.array([4, 0, 3])
    fresh = vectors.take(rows).similarity
    whole = vectors.similarity
    np.testing.assert_array_equal(vectors.take(rows).similarity, whole[np.ix_(rows, rows)])
    np.testing.assert_allclose(fresh, whole[np.ix_(rows, rows)], atol=1e-6)
