"""
Which scans would do?
=====================

Core-sets: the paper's idea. A stratified draw keeps the shares of classes and sites at every size.
"""

import sclcs
from sclcs.coresets import select
from sclcs.stats import balance, consistency, rank

cohort = sclcs.simulate_cohort(40, 3, 12, length=60, stride=60, seed=6)
core = select(cohort, method="stratified", ratio=0.2, seed=0)
print(core)
found = balance(cohort, core)
print("difference of the shares of classes:", round(found["diagnosis_l1_subjects"], 2))
print("difference of the shares of sites:", round(found["site_l1_subjects"], 2))

# %%
# How well does the core-set keep the order of operators?

settings = {"permutations": 0, "bootstrap": 0}
full = rank(cohort, "subject", "panel", **settings)
some = rank(cohort, "subject", "panel", core, **settings)
print({name: round(value, 2) for name, value in consistency(full, some, k=(5,)).items()})

# %%
# The same as a picture: every dot is an operator; on the diagonal both say the same.

ranks = full.groups.set_index("spi")["rank"].to_frame("full cohort")
ranks["core-set"] = some.groups.set_index("spi")["rank"]
axes = ranks.plot.scatter("full cohort", "core-set", figsize=(4.5, 4.5))
axes.axline((1, 1), slope=1, color="0.7", zorder=0)
axes.set(xlabel="rank on the full cohort", ylabel="rank on the core-set", aspect="equal")
