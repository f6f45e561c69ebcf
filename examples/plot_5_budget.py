"""
The best operator for a small part of the cost
==============================================

Cheap operators run on everybody; a handful of scans shows how the expensive ones lie between them;
their scores are estimated, and only the promising ones are computed in full.
"""

import tempfile
from pathlib import Path

import sclcs

cohort = sclcs.simulate_cohort(60, 2, 10, length=60, stride=60, seed=5)
out = Path(tempfile.mkdtemp()) / "RUN"
result = sclcs.run(
    cohort,
    out=out,
    task="subject",
    spis=["panel", "family:kendall", "family:covariance", "family:nearest_neighbour"],
    budget="25%",
    exact_below=0,  # so small a cohort would be computed exactly, whatever the budget
    permutations=200,
    bootstrap=200,
)
print(result)

# %%
# ``source`` says which scores are exact and which are estimated:

table = result.rankings["subject"].table
print(table["source"].value_counts().to_string())
print(table[["spi", "score", "low", "high", "source"]].head(8).to_string(index=False))

# %%
# Intervals of exact scores say how they would change with other subjects; those of estimated ones
# where the exact score is expected.

sclcs.report.plot.ranking(result.rankings["subject"])
