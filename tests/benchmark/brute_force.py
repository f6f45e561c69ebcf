"""The definitions, written as loops over explicit copies of samples; slow and plain."""

import numpy as np
from scipy.stats import rankdata, spearmanr


def copies(design, multiplicity, weights=None):
    """List (sample, copy of its subject, copy by weight) of every drawn sample."""
    weights = design.weights if weights is None else weights
    rows = []
    for sample, subject in enumerate(design.subjects):
        for drawn in range(int(multiplicity[subject])):
            rows += [(sample, drawn, again) for again in range(int(weights[sample]))]
    return rows


def pair_kind(design, one, two):
    """1 within, 0 between, None not compared."""
    (i, drawn_i, _), (j, drawn_j, _) = one, two
    if design.blocks[i] == design.blocks[j]:
        return None  # also copies of one sample
    if design.subjects[i] == design.subjects[j] and drawn_i != drawn_j:
        return None  # two copies of one subject
    return int(design.classes[i] == design.classes[j])


def pairs(similarity, design, multiplicity, usable):
    """Similarities of the ordered within and between pairs."""
    rows = [row for row in copies(design, multiplicity) if usable[row[0]]]
    found = {1: [], 0: []}
    for one in rows:
        for two in rows:
            kind = pair_kind(design, one, two)
            if one is not two and kind is not None:
                found[kind].append(similarity[one[0], two[0]])
    return np.array(found[1]), np.array(found[0])


def score(name, similarity, design, multiplicity, usable):
    within, between = pairs(similarity, design, multiplicity, usable)
    if not len(within) or not len(between):
        return np.nan
    if name in {"discr", "ident_rate"}:
        return neighbours(name, similarity, design, multiplicity, usable)
    mean_w, mean_b = within.mean(), between.mean()
    if name == "cohen_d":
        n_w, n_b = len(within), len(between)
        pooled = ((n_w - 1) * within.var() + (n_b - 1) * between.var()) / (n_w + n_b - 2)
        return (mean_w - mean_b) / np.sqrt(pooled)
    if name == "auc":
        wins = (within[:, None] > between[None, :]) + 0.5 * (within[:, None] == between[None, :])
        return wins.mean()
    if name == "rsa":
        # Unordered pairs: every ordered one appears twice, so take every value half as often.
        w, b = np.sort(within)[::2], np.sort(between)[::2]
        flags = np.r_[np.ones(len(w)), np.zeros(len(b))]
        values = np.r_[w, b]
        return spearmanr(values, flags).statistic if np.ptp(values) > 0 else np.nan
    return {
        "difference": mean_w - mean_b,
        "ratio": mean_w / mean_b,
        "rel_difference": (mean_w - mean_b) / abs(mean_b),
    }[name]


def neighbours(name, similarity, design, multiplicity, usable):
    rows = [row for row in copies(design, multiplicity) if usable[row[0]]]

    def kinds(one, among):
        return [(pair_kind(design, one, two), two) for two in among if two is not one]

    members = [one for one in rows if any(kind == 1 for kind, _ in kinds(one, rows))]
    shares, hits = [], []
    for one in members:
        seen = kinds(one, members)
        alike = [similarity[one[0], two[0]] for kind, two in seen if kind == 1]
        unlike = np.array([similarity[one[0], two[0]] for kind, two in seen if kind == 0])
        if not len(unlike):
            continue
        shares += [((unlike < value) + 0.5 * (unlike == value)).mean() for value in alike]
        nearest = max(*alike, unlike.max())
        n_alike, n_unlike = sum(v == nearest for v in alike), (unlike == nearest).sum()
        hits.append(n_alike / (n_alike + n_unlike))
    return np.mean(shares if name == "discr" else hits) if hits else np.nan


def rounded_similarity(vectors):
    """Spearman's correlations as the scores see them: rounded to 1e-6."""
    ranks = np.apply_along_axis(rankdata, 1, vectors.astype(float))
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    units = centred / np.where(norms == 0, 1, norms)
    return np.round(units @ units.T, 6)
