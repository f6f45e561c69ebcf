import json

from sclcs.spi import catalogue


def test_the_whole_catalogue_is_listed(sclcs):
    shown = sclcs("spis", "list")
    assert shown.code == 0
    assert shown.out.lstrip().startswith("287 operators")
    for name in catalogue().index:
        assert name in shown.out


def test_filters_combine(sclcs):
    listed = json.loads(
        sclcs("spis", "list", "--set", "paper-fast", "--family", "covariance", "--json").out
    )
    assert "cov_LedoitWolf" in listed
    assert all(row["family"] == "covariance" and row["paper_fast"] for row in listed.values())
    directed = json.loads(sclcs("spis", "list", "--directed", "--label", "nonlinear", "--json").out)
    assert directed
    assert all(
        row["directed"] and "nonlinear" in row["labels"].split() for row in directed.values()
    )
    assert json.loads(
        sclcs("spis", "list", "--undirected", "--implemented", "--json").out
    ).keys() <= set(catalogue().query("implemented and not directed").index)


def test_one_operator_in_full(sclcs):
    found = json.loads(sclcs("spis", "show", "cov_PearsonCorrelation", "--json").out)
    assert found["name"] == "Pearson correlation"
    assert found["identifier"] == "cov_EmpiricalCovariance"
    assert "pdist_cosine" in found["rank_equivalent"]
    shown = sclcs("spis", "show", "te_symbolic_k-1_kt-1_l-1_lt-1")
    assert "quirk" in shown.out
    assert "gc_gaussian_k-1_kt-1_l-1_lt-1" in shown.out


def test_unknown_names_get_the_nearest(sclcs):
    shown = sclcs("spis", "show", "cov_LedoitWolff")
    assert shown.code == 2
    assert "cov_LedoitWolf" in shown.err
    assert sclcs("spis", "list", "--family", "covarianze").code == 2
