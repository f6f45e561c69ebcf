import numpy as np
import pandas as pd
import pytest

from sclcs import Cohort, simulate_cohort
from sclcs.core.errors import InputError, UnknownNameError
from sclcs.selection import select
from sclcs.selection.by_subject import even_order


def counts_per_subject(core):
    return pd.Series(core.subjects).value_counts()


def test_subjects_are_whole(small_cohort):
    assert set(counts_per_subject(select(small_cohort, "subjects", 0.5))) == {4}
    cut = counts_per_subject(select(small_cohort, "subjects", 0.37))  # 26 = 6 * 4 + 2
    assert sorted(cut) == [2, 4, 4, 4, 4, 4, 4]


@pytest.mark.parametrize("windows", [1, 2, 3])
def test_pairs_give_as_many_windows_as_asked(windows, small_cohort):
    size = 6 * windows
    core = select(small_cohort, "pairs", size / 72 + 1e-9, windows=windows)
    assert len(core) == size
    assert set(counts_per_subject(core)) == {windows}


def test_pairs_begin_a_second_round(small_cohort):
    counts = counts_per_subject(select(small_cohort, "pairs", 0.75))  # 54 = 36 + 18
    assert len(counts) == 18
    assert set(counts) == {2, 4}
    with pytest.raises(InputError, match="windows"):
        select(small_cohort, "pairs", 0.5, windows=0)


@pytest.fixture(scope="module")
def uneven_cohort():
    return simulate_cohort(150, 3, 4, length=20, seed=8)


@pytest.mark.parametrize("ratio", [0.05, 0.1, 0.3, 0.5])
def test_strata_are_in_proportion(ratio, uneven_cohort):
    core = select(uneven_cohort, "stratified", ratio)
    assert core.parameters["strata_used"] == ["site", "diagnosis"]
    persons = uneven_cohort.samples.drop_duplicates("subject").set_index("subject")
    cells = persons["site"].astype(str) + persons["diagnosis"]
    chosen = cells[sorted(set(core.subjects))].value_counts()
    n_chosen = len(set(core.subjects))
    expected = cells.value_counts(normalize=True) * n_chosen
    difference = (chosen.reindex(expected.index, fill_value=0) - expected).abs()
    assert difference.max() < 2
    random = select(uneven_cohort, "pairs", ratio)
    of_random = cells[sorted(set(random.subjects))].value_counts(normalize=True)
    l1 = [
        (shares.reindex(expected.index, fill_value=0) - expected / n_chosen).abs().sum()
        for shares in (chosen / n_chosen, of_random)
    ]
    assert l1[0] < l1[1]


def test_strata_can_be_named(uneven_cohort):
    core = select(uneven_cohort, "stratified", 0.2, strata="sex, site")
    assert core.parameters["strata_used"] == ["sex", "site"]
    with pytest.raises(UnknownNameError, match="colour"):
        select(uneven_cohort, "stratified", 0.2, strata=["colour"])


def test_a_cohort_without_site_and_class(cohort):
    plain = Cohort(cohort.signals, cohort.samples[["subject", "window"]])
    with pytest.raises(InputError, match="site and diagnosis, but the cohort has neither"):
        select(plain, "stratified", 0.5)
    assert len(select(cohort, "stratified", 0.5)) == 3  # the diagnosis alone


def test_every_beginning_of_the_queue_is_in_proportion(rng):
    strata = np.repeat([0, 1, 2, 3], [40, 25, 10, 3])
    ranks = even_order(strata, rng.random(78), rng.random(4))
    assert sorted(ranks) == list(range(78))
    for n in range(1, 79):
        shares = np.bincount(strata[ranks < n], minlength=4)
        assert np.all(np.abs(shares - n * np.array([40, 25, 10, 3]) / 78) < 1.5)
