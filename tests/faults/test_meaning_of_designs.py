"""Confounded designs: what the target goes with is named with what to do; nothing else is."""

import logging

import numpy as np
import pandas as pd
import pytest

from sclcs import Cohort, rank
from sclcs.cohort import check_cohort
from sclcs.cohort.design import association, cautions, check_design, site_column

N = 120


def make_samples(seed, **columns):
    """Return a clean study: nothing goes with the diagnosis."""
    rng = np.random.default_rng(seed)
    table = {
        "subject": [f"s{k:03d}" for k in range(N)],
        "window": 0,
        "dx": rng.permutation(np.array(["HC", "MDD"]).repeat(N // 2)),
        "sex": rng.choice(["F", "M"], N),
        "age": rng.integers(18, 66, N),
        "education": rng.integers(8, 20, N),
        "mean_fd": rng.gamma(3, 0.05, N),
        "site": rng.choice(["x", "y", "z"], N),
        "scanned": [f"2019-{m:02d}-{d:02d}" for m, d in zip(rng.integers(1, 13, N),
                                                            rng.integers(1, 29, N), strict=True)],
    }  # fmt: skip
    return pd.DataFrame({**table, **columns})


def cases_of(samples):
    return (samples["dx"] == "MDD").to_numpy()


def sentences(samples, task="dx", taken_out=()):
    found = [problem.to_dict() for problem in check_design(samples, [task])]
    return [text for text in cautions(found, task, set(taken_out)) if " goes with " in text]


def dates(days):
    return (pd.Timestamp("2019-01-01") + pd.to_timedelta(days, unit="D")).strftime("%d.%m.%Y")


TIED = {
    "site": lambda cases, rng: {"site": np.where(rng.random(N) < 0.8 * cases + 0.1, "x", "y")},
    "motion": lambda cases, rng: {"mean_fd": rng.gamma(3, 0.05, N) + 0.12 * cases},
    "age": lambda cases, rng: {"age": rng.integers(18, 50, N) + 14 * cases},
    "a column of any name": lambda cases, _: {"coil": np.where(cases, "32", "12")},
    "date": lambda cases, rng: {"scanned": dates(rng.integers(0, 200, N) + 180 * cases)},
    "length": lambda cases, rng: {"n_timepoints": 150 + 40 * cases + rng.integers(0, 30, N)},
    "repetition time": lambda cases, _: {"tr": np.where(cases, 2.0, 2.5)},
    "motion, split": lambda cases, rng: {"fd": np.where(cases, 0.3, 0.1) + rng.random(N) / 20},
}
COLUMN = {"motion": "mean_fd", "a column of any name": "coil", "date": "scanned",
          "length": "n_timepoints", "repetition time": "tr", "motion, split": "fd"}  # fmt: skip


@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("seed", range(3))
def test_whatever_goes_with_the_target_is_named(name, seed):
    samples = make_samples(seed)
    tied = TIED[name](cases_of(samples).astype(int), np.random.default_rng(seed))
    found = sentences(samples.assign(**tied))
    column = COLUMN.get(name, name)
    (told,) = [text for text in found if column in text]
    assert "--" in told or "cannot be separated" in told
    if "cannot be separated" not in told:
        assert not any(column in t for t in sentences(samples.assign(**tied), taken_out=[column]))


def test_what_does_not_go_with_the_target_is_hardly_ever_named():
    named = [text for seed in range(40) for text in sentences(make_samples(seed))]
    assert len(named) <= 3  # of 40 studies with six other columns each


@pytest.mark.parametrize("name", ["site", "SITE_ID", "scanner", "Center", "acquisition", "wave"])
def test_sites_are_found_by_name_and_by_structure(name):
    """Where the label is nearly the site, a permutation inside sites finds nothing."""
    rng = np.random.default_rng(3)
    samples = make_samples(3).drop(columns="site")
    sites = np.where(cases_of(samples) ^ (rng.random(N) < 0.05), "a", "b")
    samples = samples.assign(**{name: sites, "tr": np.where(sites == "a", 2.0, 3.0)})
    assert site_column(samples, leave_out="dx") == name
    assert any("cannot be separated" in text or "--within" in text for text in sentences(samples))


def test_scans_that_are_alike_show_what_acts_as_site():
    rng = np.random.default_rng(4)
    samples = make_samples(4).drop(columns="site").set_index("subject", drop=False)
    room = np.where(rng.random(N) < 0.4, "old", "new")
    signals = rng.normal(size=(N, 4, 60)) * np.where(room == "old", 3.0, 1.0)[:, None, None]
    cohort = Cohort(signals, samples.assign(room=room))
    (found,) = [one for one in check_cohort(cohort) if one.kind == "acts-as-site"]
    assert found.where == "room"
    named = Cohort(signals, samples.assign(room=room, site=room))
    assert not [one for one in check_cohort(named) if one.kind == "acts-as-site"]


def test_rank_says_what_the_target_goes_with(caplog):
    rng = np.random.default_rng(5)
    samples = make_samples(5).head(24).assign(dx=["HC", "MDD"] * 12)
    samples["coil"] = samples["dx"].map({"HC": "12", "MDD": "32"})
    cohort = Cohort(rng.normal(size=(24, 3, 40)), samples)
    quick = {"spis": "pec", "bootstrap": 0, "permutations": 0}
    with caplog.at_level(logging.WARNING):
        rank(cohort, "dx", **quick)
    assert "dx goes with coil so closely that they cannot be separated" in caplog.text
    caplog.clear()
    rank(cohort, "sex", **quick)
    assert "coil" not in caplog.text


def test_one_measure_is_the_three_of_the_textbooks():
    from scipy.stats import chi2_contingency, kruskal, spearmanr

    rng = np.random.default_rng(6)
    label, other = (pd.Series(rng.choice(list("abc"), 90)) for _ in range(2))
    one = pd.Series(rng.integers(0, 9, 90)) + (label == "a") * 3
    two = one + rng.normal(size=90) * 3
    found = association(one, two)
    assert found.strength == pytest.approx(abs(spearmanr(one, two).statistic))
    chi2 = chi2_contingency(pd.crosstab(label, other), correction=False)
    phi = max(chi2.statistic / 90 - 4 / 89, 0)
    assert association(label, other).strength == pytest.approx(np.sqrt(phi / (2 - 4 / 89)))
    assert association(label, other).p == pytest.approx(chi2.pvalue, abs=0.05)
    groups = kruskal(*(one[label == name] for name in "abc"))
    assert association(label, one).strength == pytest.approx(np.sqrt((groups.statistic - 2) / 87))
