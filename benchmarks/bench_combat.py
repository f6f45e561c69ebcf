"""Our ComBat against combatlearn: the same numbers? how much CPU time?

Run: python benchmarks/bench_combat.py

307 subjects, 7 sites of unequal size that shift and widen 1056 features, age and sex as
covariates; learned from nine tenths of the subjects and applied to all. Features are random.
"""

import time
import warnings

import numpy as np
import pandas as pd
from combatlearn import ComBat

from sclcs.stats.prediction import fit_combat

SUBJECTS, SITES, FEATURES = 307, 7, 1056


def main():
    random = np.random.default_rng(0)
    sites = np.sort(random.choice(SITES, SUBJECTS, p=np.arange(1, SITES + 1) / 28))
    covariates = np.c_[random.normal(size=SUBJECTS), random.integers(0, 2, SUBJECTS)]
    features = random.normal(size=(SUBJECTS, FEATURES)) * (1 + 0.2 * sites[:, None])
    features += covariates[:, :1] + sites[:, None] * random.normal(size=FEATURES)
    training = np.sort(random.permutation(SUBJECTS)[: SUBJECTS * 9 // 10])
    start = time.process_time()
    learned = fit_combat(features[training], sites[training], covariates[training])
    ours = learned.apply(features, sites, covariates)
    own_seconds = time.process_time() - start
    index = [f"s{k}" for k in range(SUBJECTS)]
    frame = pd.DataFrame(features, index=index)
    start = time.process_time()
    model = ComBat(
        pd.Series(sites, index=index),
        continuous_covariates=pd.DataFrame({"age": covariates[:, 0]}, index=index),
        discrete_covariates=pd.DataFrame({"sex": covariates[:, 1].astype(int)}, index=index),
        method="fortin",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = model.fit(frame.iloc[training]).transform(frame).to_numpy()
    other_seconds = time.process_time() - start
    print(
        f"largest difference {np.abs(ours - theirs).max():.1e} (values up to "
        f"{np.abs(theirs).max():.0f}); CPU s: ours {own_seconds:.3f}, combatlearn "
        f"{other_seconds:.3f}, ratio {other_seconds / own_seconds:.0f}"
    )


if __name__ == "__main__":
    main()
