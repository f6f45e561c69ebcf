"""
Is my own operator any good?
============================

A function of one sample (regions x time) is all that is needed; it is ranked beside the others.
"""

import numpy as np

import sclcs
from sclcs.spi import register
from sclcs.stats import rank


def sign_agreement(signals):
    """Agreement of signs: are two regions above their means together?"""
    signs = np.sign(signals - signals.mean(axis=1, keepdims=True))
    return signs @ signs.T / signals.shape[1]


register("sign_agreement", sign_agreement)
cohort = sclcs.simulate_cohort(30, 3, 12, length=60, stride=60, seed=7)
operators = ["sign_agreement", "pearson", "spearman", "kendall"]
ranking = rank(cohort, "subject", operators, permutations=200, bootstrap=200)
print(ranking.groups[["spi", "score", "low", "high", "best_set"]].to_string(index=False))

# %%
# With intervals from redrawing subjects:

sclcs.report.plot.ranking(ranking)
