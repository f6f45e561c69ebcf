"""
What does an operator compute?
==============================

``compute`` takes time x region; axes have names. Every operator
has an identifier, many have a short name.
"""

import matplotlib.pyplot as plt

import sclcs
from sclcs import catalogue, compute

cohort = sclcs.simulate_cohort(2, 1, 12, length=150, stride=150, seed=4)
matrices = compute(cohort.signals[0].T, ["pearson", "partial", "spearman"])
print(matrices.coords["spi"].to_numpy())

# %%

figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for ax, operator in zip(axes, matrices.coords["spi"].to_numpy(), strict=True):
    sclcs.report.plot.matrix(matrices.sel(spi=operator)[0], ax=ax)
    ax.set_title(operator, fontsize=8)

# %%
# The catalogue says what each one is:

print(catalogue().loc["cov_EmpiricalCovariance", ["family", "description", "symmetry"]])
