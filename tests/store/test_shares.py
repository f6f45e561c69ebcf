"""Shares end at about the same time, and processes agree on them."""

import pytest
from hypothesis import given, strategies as st

from sclcs.spi import resolve
from sclcs.store.fill import deal, piece_seconds
from sclcs.store.layout import SECONDS_PER_PIECE, Metadata, StoreLayout


class Layout(StoreLayout):
    """Of a store that is only planned."""

    def metadata(self):
        return Metadata({"n_timepoints": 200, "block_size": None})


@pytest.fixture(scope="module")
def costs(tmp_path_factory):
    """Return what the pieces of all operators on a large cohort cost."""
    layout = Layout(tmp_path_factory.mktemp("store"), 871, 100)
    return [piece_seconds(layout, piece, 200) for piece in layout.pieces(resolve("all"))]


def test_pieces_are_short_and_few(costs):
    assert max(costs) < 2 * SECONDS_PER_PIECE
    assert len(costs) < 6 * 871


@pytest.mark.parametrize("count", [7, 15, 30, 60, 300])
def test_shares_end_together(costs, count):
    loads = [sum(costs[k] for k in share) for share in deal(costs, count)]
    assert max(loads) < 1.15 * sum(loads) / count


@given(st.lists(st.floats(0, 1e3), max_size=50), st.integers(1, 40))
def test_every_piece_belongs_to_one_share(costs, count):
    dealt = deal(costs, count)
    assert len(dealt) == count
    assert sorted(index for share in dealt for index in share) == list(range(len(costs)))
