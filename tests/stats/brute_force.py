"""The definitions of the pair scores, written as loops; slow and plain."""

from itertools import product

import numpy as np
from scipy.stats import rankdata


def kind_of(design, i, j):
    """1 within, 0 between, None not compared; from the words of the docs, not the code."""
    if i == j or design.blocks[i] == design.blocks[j] or design.groups[i] != design.groups[j]:
        return None
    if abs(design.places[i] - design.places[j]) < 1:
        return None  # the windows share time points
    return int(design.classes[i] == design.classes[j])


def part_of(design, i, j):
    """What counts as one where classes (for fingerprinting, subjects) count alike."""
    if design.pooled:
        return "all"
    if design.fingerprinting:
        return tuple(sorted((design.subjects[i], design.subjects[j])))
    return tuple(sorted((design.classes[i], design.classes[j])))


def weighted_pairs(similarity, design, draw, usable):
    """(value, weight) of ordered within and between pairs; each kind's weights sum to 1."""
    samples = [i for i in range(len(design)) if usable[i] and draw[design.subjects[i]]]
    found = {1: {}, 0: {}}
    for i, j in product(samples, samples):
        kind = kind_of(design, i, j)
        if kind is not None:
            weight = design.weights[i] * design.weights[j]
            part = found[kind].setdefault(part_of(design, i, j), [])
            part.append((similarity[i, j], weight))
    result = []
    for kind in (1, 0):
        rows = []
        for part in found[kind].values():
            total = sum(weight for _, weight in part)
            rows += [(value, weight / total / len(found[kind])) for value, weight in part]
        result.append(np.array(rows).reshape(-1, 2).T)
    counts = [sum(w for part in found[k].values() for _, w in part) for k in (1, 0)]
    return *result, counts


def n_classes_drawn(design, draw):
    return len({c for c, s in zip(design.classes, design.subjects, strict=True) if draw[s]})


def score(name, similarity, design, draw, usable):
    (w, ww), (b, bw), (n_w, n_b) = weighted_pairs(similarity, design, draw, usable)
    if not len(w) or not len(b):
        return np.nan
    if name in {"discr", "ident_rate"}:
        return neighbours(name, similarity, design, draw, usable)
    mean_w, mean_b = w @ ww, b @ bw
    share = n_w / (n_w + n_b) if design.pooled else 1 / expected_classes(design, draw)
    if name == "cohen_d":
        weights = (n_w - 1, n_b - 1) if design.pooled else (share, 1 - share)
        variances = (ww @ w**2 - mean_w**2, bw @ b**2 - mean_b**2)
        return (mean_w - mean_b) / np.sqrt(np.dot(weights, variances) / sum(weights))
    if name in {"auc", "rsa"}:
        wins = (w[:, None] > b[None, :]) + 0.5 * (w[:, None] == b[None, :])
        auc = ww @ wins @ bw
        if name == "auc":
            return auc
        values = np.unique(np.r_[w, b])
        ties = [share * ww[w == v].sum() + (1 - share) * bw[b == v].sum() for v in values]
        spread = (1 - np.sum(np.power(ties, 3))) / 12
        return np.sqrt(share * (1 - share)) * (auc - 0.5) / np.sqrt(spread) if spread else np.nan
    return {
        "difference": mean_w - mean_b,
        "ratio": mean_w / mean_b,
        "rel_difference": (mean_w - mean_b) / abs(mean_b),
        "i2c2": (mean_w - mean_b) / (1 - mean_b),
        "share": (mean_w - mean_b) / (1 - mean_b),
    }[name]


def expected_classes(design, draw):
    """How many classes count alike: all of a label, the drawn subjects of fingerprinting."""
    return int(draw.sum()) if design.fingerprinting else design.n_classes


def neighbours(name, similarity, design, draw, usable):
    samples = [i for i in range(len(design)) if usable[i] and draw[design.subjects[i]]]

    def others(i, among, kind):
        return [j for j in among if kind_of(design, i, j) == kind]

    members = [i for i in samples if others(i, samples, 1)]
    by_class = {}
    for i in members:
        alike, unlike = others(i, members, 1), others(i, members, 0)
        if not unlike:
            continue
        weights = {j: design.weights[j] for j in alike + unlike}
        if not design.pooled:
            for label in {design.classes[k] for k in unlike}:
                same = [k for k in unlike if design.classes[k] == label]
                total = sum(design.weights[k] for k in same)
                weights |= {k: design.weights[k] / total for k in same}
        total_unlike = sum(weights[k] for k in unlike)
        rates = [
            sum(
                weights[k] * ((similarity[i, k] < similarity[i, j])
                + 0.5 * (similarity[i, k] == similarity[i, j]))
                for k in unlike
            ) / total_unlike
            for j in alike
        ]  # fmt: skip
        alike_weights = np.array([design.weights[j] for j in alike])
        nearest = max(similarity[i, j] for j in alike + unlike)
        n_alike = sum(design.weights[j] for j in alike if similarity[i, j] == nearest)
        n_unlike = sum(design.weights[k] for k in unlike if similarity[i, k] == nearest)
        rate = np.dot(alike_weights, rates) / alike_weights.sum()
        pairs = design.weights[i] * (alike_weights.sum() if design.pooled else 1)
        row = (rate, pairs, n_alike / (n_alike + n_unlike), design.weights[i])
        by_class.setdefault(0 if design.pooled else design.classes[i], []).append(row)
    if not by_class:
        return np.nan
    column = 0 if name == "discr" else 2
    means = []
    for rows in by_class.values():
        table = np.array(rows)
        means.append(np.average(table[:, column], weights=table[:, column + 1]))
    return np.mean(means)


def rounded_similarity(vectors):
    """Spearman's correlations as the scores see them: rounded to 1e-6."""
    ranks = np.apply_along_axis(rankdata, 1, vectors.astype(float))
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    units = centred / np.where(norms == 0, 1, norms)
    return np.round(units @ units.T, 6)
