"""Tiny cohorts with a chosen number of windows per subject."""

import numpy as np
import pandas as pd

from sclcs.cohort import Cohort


def make_cohort(windows_of, n_regions=6, length=17, stride=8, seed=3):
    """Give each subject as many windows as asked, with a subject's own pattern in them."""
    rng = np.random.default_rng(seed)
    signals, rows, ids = [], [], []
    for subject, windows in windows_of.items():
        pattern = rng.normal(size=(n_regions, n_regions))
        for window in range(windows):
            signals.append(pattern @ rng.normal(size=(n_regions, length)))
            rows.append({"subject": subject, "window": window, "start": window * stride})
            ids.append(f"{subject}_w{window}")
    return Cohort(np.stack(signals), pd.DataFrame(rows, index=ids))
