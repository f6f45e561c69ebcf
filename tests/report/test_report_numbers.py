import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sclcs.report import drawing as formats
from sclcs.report.drawing import (
    Axis,
    Drawing,
    axis_over,
    draw_ruler,
    matrix_data,
    strongest,
    tick_label,
)


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (formats.number, -0.001, "−0.0010"),
        (formats.number, -0.00001, "0.0000"),
        (formats.number, -1.255, "−1.25"),
        (formats.number, math.inf, "–"),
        (formats.number, None, "–"),
        (formats.rank, 3.0, "3"),
        (formats.rank, 3.5, "3.5"),
        (formats.rank, math.nan, "–"),
        (formats.percent, 0.256, "26\u00a0%"),
        (formats.count, 12345, "12,345"),
        (formats.duration, 0.0, "0 s"),
        (formats.duration, 0.00046, "0.46 ms"),
        (formats.duration, 59.0, "59 s"),
        (formats.duration, 90.0, "1.5 min"),
        (formats.duration, 200000.0, "2.3 days"),
        (formats.duration, math.nan, "–"),
        (formats.short, 123456.0, "123,456"),
        (formats.short, -0.12345, "−0.123"),
    ],
)
def test_numbers_are_short_and_never_nan(write, value, text):
    assert write(value) == text


def test_intervals_and_amounts():
    assert formats.interval(-0.5, 1.0) == "−0.50 to 1.00"
    assert formats.interval(math.nan, 1.0) == formats.interval(None, 1.0) == "–"
    assert formats.plural(1, "entry", "entries") == "1 entry"
    assert formats.plural(1200, "entry", "entries") == "1,200 entries"


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.floats(0, 1),
)
def test_values_of_an_axis_lie_where_they_should(low, span, share):
    axis = Axis(low, low + span)
    assert axis.place(low + share * span) == pytest.approx(share, abs=1e-6)
    assert axis.place(low - 1) == 0
    assert axis.place(low + span + 1) == 1
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 7
    assert all(low - 1e-6 * span <= value <= low + span * (1 + 1e-6) for _, value in ticks)


def test_axes_over_nothing_one_value_and_ratios():
    assert axis_over([math.nan]).place(0.5) == 0.5
    assert axis_over([2.0]).place(2.0) == 0.5
    ratios = axis_over([0.001, 0.0, 10.0], log=True)
    assert ratios.place(0.1) == pytest.approx(0.5)
    assert [tick_label(value) for _, value in ratios.ticks()] == ["0.001", "0.01", "0.1", "1", "10"]
    assert "0.1</text>" in draw_ruler(ratios)


def test_words_in_a_drawing_are_escaped():
    drawing = Drawing(20, 'label "<b>"')
    drawing.text(0.5, 10, "<script>")
    drawing.dot(0.5, 10, 3, "dot", tip='"><img src=x>')
    drawing.bar((0, 0), (1, 5), "bar", tip="&")
    text = str(drawing.markup())
    assert "<script>" not in text
    assert "<img" not in text
    assert "<b>" not in text
    assert 'x="50%"' in text


def read_back(data):
    import base64

    levels = np.frombuffer(base64.b64decode(data["values"]), dtype="<i2").astype(float)
    levels[levels == -32768] = np.nan
    return (levels * data["step"]).reshape(data["size"], data["size"])


def test_a_matrix_keeps_four_digits_and_its_gaps(rng):
    values = rng.normal(size=(5, 5)) * 3e-4
    np.fill_diagonal(values, np.nan)
    data = matrix_data(values, list("abcde"))
    np.testing.assert_allclose(read_back(data), values, atol=np.nanmax(np.abs(values)) / 60000)
    assert data["signed"]
    assert data["high"] == -data["low"] == pytest.approx(np.nanmax(np.abs(values)))
    positive = matrix_data(np.abs(values) + 1, list("abcde"))
    assert not positive["signed"]
    assert 1 <= positive["low"] < positive["high"]
    assert matrix_data(values, list("abcde"), ends=(0.0, 2.0))["high"] == 2


def test_matrices_without_variation_or_values():
    nothing = matrix_data(np.full((3, 3), np.nan), list("abc"))
    assert np.isnan(read_back(nothing)).all()
    zeros = matrix_data(np.zeros((3, 3)), list("abc"))
    assert (read_back(zeros) == 0).all()
    assert (zeros["low"], zeros["high"]) == (0.0, 1.0)
    assert not zeros["signed"]


def test_the_strongest_connections_are_named_once():
    values = np.array([[np.nan, 0.5, -0.9], [0.5, np.nan, 0.1], [-0.9, 0.1, np.nan]])
    undirected = strongest(values, ["a", "b", "c"], directed=False, most=2)
    assert undirected == [
        {"source": "a", "target": "c", "value": -0.9},
        {"source": "a", "target": "b", "value": 0.5},
    ]
    directed = strongest(values, ["a", "b", "c"], directed=True, most=9)
    assert [(row["source"], row["target"]) for row in directed[:2]] == [("a", "c"), ("c", "a")]
    assert len(directed) == 6
