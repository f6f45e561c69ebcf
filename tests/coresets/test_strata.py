import numpy as np
import pytest
from hypothesis import given, strategies as st

from sclcs._core.errors import InputError
from sclcs.coresets import select
from sclcs.coresets.boss import allocate, hardest_share, stratum_numbers, without_hardest


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=50).filter(sum),
    st.floats(0.01, 1.0),
)
def test_the_budget_is_spent_exactly(counts, share):
    counts = np.array(counts)
    size = max(1, int(share * counts.sum()))
    given_out = allocate(counts, size)
    assert given_out.sum() == size
    assert np.all((given_out >= 0) & (given_out <= counts))


def test_the_budget_is_even_where_it_can_be():
    assert allocate(np.array([100, 100, 100, 3]), 63).tolist() == [20, 20, 20, 3]
    assert allocate(np.array([0, 0, 7]), 7).tolist() == [0, 0, 7]


def test_the_top_sample_stays_even_if_all_scores_are_negative(rng):
    scores = -rng.random(200) - 1e-3
    bins = stratum_numbers(scores, 50)
    assert bins.min() == 0
    assert bins.max() == 49
    assert bins[np.argmax(scores)] == 49
    assert np.bincount(bins, minlength=50).sum() == 200


def test_equal_scores_are_one_stratum():
    assert stratum_numbers(np.full(9, -0.5), 50).tolist() == [0] * 9


def test_bins_equal_a_plain_loop(rng):
    scores = rng.normal(size=120)
    low, high = scores.min(), scores.max()
    edges = low + np.arange(1, 7) * (high - low) / 7
    expected = [sum(score >= edge for edge in edges) for score in scores]
    np.testing.assert_array_equal(stratum_numbers(scores, 7), expected)


def test_the_hardest_are_discarded(rng):
    scores = rng.normal(size=50)
    rows = without_hardest(scores, 0.3, rng.random(50))
    assert len(rows) == 35
    assert scores[rows].min() > np.sort(scores)[14]


def test_the_default_cutoff_follows_the_ratio():
    n = 4520
    assert [hardest_share(None, int(r * n), n) for r in (0.1, 0.2, 0.3, 0.5, 0.7)] == [
        0.3,
        0.1,
        0.1,
        0.0,
        0.0,
    ]
    for ratio in np.linspace(0.01, 1, 100):
        size = int(ratio * 97)
        if size:
            assert 97 - int(hardest_share(None, size, 97) * 97) >= size
    with pytest.raises(InputError, match="leaves 36 of 72"):
        hardest_share(0.5, 40, 72)
    with pytest.raises(InputError, match="cutoff"):
        hardest_share(1.0, 40, 72)


@pytest.mark.parametrize("cutoff", [0.0, 0.2, 0.5, None])
def test_ccs_leaves_the_hardest_out(cutoff, small_cohort):
    everything = select(small_cohort, "aum", 1.0, epochs=3)
    aum = dict(zip(everything.sample_ids, everything.score, strict=True))
    core = select(small_cohort, "ccs", 0.4, epochs=3, cutoff=cutoff)
    assert len(core) == 28
    used = core.parameters["cutoff_used"]
    assert min(core.score) >= sorted(aum.values())[int(used * 72)]
    one = select(small_cohort, "ccs", 0.4, epochs=3, cutoff=cutoff, n_strata=1)
    assert len(one) == 28
    with pytest.raises(InputError, match="n_strata"):
        select(small_cohort, "ccs", 0.4, epochs=3, n_strata=0)
