"""Linear algebra in a fixed order: right, exactly symmetric, and with ties that are ties."""

import numpy as np
import pytest

from sclcs.spi.numerics import ordered


@pytest.fixture
def rows():
    return np.random.default_rng(3).normal(size=(11, 29))


def test_a_dot_product_has_eight_parts(rows):
    x, y = rows[0], rows[1]
    s = [sum((x[k + p] * y[k + p] for k in range(8, 24, 8)), x[p] * y[p]) for p in range(8)]
    total = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
    for t in range(24, 29):
        total += x[t] * y[t]
    assert ordered.dot(x, y) == total  # to the last digit: nothing is fused or re-associated
    assert ordered.dot(x[:0], y[:0]) == 0.0


def test_rows_are_added_in_the_written_order(rows):
    out = rows[10].copy()
    ordered.add_four_rows(out, rows, 2, 0.3, -1.7, 2.2, 0.9)
    expected = rows[10] + ((0.3 * rows[2] + -1.7 * rows[3]) + (2.2 * rows[4] + 0.9 * rows[5]))
    np.testing.assert_array_equal(out, expected)


def square_distances(rows, *cuts):
    """Sums over all coordinates, taken in parts that begin at the cuts."""
    squares, columns = np.zeros((11, 11)), np.ascontiguousarray(rows.T)
    for first, last in zip((0, *cuts), (*cuts, len(columns)), strict=True):
        ordered.add_square_distances(columns, first, last, squares)
    return squares + squares.T


def test_products_and_distances_of_rows(rows):
    products, squares = ordered.products_of_rows(rows), square_distances(rows)
    np.testing.assert_allclose(products, rows @ rows.T, rtol=1e-12, atol=1e-12)
    differences = rows[:, None] - rows[None]
    np.testing.assert_allclose(squares, (differences**2).sum(axis=-1), rtol=1e-12)
    np.testing.assert_array_equal(products, products.T)


def test_distances_do_not_depend_on_how_their_sums_are_shared(rows):
    np.testing.assert_array_equal(square_distances(rows), square_distances(rows, 5, 6, 23))


def test_equal_rows_are_equal_neighbours(rows):
    rows[7] = rows[2]
    squares = square_distances(rows)
    assert squares[2, 7] == 0.0
    others = [0, 1, 3, 4, 5, 6, 8, 9, 10]
    np.testing.assert_array_equal(squares[2, others], squares[7, others])


def test_inverse_and_log_determinant(rows):
    matrix = ordered.products_of_rows(rows) / 29
    found = ordered.inverse(matrix)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found @ matrix, np.eye(11), atol=1e-12)
    expected = np.linalg.slogdet(matrix).logabsdet
    assert ordered.factorise(matrix.copy()) == pytest.approx(expected, rel=1e-12)


def test_a_matrix_that_is_not_positive_definite_has_no_inverse_here(rows):
    rows[4] = rows[9]
    assert np.isnan(ordered.inverse(ordered.products_of_rows(rows))).all()
    assert ordered.factorise(-np.eye(3)) == -np.inf
