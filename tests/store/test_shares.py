"""Shares end at about the same time, and processes agree on them."""

import pytest
from hypothesis import given, strategies as st

from sclcs.spi.versions import resolve
from sclcs.store import Work
from sclcs.store.layout import SECONDS_PER_PIECE, StoreLayout
from sclcs.store.metadata import Metadata

SPIS = resolve("all")


class Layout(StoreLayout):
    """Of a store that is only planned."""

    def metadata(self):
        return Metadata({"n_timepoints": 200, "block_size": None})


def all_operators(path, n_samples=871, n_regions=100):
    layout = Layout(path, n_samples, n_regions)
    return Work(layout.pieces(SPIS), layout, 200)


def test_pieces_are_short_and_few(tmp_path):
    work = all_operators(tmp_path)
    assert max(map(work.seconds, work.pieces)) < 2 * SECONDS_PER_PIECE
    assert len(work.pieces) < 6 * 871


@pytest.mark.parametrize("count", [7, 15, 30, 60, 300])
def test_shares_end_together(tmp_path, count):
    work = all_operators(tmp_path)
    loads = [sum(map(work.seconds, pieces)) for pieces in work.deal(count)]
    assert max(loads) < 1.15 * sum(loads) / count


@given(st.integers(1, 40), st.integers(1, 100))
def test_every_piece_belongs_to_one_share(count, n_samples):
    from pathlib import Path

    work = all_operators(Path("store"), n_samples)
    dealt = work.deal(count)
    assert len(dealt) == count
    assert sorted((piece for pieces in dealt for piece in pieces), key=work.pieces.index) == list(
        work.pieces
    )
    assert dealt == work.deal(count)
