"""Eight numbers side by side give what one after the other gives."""

import numpy as np
import pytest

from sclcs.spi import kernel
from sclcs.spi.numerics.lanes import (
    WIDTH,
    add,
    add_at,
    add_product,
    add_scaled,
    aligned_empty,
    first_lanes,
    load,
    load_from,
    maximum,
    minimum,
    multiply,
    not_above,
    prefetch,
    spread,
    store,
    store_from,
    subtract,
    sum_of,
    zeros,
)
from sclcs.spi.numerics.vector import exp_of_negative_lanes


@kernel
def moments(table, weights, out):
    total, squares = zeros(), zeros()
    for row in range(table.shape[0]):
        total = add_scaled(total, weights[row], load(table, row))
        squares = add_product(squares, load(table, row), load(table, row))
    store(out, 0, total)
    store(out, 1, squares)


def test_sums_and_squares_of_columns():
    rng = np.random.default_rng(0)
    table, weights, out = rng.normal(size=(13, WIDTH)), rng.normal(size=13), np.zeros((3, WIDTH))
    moments(table, weights, out)
    np.testing.assert_allclose(out[0], weights @ table, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(out[1], (table**2).sum(axis=0), rtol=1e-13)
    assert not out[2].any()  # a row is written, and nothing beside it


def test_rows_begin_at_a_line_of_the_cache():
    for shape in [(3, WIDTH), (2, 5, WIDTH), (1, WIDTH)]:
        table = aligned_empty(shape)
        assert table.shape == shape
        assert table.ctypes.data % 64 == 0
        assert table.flags.c_contiguous


@kernel
def operate(x, y, out):
    a, b = load(x, 0), load(y, 0)
    store(out, 0, add(a, b))
    store(out, 1, subtract(a, b))
    store(out, 2, multiply(a, b))
    store(out, 3, minimum(a, b))
    store(out, 4, spread(y[0, 2]))
    return not_above(a, b)


def test_lanes_are_rounded_as_single_numbers_are():
    rng = np.random.default_rng(1)
    x, y, out = rng.normal(size=(1, WIDTH)), rng.normal(size=(1, WIDTH)), np.empty((5, WIDTH))
    x[0, 3] = y[0, 3]
    bits = operate(x, y, out)
    expected = [x + y, x - y, x * y, np.minimum(x, y), np.full((1, WIDTH), y[0, 2])]
    np.testing.assert_array_equal(out, np.concatenate(expected))
    assert [bits >> lane & 1 for lane in range(WIDTH)] == list(x[0] <= y[0])


@kernel
def collect(values, rows, out):
    for row in range(values.shape[0]):
        prefetch(values, row)
        add_at(out, rows, row, load(values, row))


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_every_lane_is_added_to_its_own_row(kind):
    rng = np.random.default_rng(2)
    values, rows = rng.normal(size=(40, WIDTH)), rng.integers(0, 9, size=(40, WIDTH)).astype(kind)
    out, expected = np.zeros((2, 9, WIDTH))
    collect(values, rows, out)
    for row in range(40):
        expected[rows[row], np.arange(WIDTH)] += values[row]
    np.testing.assert_array_equal(out, expected)


@kernel
def part_of_a_row(row, place, count, out):
    lanes = first_lanes(load_from(row, place), count)
    store_from(out, place, maximum(lanes, spread(-1.0)))
    return sum_of(lanes)


@pytest.mark.parametrize("count", [1, 5, WIDTH, WIDTH + 3])
def test_parts_of_rows(count):
    row, out = np.random.default_rng(3).normal(size=(2, 20))
    kept = row[7 : 7 + WIDTH].copy()
    kept[count:] = 0.0
    before = out.copy()
    assert part_of_a_row(row, 7, count, out) == pytest.approx(kept.sum(), rel=1e-14)
    np.testing.assert_array_equal(out[7 : 7 + WIDTH], np.maximum(kept, -1.0))
    np.testing.assert_array_equal(np.delete(out, np.s_[7:15]), np.delete(before, np.s_[7:15]))


@kernel
def exponentials(x, out):
    for row in range(x.shape[0]):
        store(out, row, exp_of_negative_lanes(load(x, row)))


def test_exponentials_in_lanes():
    x = np.append(-np.geomspace(1e-12, 690.0, 95), 0.0).reshape(-1, WIDTH)
    out = np.empty_like(x)
    exponentials(x, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=5e-16)
