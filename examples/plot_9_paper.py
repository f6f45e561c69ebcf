"""
SCLCS: the paper's Figure 1 as a story
======================================

Train the encoder, watch every scan's attention map, score the scans by how much their maps move
(SPS), draw a core-set from the stable ones, rank operators on it, and see what was lost. Needs
torch.
"""

import matplotlib.pyplot as plt
import numpy as np

import sclcs
from sclcs.coresets import stable_pool, train_encoder

cohort = sclcs.simulate_cohort(50, 4, 10, length=60, stride=60, group=0.1, seed=9)

# %%
# **1. An encoder learns who is who.** Two windows of one subject are pulled together, windows of
# others pushed away; no diagnosis is used. After every epoch the attention map of *every* scan is
# computed again. Its squared distance to the map of the epoch before is what SPS averages.

run = train_encoder(cohort, epochs=60, heads=4, dim=16, seed=0, keep_curves=True)
order = np.argsort(run.scores)
low, high = order[: len(order) // 10], order[-len(order) // 10 :]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for rows, words in ((low, "lowest tenth of SPS"), (high, "highest tenth"), (order, "all scans")):
    axes.plot(run.curves[rows].mean(axis=0), label=words)
axes.set(xlabel="epoch", ylabel="squared move of the map", yscale="log")
axes.legend()

# %%
# **2. One scan that hardly moves, one that moves most** (the paper's Figure 3).

ends = [run.sample_ids[row] for row in (order[0], order[-1])]
epochs = [0, 5, 20, 60]
figure, axes = plt.subplots(2, len(epochs), figsize=(7, 3.8), layout="constrained")
for column, epoch in enumerate(epochs):
    for row, image in enumerate(run.maps(cohort, ends, epoch)):
        axes[row, column].imshow(image, vmin=0, vmax=0.3)
        axes[row, column].set(xticks=[], yticks=[], title=f"epoch {epoch}" if row == 0 else "")
axes[0, 0].set_ylabel("lowest SPS")
axes[1, 0].set_ylabel("highest SPS")

# %%
# **3. The core-set.** The lowest scores alone (``sclcs``) would be much alike. ``sclcs-dense``
# discards the least stable 5 % and draws from the rest, rare scores more often.

pool = stable_pool(run.scores, beta=0.05)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hist(run.scores, 40, color="0.8")
axes.axvline(pool.threshold, color="0.4", linestyle=":")
weights = axes.twinx()
weights.plot(run.scores[pool.rows], pool.weights, ".", color="tab:orange")
axes.set(xlabel="SPS", ylabel="scans")
weights.set_ylabel("weight of the draw")

settings = {"epochs": 60, "heads": 4, "dim": 16}
cores = {name: sclcs.select(cohort, name, 0.2, **settings) for name in ("sclcs", "sclcs-dense")}
cores |= {f"random {seed}": sclcs.select(cohort, "random", 0.2, seed) for seed in range(5)}
print(cores["sclcs-dense"])

# %%
# **4. Rank on the core-set, compare with the full cohort.** Ten cheap operators, by how well they
# tell the groups apart. Read the two methods against the spread of random draws of the same size:
# with one cohort and one training each, nothing more can be said.

quick = {"permutations": 0, "bootstrap": 0}
full = sclcs.rank(cohort, "diagnosis", "panel", **quick)
found = {
    name: sclcs.compare(full, sclcs.rank(cohort, "diagnosis", "panel", core, **quick), k=[5])
    for name, core in cores.items()
}
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
axes.barh(list(found), [agreed["ndcg@5"] for agreed in found.values()])
axes.set(xlabel="nDCG@5 with the ranking on the full cohort", xlim=(0, 1))

# %%
# The same as one command, with a report: ``sclcs run cohort.zarr --task diagnosis --ratio 0.2
# --epochs 60 --out RUN``. On real cohorts, with many trainings: `the results
# <../results/index.html>`_.
