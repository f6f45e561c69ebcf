"""
The paper's theorems, run
=========================

Theorems 1, 3, 4 and 5, Proposition 1 and Lemma 1 on small numbers: what each says, and what it
does not say. (Theorem 2, on what attention maps can approximate, is an experiment: ``python -m
paper table4``.)
"""

import matplotlib.pyplot as plt
import numpy as np

from sclcs.coresets import draw_balanced, stable_pool

rng = np.random.default_rng(0)

# %%
# Theorem 1: averaging heads blurs them
# -------------------------------------
# Heads that look at different regions each have few entries per row. Their mean has all of them,
# and a larger entropy than any head.


def entropy(rows):
    return -(rows * np.log(np.where(rows > 0, rows, 1))).sum(axis=-1)


regions, heads = 12, 3
maps = np.zeros((heads, regions, regions))
for row in range(regions):
    owner = rng.permutation(np.arange(regions) % heads)
    for head in range(heads):
        maps[head, row, owner == head] = rng.dirichlet(np.ones((owner == head).sum()))
mean = maps.mean(axis=0)
figure, axes = plt.subplots(1, heads + 1, figsize=(8, 2.3), layout="constrained")
titles = [f"head {head + 1}: {entropy(maps[head]).mean():.2f}" for head in range(heads)]
for panel, image, title in zip(
    axes, [*maps, mean], [*titles, f"mean: {entropy(mean).mean():.2f}"], strict=True
):
    panel.imshow(image, vmin=0, vmax=0.6)
    panel.set(xticks=[], yticks=[], title=title)
print(
    "rows whose mean is less sure than every head:",
    (entropy(mean) > entropy(maps).max(axis=0)).mean(),
)

# %%
# Proposition 1: mixtures move more
# ---------------------------------
# A map that jumps between prototypes moves by :math:`\sum_{kl} \lambda_k \lambda_l D_{kl}` on
# average: nothing for a pure one, most for an even mixture.

prototypes = rng.normal(size=(2, 6, 6))
distance = ((prototypes[0] - prototypes[1]) ** 2).sum()
shares = np.linspace(0, 1, 21)
moves = []
for share in shares:
    drawn = prototypes[(rng.random(4000) < share).astype(int)]
    moves.append(((drawn[1:] - drawn[:-1]) ** 2).sum(axis=(1, 2)).mean())
expected = distance * 2 * shares * (1 - shares)
figure, axes = plt.subplots(figsize=(5, 2.8), layout="constrained")
axes.plot(shares, expected, color="0.6", label="proposition 1")
axes.plot(shares, moves, "o", label="4000 epochs")
axes.set(xlabel="share of the first prototype", ylabel="mean squared move")
axes.legend()
print("largest difference:", round(np.abs(moves - expected).max() / distance, 3))

# %%
# Lemma 1: SPS is consistent, if the moves are stationary
# -------------------------------------------------------
# Left: moves of a stationary process; the mean goes to its limit. Right: moves that shrink, as at
# the start of a training; the mean then depends on how long one trains. On ABIDE moves are
# stationary from about epoch 160 on (``results/figure8.csv``), and a score of 200 epochs is mostly
# made of what comes before.

epochs = np.arange(1, 2001)
state, steady = 0.0, []
for _ in epochs:
    state = 0.9 * state + rng.normal()
    steady.append(state**2)
shrinking = np.array(steady) * epochs**-0.5
figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
for panel, values, title in zip(
    axes, (steady, shrinking), ("stationary", "shrinking"), strict=True
):
    panel.plot(epochs, np.cumsum(values) / epochs)
    panel.set(xlabel="epochs L", ylabel="SPS", title=title)
axes[0].axhline(1 / (1 - 0.9**2), color="0.6")

# %%
# Theorem 3: the lowest scores prefer the steadier cluster
# --------------------------------------------------------
# Thirty percent of the scans have scores on [0, 1], the others on [0, 2]. The lowest fifth holds
# far more than 30 % of the first, however many scans there are. A density-balanced draw from a
# pool corrects some of it.

