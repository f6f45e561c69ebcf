"""
Which operator predicts a number?
=================================

Age, symptoms, a test score: kernel ridge regression, cross-validated over subjects. This cohort
is simulated *without* any influence of age, and the answer says so: read the sentences before you
look at the best correlation.
"""

import sclcs
from sclcs.stats import rank

cohort = sclcs.simulate_cohort(60, 1, 12, length=120, stride=120, seed=3)
ranking = rank(
    cohort, "age", "panel", score="predict", folds=5, repeats=2, permutations=100, bootstrap=0
)
for sentence in ranking.answer:
    print("-", sentence)

# %%
# The winner of ten operators still has some correlation, by luck:

print(ranking.groups[["name", "score", "p", "p_single"]].head(4).to_string(index=False))

# %%
# All of them: no correlation here is worth a second look.

sclcs.report.plot.ranking(ranking)
