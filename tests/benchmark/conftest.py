"""Small FC arrays with unequal axes: 9 operators' worth of nothing shared by accident."""

import numpy as np
import pandas as pd
import pytest

from sclcs.benchmark.fc_source import ArraySource
from sclcs.cohort.cohort import Cohort

N_REGIONS = 6


def make_cohort(subjects, **labels):
    """A cohort of 6 regions x 11 time points; the signals do not matter here."""
    table = pd.DataFrame(
        {"subject": subjects, "window": range(len(subjects)), **labels},
        index=[f"s{i}" for i in range(len(subjects))],
    )
    signals = np.random.default_rng(3).normal(size=(len(subjects), N_REGIONS, 11))
    return Cohort(signals, table)


def make_fc(cohort, n_operators, rng, effect=1.0):
    """Matrices (spi, sample, region, region): noise plus a subject part of growing size."""
    names = cohort.samples["subject"].to_numpy()
    unique, codes = np.unique(names, return_inverse=True)
    base = rng.normal(size=(len(unique), N_REGIONS, N_REGIONS))
    noise = rng.normal(size=(n_operators, len(cohort), N_REGIONS, N_REGIONS))
    strength = effect * np.arange(n_operators)[:, None, None, None] / n_operators
    fc = noise + strength * base[codes]
    fc[..., np.arange(N_REGIONS), np.arange(N_REGIONS)] = np.nan
    return fc


@pytest.fixture
def labelled_cohort():
    """Fourteen samples of five subjects, unequal numbers of samples, two classes, two sites."""
    subjects = list("aaabbbbccddeee")
    diagnosis = {"a": "MDD", "b": "MDD", "c": "HC", "d": "HC", "e": "HC"}
    site = {"a": "x", "b": "y", "c": "x", "d": "y", "e": "y"}
    return make_cohort(
        subjects,
        diagnosis=[diagnosis[s] for s in subjects],
        site=[site[s] for s in subjects],
    )


@pytest.fixture
def source(labelled_cohort, rng):
    names = ["kendalltau", "cov_EmpiricalCovariance", "pec", "gwtau", "prec_OAS", "mi_gaussian"]
    return ArraySource(make_fc(labelled_cohort, len(names), rng), names, labelled_cohort)