share, ratio = 0.3, 0.2
limit = share / (share + (1 - share) / 2)
sizes = [100, 300, 1000, 3000, 10_000]
lowest, dense = [], []
for size in sizes:
    first = rng.random(size) < share
    scores = rng.random(size) * np.where(first, 1, 2)
    lowest.append(first[np.argsort(scores)[: int(ratio * size)]].mean())
    dense.append(first[draw_balanced(stable_pool(scores), int(ratio * size), rng)].mean())
figure, axes = plt.subplots(figsize=(5, 2.8), layout="constrained")
axes.semilogx(sizes, lowest, "o-", label="lowest scores (sclcs)")
axes.semilogx(sizes, dense, "o-", label="density-balanced (sclcs-dense)")
axes.axhline(limit, color="0.6", linestyle=":", label="theorem 3")
axes.axhline(share, color="0.6", label="share in the cohort")
axes.set(xlabel="scans", ylabel="share of the steady cluster", ylim=(0, 0.8))
axes.legend(fontsize=8)

# %%
# Theorem 4: how many scans cover the cohort
# ------------------------------------------
# The chance to miss a ball of scans falls at least as fast as the proof says. But the number of
# scans that the theorem asks for is larger than the number of all scans: it is true, and does not
# say how large a core-set must be.

scores = rng.gamma(2.0, size=60)
pool = stable_pool(scores, beta=0.0)
ball = np.argsort(scores)[-4:]
mass = pool.weights[np.isin(pool.rows, ball)].sum()
sizes = np.arange(2, 31, 4)
missed = [
    np.mean([not np.isin(draw_balanced(pool, size, rng), ball).any() for _ in range(400)])
    for size in sizes
]
figure, axes = plt.subplots(figsize=(5, 2.8), layout="constrained")
axes.plot(sizes, (1 - mass) ** sizes, color="0.6", label="bound of the proof")
axes.plot(sizes, missed, "o", label="400 draws")
axes.set(xlabel="size of the core-set", ylabel="chance to miss the ball")
axes.legend()
spread = (pool.density.max() + 1e-8) / (pool.density.min() + 1e-8)
print(
    f"10 balls, 5 %: {len(scores) * spread * (np.log(10) + np.log(20)):.0f} of {len(scores)} scans"
)

# %%
# Theorem 5: a cover keeps means
# ------------------------------
# Means over a core-set differ from those over the cohort by at most the radius of the cover, *if
# every chosen scan counts for those it stands for*. The plain mean of the same core-set has no
# such bound: a few scans far away count as much as a crowd.

places = np.concatenate([rng.normal(0, 0.3, (290, 2)), rng.normal(4, 0.3, (10, 2))])
radii, weighted, plain = [], [], []
for size in range(4, 60, 2):
    first = [0]
    while len(first) < size:  # farthest first: every new scan is the one that is covered worst
        away = np.linalg.norm(places[:, None] - places[first][None], axis=2).min(axis=1)
        first.append(int(away.argmax()))
    distances = np.linalg.norm(places[:, None] - places[first][None], axis=2)
    radii.append(distances.min(axis=1).max())
    counts = np.bincount(distances.argmin(axis=1), minlength=size) / len(places)
    values = places[:, 0]  # changes by at most the distance
    weighted.append(abs(values.mean() - counts @ values[first]))
    plain.append(abs(values.mean() - values[first].mean()))
figure, axes = plt.subplots(figsize=(5, 2.8), layout="constrained")
axes.plot(range(4, 60, 2), radii, color="0.6", label="radius: theorem 5")
axes.plot(range(4, 60, 2), weighted, label="error, weighted")
axes.plot(range(4, 60, 2), plain, label="error, plain mean")
axes.set(xlabel="size of the core-set", ylabel="distance")
axes.legend(fontsize=8)
print("weighted errors within the radius:", np.mean(np.array(weighted) <= radii))
