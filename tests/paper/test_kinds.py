"""Simulated cohorts of four kinds, and what is said about them."""

import numpy as np
import pytest

from paper import kinds
from paper.kinds import CASES, KINDS, N_REGIONS, TOY, Effort, make_cohort, measure_cohort

MANY = 400


def difference(kind, measure):
    """Return the mean of an edge's measure in patients minus controls (region, region)."""
    cohort = make_cohort(KINDS[kind], MANY, "test")
    values = np.array([measure(np.asarray(signals)) for signals in cohort.signals])
    patient = (cohort.samples["diagnosis"] == "patient").to_numpy()
    return values[patient].mean(axis=0) - values[~patient].mean(axis=0)


def distance_correlation_of_first_pair(signals):
    def centred(x):
        d = np.abs(x[:, None] - x[None])
        return d - d.mean(axis=0) - d.mean(axis=1)[:, None] + d.mean()

    one, two = centred(signals[0]), centred(signals[1])
    return (one * two).mean() / np.sqrt((one**2).mean() * (two**2).mean())


def test_correlations_differ_in_no_two_or_all_edges():
    edges = ~np.eye(N_REGIONS, dtype=bool)
    changed = {kind: np.abs(difference(kind, np.corrcoef))[edges] for kind in KINDS}
    assert changed["no effect"].max() < 0.06
    assert changed["hidden"].max() < 0.06
    assert (changed["few edges"] > 0.08).sum() == 2  # one pair, in both directions
    assert np.median(changed["many edges"]) > 2 * np.median(changed["no effect"])


def test_a_hidden_effect_is_one_of_dependence():
    found = {
        kind: difference(kind, distance_correlation_of_first_pair)
        for kind in ("hidden", "no effect")
    }
    assert found["hidden"] > 0.02
    assert abs(found["no effect"]) < 0.005


def test_a_hidden_effect_is_missed_without_relatives_and_that_is_said(monkeypatch):
    effort = Effort(60, 99, 40, 200)
    row = measure_cohort(CASES["hidden, from strangers"], 0, 0, effort)
    assert row["exact_found"] == 1
    assert row["exact_holds"] == 1
    assert (row["run_found"], row["stopped"], row["confirmed"]) == (0, "no effect", 0)
    assert row["regret"] > 0.5
    monkeypatch.setattr(kinds, "BUDGET", "60%")  # cheap relatives are on everybody then
    with_relatives = measure_cohort(CASES["hidden"], 0, 0, effort)
    assert with_relatives["run_found"] == 1
    assert with_relatives["regret"] < row["regret"]


@pytest.mark.parametrize("name", list(CASES))
def test_a_cohort_is_the_same_whenever_it_is_measured(name):
    case = CASES[name]
    one, again = (make_cohort(case.kind, TOY.subjects, 3, seed=1) for _ in range(2))
    other = make_cohort(case.kind, TOY.subjects, 4, seed=1)
    assert one.fingerprint == again.fingerprint != other.fingerprint
