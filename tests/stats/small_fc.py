"""Small FC arrays with unequal axes."""

import numpy as np
import pandas as pd

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
