"""
Which operator sees a diagnosis, and not the scanner?
=====================================================

Patients and controls often come from different sites. A covariate takes the site out; permutations
inside sites say whether anything is left.
"""

import sclcs
from sclcs.stats import rank

cohort = sclcs.simulate_cohort(60, 1, 12, length=120, stride=120, sites=2, group=0.3, seed=2)
ranking = rank(
    cohort, "diagnosis", "panel", covariates=["site", "motion"], permutations=500, bootstrap=200
)
for sentence in ranking.answer:
    print("-", sentence)

# %%
# ``share`` is the part of the variance of connectivity that the diagnosis explains beyond the
# covariates; 0 is chance, and the p of every operator is corrected for all that were tried.

print(
    ranking.groups[["name", "score", "low", "high", "p", "best_set"]].head().to_string(index=False)
)

# %%

sclcs.report.plot.ranking(ranking)
