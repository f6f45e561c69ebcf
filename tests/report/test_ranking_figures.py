import numpy as np
import pandas as pd
import pytest

from sclcs._core.errors import InputError
from sclcs.cohort.cohort import Cohort
from sclcs.cohort.coreset import CoreSet
from sclcs.report.figures import (
    draw_balance,
    draw_rank_rank,
    draw_ranking,
    draw_similarities,
    save_figure,
    shorten,
)
from sclcs.stats import ArraySource, balance, rank

NAMES = ["kendalltau", "cov_OAS", "cov_LedoitWolf", "gd_multitaper_delay_fs-1_fmin-0-25_fmax-0-5"]


@pytest.fixture
def source(rng):
    samples = pd.DataFrame(
        {
            "subject": np.repeat(list("abcdef"), 3),
            "window": np.tile(range(3), 6),
            "site": np.repeat(["x", "y", "z"], 6),
        },
        index=[f"s{i}" for i in range(18)],
    )
    fc = rng.normal(size=(4, 18, 5, 5))
    fc[2] = np.exp(fc[1])  # bound to tie
    return ArraySource(fc, NAMES, Cohort(rng.normal(size=(18, 5, 9)), samples))


def words(figure):
    figure.canvas.draw()
    found = [text.get_text() for axes in figure.axes for text in axes.texts]
    for axes in figure.axes:
        found += [tick.get_text() for tick in axes.get_yticklabels()]
        found += [axes.get_title(loc="left"), axes.get_xlabel()]
    return " | ".join([*found, figure.get_suptitle()])


def test_ranking_shows_groups_as_one_line(source, tmp_path):
    figure = draw_ranking(rank(source, bootstrap=20))
    seen = words(figure)
    assert "(+1 equivalent)" in seen
    assert "all 3 · 95 % intervals" in seen
    assert len(figure.axes[0].get_yticks()) == 3
    for name in ("a.png", "b.svg", "c.pdf"):
        assert save_figure(figure, tmp_path / "new" / name).stat().st_size > 1000
    assert "best 1 of 3" in words(draw_ranking(rank(source), shown=1))


def test_a_picture_of_nothing_says_why(source):
    empty = rank(source, coreset=CoreSet(["s0", "s3"]))
    with pytest.raises(InputError, match="nothing to draw: task 'subject': there is no within"):
        draw_ranking(empty)
    with pytest.raises(InputError, match="no operator with a rank in common"):
        draw_rank_rank(rank(source), empty)
    with pytest.raises(InputError, match="nothing to draw"):
        draw_similarities(source, "kendalltau", "site", CoreSet(["s0", "s3"]))


def test_rank_rank_names_the_best(source):
    full = rank(source)
    part = rank(source, coreset=CoreSet(source.sample_ids[:12], method="first"), bootstrap=10)
    seen = words(draw_rank_rank(full, part))
    assert full.table["spi"][0] in seen or shorten(full.table["spi"][0], 34) in seen
    assert "rank on all samples" in seen
    assert "Kendall" in seen


def test_similarities_count_each_pair_once(source):
    figure = draw_similarities(source, "kendalltau")
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels[0].startswith("between pairs (135)")
    assert labels[1].startswith("within pairs (18)")


def test_balance_bars(source, rng):
    cohort = Cohort(rng.normal(size=(18, 5, 9)), source.samples)
    seen = words(draw_balance(balance(cohort, CoreSet(["s0", "s1", "s7"]))))
    assert "site (L1" in seen
    assert "3 samples of 2 subjects (33 % of them)" in seen
    with pytest.raises(InputError, match="no balance to draw"):
        draw_balance(balance(cohort, CoreSet(["s0"]), labels=[]))


def test_long_names_are_shortened_in_the_middle():
    assert shorten("pec") == "pec"
    long = shorten(NAMES[3], 20)
    assert len(long) == 20
    assert long.startswith("gd_multi")
    assert long.endswith("fmax-0-5")
