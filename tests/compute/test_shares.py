"""Shares end at about the same time, and everybody agrees on them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sclcs.compute.cutting import Scissors
from sclcs.compute.executors.slurm import limit_seconds
from sclcs.compute.shares import SHORTEST, Work
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.sets import resolve


def fast_set(tmp_path, n_samples=640, n_regions=33):
    layout = StoreLayout(tmp_path, n_samples, n_regions, 64)
    return Work(layout.pieces(resolve("paper-fast")), Scissors(layout, 70))


@pytest.mark.parametrize("count", [7, 15, 20, 30])
def test_no_share_is_much_longer_than_the_others(tmp_path, count):
    work = fast_set(tmp_path)
    loads = [sum(map(work.seconds, parts)) for parts in work.deal(count)]
    longest_piece = max(map(work.seconds, work.parts))
    mean = sum(loads) / count
    # Dealing the longest first is never worse than this (Graham 1969).
    assert max(loads) <= mean + longest_piece
    # One after the other, as it was, is: shares of 15, the number of families, get one family each.
    in_turn = [sum(map(work.seconds, work.parts[k::count])) for k in range(count)]
    assert max(loads) < max(in_turn)
    if longest_piece < mean:
        assert max(loads) < 1.5 * mean


@pytest.mark.parametrize("count", [15, 20, 30, 60])
def test_cut_by_samples_they_end_together(tmp_path, count):
    """Sixty shares of fifteen families with one that costs half of all.

    With fewer regions sixty shares would have so little to do that cutting it is not worth while.
    """
    work = fast_set(tmp_path, n_samples=1535, n_regions=100).even(count)
    loads = [sum(map(work.seconds, parts)) for parts in work.deal(count)]
    assert sum(loads) / count > SHORTEST
    assert max(loads) < 1.15 * sum(loads) / count
    assert all(part.regions is None for part in work.parts)
    whole = fast_set(tmp_path, n_samples=1535, n_regions=100)
    assert sum(loads) == pytest.approx(sum(map(whole.seconds, whole.parts)))


@given(st.integers(1, 40), st.integers(1, 500))
def test_every_piece_belongs_to_one_share(count, n_samples):
    from pathlib import Path

    work = fast_set(Path("store"), n_samples)
    dealt = work.deal(count)
    assert len(dealt) == count
    flat = [part for parts in dealt for part in parts]
    assert sorted(flat, key=work.parts.index) == work.parts
    assert dealt == work.deal(count)
    for parts in dealt:  # blocks are read once: their families follow each other
        blocks = [part.piece.block for part in parts]
        assert blocks == sorted(blocks)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 1800),
        ("30:15", 1815),
        ("04:00:00", 14400),
        ("1-12", 129600),
        ("2-00:30", 174600),
        ("1-01:01:01", 90061),
        ("UNLIMITED", None),
        ("1:2:3:4", None),
    ],
)
def test_time_limits_are_read_as_slurm_does(text, seconds):
    assert limit_seconds(text) == seconds
