import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from sclcs._core import InputError
from sclcs.cohort.windows import WHOLE_SCAN, Seconds, Windowing, parse_extent

PAPER_WINDOWS = Windowing(length=70, stride=35, truncate=210)


@pytest.mark.parametrize("recorded", [210, 230, 232, 240, 999])
def test_the_papers_windows_are_five_on_the_first_210_points(recorded):
    assert PAPER_WINDOWS.starts(recorded).tolist() == [0, 35, 70, 105, 140]


def test_the_papers_robustness_setting_gives_four_truncated_and_five_untruncated():
    assert Windowing(50, 45, truncate=210).starts(230).tolist() == [0, 45, 90, 135]
    assert Windowing(50, 45).starts(230).tolist() == [0, 45, 90, 135, 180]


def test_a_scan_shorter_than_the_truncation_is_too_short():
    assert PAPER_WINDOWS.starts(209).size == 0
    assert PAPER_WINDOWS.minimum_scan_length == 210


def test_dropped_points_come_off_before_the_truncation():
    windowing = Windowing(70, 35, truncate=210, drop_first=1)
    assert windowing.starts(210).size == 0
    assert windowing.starts(211).size == 5
    signal = np.arange(2 * 211, dtype=np.float32).reshape(2, 211)
    np.testing.assert_array_equal(windowing.cut(signal)[0], signal[:, 1:71])


def test_a_whole_scan_is_one_window():
    signal = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(WHOLE_SCAN.cut(signal), signal[None])
    np.testing.assert_array_equal(Windowing(None, truncate=3).cut(signal), signal[None, :, :3])


@given(
    length=st.integers(2, 40),
    stride=st.integers(1, 50),
    n_timepoints=st.integers(0, 120),
    truncate=st.none() | st.integers(2, 120),
    drop_first=st.integers(0, 5),
)
def test_windows_are_exactly_those_that_fit(length, stride, n_timepoints, truncate, drop_first):
    assume(truncate is None or truncate >= length)
    windowing = Windowing(length, stride, truncate, drop_first)
    signal = np.arange(3 * n_timepoints, dtype=np.float32).reshape(3, n_timepoints)
    starts = windowing.starts(n_timepoints)
    kept = signal[:, drop_first:]
    if truncate is not None:
        kept = kept[:, :truncate] if kept.shape[1] >= truncate else kept[:, :0]
    # Definition: every multiple of the stride from which a whole window fits.
    expected = [s for s in range(0, n_timepoints + 1, stride) if s + length <= kept.shape[1]]
    assert starts.tolist() == expected
    pieces = windowing.cut(signal)
    assert pieces.shape[0] == len(expected)
    for start, piece in zip(expected, pieces, strict=True):
        np.testing.assert_array_equal(piece, kept[:, start : start + length])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"length": 1}, "length of at least 2, got 1"),
        ({"length": 5, "stride": 0}, "stride of at least 1, got 0"),
        ({"length": 5, "drop_first": -1}, "drop_first of at least 0"),
        ({"length": None, "truncate": 1}, "truncate of at least 2, got 1"),
        ({"length": Seconds(0.0009)}, "length of at least 2, got 0.0009s"),
        ({"length": 70, "truncate": 60}, "length is 70 and truncate is 60"),
    ],
)
def test_impossible_windows_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        Windowing(**options)


def test_seconds_become_time_points_where_the_repetition_time_is_known():
    windowing = Windowing(Seconds(0.002), Seconds(0.001), drop_first=Seconds(0.004))
    assert windowing.at(0.001) == Windowing(2, 1, drop_first=4)
    assert windowing.to_dict()["drop_first"] == "0.004s"
    assert Windowing(70, 35).at(None).to_dict() == {
        "length": 70, "stride": 35, "truncate": None, "drop_first": 0,
    }  # fmt: skip
    assert [type(parse_extent(text)) for text in ("7", "7s", ".5s")] == [int, Seconds, Seconds]
    with pytest.raises(InputError, match=r"not known; give it with --tr"):
        windowing.at(None)
