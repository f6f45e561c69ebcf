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
operators = ["panel", "family:kendall", "family:spearman", "dcorr", "hsic"]
out = Path(tempfile.mkdtemp()) / "RUN"
result = sclcs.run(
    cohort, out=out, tasks="subject", spis=operators, budget="30%", permutations=200, bootstrap=200
)
print(result)

# %%
# ``source`` says which scores are exact and which are estimated:

table = sclcs.Ranking.open(next(out.glob("ranking*.csv"))).table
print(table["source"].value_counts().to_string())
