"""Pieces that take too long are done in parts, and come out as if they had never been cut."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from store_content import content

from sclcs.cohort.cohort import Cohort
from sclcs.compute import Share, compute_store, fill_store, find_executor, open_computation
from sclcs.compute import pieces as piece_module
from sclcs.compute.checkpoints import FOLDER, Checkpoints
from sclcs.compute.cutting import Scissors, longest_within
from sclcs.compute.region_parts import PLANES, part_regions, regions_in_part
from sclcs.spi.fc_layout import StoreLayout
from sclcs.spi.fc_records import Piece
from sclcs.spi.fc_store import FCStore

# Of pairs and not, of one family and of several; one needs more time points than some have.
OPERATORS = ["dtw", "dtw_constraint-itakura", "lcss", "dcorr", "hsic", "kendalltau", "prec_OAS"]


def cohort_with_troubles():
    """Nine samples: 11 regions, 60 or 52 time points; two have constant regions."""
    rng = np.random.default_rng(11)
    values = rng.normal(size=(9, 11, 60))
    values[2, 4] = 1.0
    values[5, :10] = 2.0  # nothing is left to compare
    lengths = np.full(9, 60)
    lengths[[1, 6]] = 52
    for row in (1, 6):
        values[row, :, 52:] = np.nan
    table = pd.DataFrame(
        {"subject": [f"p{k}" for k in range(9)], "window": 0, "n_timepoints": lengths},
        index=[f"s{k}" for k in range(9)],
    )
    return Cohort(values, table, tr=2.0)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return cohort_with_troubles().save(tmp_path_factory.mktemp("cut") / "c.zarr")


@pytest.fixture(scope="module")
def uncut(saved, tmp_path_factory):
    return compute_store(saved, tmp_path_factory.mktemp("uncut") / "fc", OPERATORS, block_size=4)


@pytest.mark.parametrize("count", PLANES)
def test_every_two_regions_are_together_in_a_part(count):
    for n_regions in {count, count + 5, 3 * count}:
        parts = [part_regions(n_regions, count, number).tolist() for number in range(count)]
        together = {pair for part in parts for pair in combinations(part, 2)}
        assert together == set(combinations(range(n_regions), 2))
        assert max(map(len, parts)) <= regions_in_part(n_regions, count) + len(PLANES[count])
    # No pair of groups twice: all parts cost hardly more than the whole.
    assert sum(len(part) ** 2 for part in parts) / n_regions**2 < 1 + 1.4 / (len(PLANES[count]) - 1)


def scissors(longest, regions=100, times=200, block=4):
    from pathlib import Path

    return Scissors(StoreLayout(Path("fc"), 8, regions, block), times, longest)


def test_samples_are_cut_first_then_regions_then_operators():
    names = ("ccm_E-1_diff", "ccm_E-1_max", "ccm_E-1_mean")
    piece = Piece("cross_mapping", 0, names)
    whole = scissors(1e9).cut(piece)
    assert [part.rows for part in whole] == [(0, 4)]
    one = scissors(1e9).seconds(whole[0]) / 4
    by_sample = scissors(1.5 * one).cut(piece)
    assert [part.rows for part in by_sample] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert all(part.regions is None for part in by_sample)
    small = scissors(one / 10)
    by_region = small.cut(piece)
    assert {part.regions[1] for part in by_region} == {13}
    assert {part.operators for part in by_region} == {names}
    assert max(map(small.seconds, by_region)) <= one / 10
    others = Piece("covariance", 0, ("cov_GraphicalLassoCV", "prec_GraphicalLassoCV"))
    alone = scissors(1e-6).cut(others)
    assert {part.operators for part in alone} == {(name,) for name in others.operators}
    assert all(part.regions is None for part in alone)


def test_the_wall_of_the_issue_is_cut_below_a_minute():
    """One sample of `dependence` at 400 x 1200 takes hours by the laws."""
    from sclcs.spi.sets import resolve

    for spis in ("ccm*", "hsic,mgc,mgcx*,hhg,gwtau", "anm,cds,igci*"):
        names = tuple(resolve(spis.split(",")))
        tool = scissors(longest_within(14400), 400, 1200, block=1)
        families = {}
        for name in names:
            from sclcs.spi.catalogue import operator_facts

            families.setdefault(operator_facts()[name].family, []).append(name)
        for family, members in families.items():
            parts = tool.cut(Piece(family, 0, tuple(members)))
            assert max(map(tool.seconds, parts)) <= 600


@pytest.mark.slow
@pytest.mark.parametrize(("longest", "on"), [(1e-4, "local:1"), (1e-6, "local:2")])
def test_cut_or_not_the_store_is_the_same(saved, uncut, tmp_path, longest, on):
    out = tmp_path / "fc"
    computation = open_computation(saved, out, OPERATORS, block_size=4)
    report = fill_store(computation, find_executor(on), longest=longest)
    assert content(out) == content(uncut.path)
    assert not (out / FOLDER).exists()
    assert report.pieces > len(computation.store.layout.pieces(OPERATORS))
    assert fill_store(computation, longest=longest).pieces == 0


class KilledError(BaseException):
    pass


@pytest.mark.parametrize("damage", [False, True])
def test_killed_between_parts_nothing_is_done_twice(saved, uncut, tmp_path, monkeypatch, damage):
    out = tmp_path / "fc"
    computation = open_computation(saved, out, ["dtw", "hsic"], block_size=4)
    done = []
    real = piece_module._compute_part

    def counted(order, part):
        done.append(part)
        return real(order, part)

    def deadly(order, part):
        if len(done) == 20:
            raise KilledError
        return counted(order, part)

    monkeypatch.setattr(piece_module, "_compute_part", deadly)
    with pytest.raises(KilledError):
        fill_store(computation, longest=1e-6)
    files = sorted((out / FOLDER).rglob("*.npz"))
    assert files
    if damage:
        files[0].write_bytes(files[0].read_bytes()[:-7])
    monkeypatch.setattr(piece_module, "_compute_part", counted)
    fill_store(computation, longest=1e-6)
    assert len(done) == len(set(done)) + damage
    fill_store(open_computation(saved, out, OPERATORS), longest=1e-6)
    mine, expected = content(out), content(uncut.path)
    for name in ("dtw", "hsic"):
        chunks = [key for key in expected if f"/{name}/" in key]
        assert chunks
        assert [mine[key] for key in chunks] == [expected[key] for key in chunks]


def test_shares_that_know_nothing_of_each_other_put_it_together(saved, uncut, tmp_path):
    out = tmp_path / "fc"
    for number in (3, 1, 2):
        computation = open_computation(saved, out, OPERATORS, block_size=4)
        fill_store(computation, share=Share(number, 3), longest=1e-6)
    assert FCStore.open(out).missing(check=True) == []
    fill_store(open_computation(saved, out, OPERATORS), longest=1e-6)
    assert content(out) == content(uncut.path)


def test_what_other_stores_know_is_copied_into_cut_pieces(saved, uncut, tmp_path):
    half = [f"s{k}" for k in (0, 2, 5, 6)]
    known = compute_store(saved, tmp_path / "half", OPERATORS[:5], coreset=half)
    computation = open_computation(saved, tmp_path / "fc", OPERATORS, block_size=4)
    report = fill_store(computation, known=[known], longest=1e-6)
    assert content(tmp_path / "fc") == content(uncut.path)
    assert report.matrices == 5 * 5 + 2 * 9


def test_an_error_in_a_part_leaves_nothing_of_the_sample(saved, tmp_path, monkeypatch):
    from sclcs.spi.families import warping

    real = warping.compute

    def fails(signals, members, context):
        if signals.shape[0] == 1 and signals.shape[1] < 11:
            raise ArithmeticError("no such number")
        return real(signals, members, context)

    monkeypatch.setattr(warping, "compute", fails)
    computation = open_computation(saved, tmp_path / "fc", ["dtw"], block_size=4)
    fill_store(computation, longest=1e-6)
    status = FCStore.open(tmp_path / "fc").status()
    assert status.loc["dtw", "failed"] == 9
    store = FCStore.open(tmp_path / "fc")
    assert np.isnan(store.matrices("dtw")).all()


def test_a_file_of_other_numbers_is_not_taken(saved, tmp_path):
    layout = StoreLayout(tmp_path, 9, 11, 4)
    piece = Piece("warping", 0, ("dtw",))
    part = Scissors(layout, 60, 1e-6).cut(piece)[0]
    random = Piece("elastic_barycenter", 0, ("bary_sgddtw_mean",))
    drawn = Scissors(layout, 60, 1e-6).cut(random)[0]
    names = [Checkpoints(layout, piece, seed).file(part) for seed in (0, 1)]
    assert names[0] == names[1]  # no seed changes it
    names = [Checkpoints(layout, random, seed).file(drawn) for seed in (0, 1)]
    assert names[0] != names[1]
