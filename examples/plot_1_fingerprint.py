"""
Which operator recognises a person?
===================================

Fingerprinting: two recordings of one person should be more alike than recordings of two persons.
Windows that share time points are never compared, so nobody is recognised by the overlap.
"""

import sclcs
from sclcs.stats import rank

cohort = sclcs.simulate_cohort(30, 4, 12, length=60, stride=60, seed=1)
ranking = rank(cohort, "subject", "panel", permutations=200, bootstrap=200)
for sentence in ranking.answer:
    print("-", sentence)

# %%
# The answer is the *best set*: the operators that these data cannot tell from the best one.

print(ranking.best_set[["spi", "name", "score", "low", "high"]].to_string(index=False))

# %%
# All of them, with intervals from redrawing subjects:

sclcs.report.plot.ranking(ranking)
