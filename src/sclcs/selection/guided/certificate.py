"""The certificate: what a core-set is expected to be worth for operators nobody looked at.

Each family of the panel is left out in turn and a core-set is searched with the others. The
scores of the family on *that* core-set, read back through the line of the others, are
predictions of its full scores by a core-set that never saw it. Their errors are what unseen
operators will suffer. Families whose scores rise and fall together from core-set to core-set
are left out together: an unseen family rarely has such a twin in the panel.

Rankings of imaginary unseen *families*, as large as those the panel has no operator of, give
the expected consistency and its interval. Families are the unit, because the operators of
one are alike: they share a part of their error and how large it is, and often lie close
together, so that even small errors change their order. The panel, one or two operators of
each family, shows neither; a certificate that imagines single operators promises too much
of Kendall's tau.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.consistency import gains, ndcg
from sclcs.core.seeds import generator
from sclcs.selection.guided.objective import asked_scores, fit_line, operator_weights
from sclcs.selection.guided.panel import Panel
from sclcs.selection.guided.search import Found

__all__ = ["Certificate", "LeftOut", "certify", "group_flags", "kin", "leave_groups_out"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

DRAWS = 300
KIN = 0.7  # families more correlated than this count as one
FEWEST_GROUPS = 3
SHARED = 0.5  # part of the error's variance that the operators of a family have in common
SIZES = (20,) * 5
FLATTEST = 0.05  # a line flatter than this carries no order; errors are counted as if at it


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Full scores, and what core-sets that never saw the operator's family say of them.

    Parameters
    ----------
    full, implied : arrays, shape (task, operator)
    groups : list of str
        Which operators were left out together.
    tasks : list of str
    scores : tuple of str
        What the scores are, by task.
    """

    full: Floats
    implied: Floats
    groups: list[str]
    tasks: list[str]
    scores: tuple[str, ...]


@dataclass(frozen=True)
class Certificate:
    """Expected consistency on unseen operators, for one task.

    Parameters
    ----------
    task : str
    score : str
        By what operators are ranked.
    k : int
        Cut-off of nDCG.
    ndcg, kendall : tuple of float
        Expected value, and the lower and upper end of the interval.
    confidence : float
        Nominal coverage of the intervals.
    groups, operators : int
        What it rests on: groups of families that were left out in turn, and operators.
    unseen : int
        How many operators were imagined, over all unseen families.
    """

    task: str
    score: str
    k: int
    ndcg: tuple[float, float, float]
    kendall: tuple[float, float, float]
    confidence: float
    groups: int
    operators: int
    unseen: int

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        names = ("expected", "low", "high")
        return {
            "task": self.task,
            "score": self.score,
            f"ndcg@{self.k}": dict(zip(names, self.ndcg, strict=True)),
            "kendall": dict(zip(names, self.kendall, strict=True)),
            "confidence": self.confidence,
            "groups": self.groups,
            "operators": self.operators,
            "unseen_operators": self.unseen,
        }


def kin(panel: Panel, scored: Sequence[Floats]) -> list[str]:
    """Join families whose scores go together from one unguided core-set to the next.

    Parameters
    ----------
    panel : Panel
    scored : sequence of arrays, shape (task, operator)
        The panel's scores on unguided core-sets.

    Returns
    -------
    list of str
        The group of each operator, at least :data:`FEWEST_GROUPS` different ones.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    names = sorted(set(panel.families))
    if len(scored) < 3:
        return list(panel.families)
    table = np.concatenate(list(np.stack(scored).transpose(1, 0, 2)), axis=1)
    by_family = np.stack([_go_together(table, panel, name) for name in names])
    related = np.asarray(np.corrcoef(by_family))
    far = 1 - np.abs(related[np.triu_indices(len(names), k=1)])
    tree = linkage(np.nan_to_num(far, nan=1.0), "average")
    for limit in (1 - KIN, (1 - KIN) / 2, 0.0):
        labels = fcluster(tree, limit, "distance")
        if len(set(labels)) >= FEWEST_GROUPS:
            break
    group = {name: f"group {label}" for name, label in zip(names, labels, strict=True)}
    return [group[name] for name in panel.families]


def _go_together(table: Floats, panel: Panel, family: str) -> Floats:
    """Return the mean standardised score of a family (over all tasks) in each core-set."""
    members = np.asarray(panel.families * len(panel.full), dtype=object) == family
    values = table[:, members]
    spread = values.std(axis=0)
    return np.asarray(((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1)).mean(1))


def group_flags(groups: Sequence[str]) -> list[Flags]:
    """Return the operators of every group, by flags, in the order of the groups' names."""
    names = np.asarray(groups, dtype=object)
    return [np.asarray(names == name, dtype=np.bool_) for name in sorted(set(groups))]


def leave_groups_out(panel: Panel, groups: Sequence[str], chosen: Sequence[Found]) -> LeftOut:
    """Predict the scores of each group with a core-set that never saw it.

    Parameters
    ----------
    panel : Panel
    groups : sequence of str
        Of each operator.
    chosen : sequence of Found
        For each of :func:`group_flags`, the core-set that was chosen (and weighted) without it.

    Returns
    -------
    LeftOut
    """
    implied = np.full_like(panel.asked, np.nan)
    for out, found in zip(group_flags(groups), chosen, strict=True):
        scores = asked_scores(panel, found.rows, found.weights)
        if scores is None:
            continue
        weights = operator_weights(panel.families, out)
        for task, full in enumerate(panel.asked):
            line = fit_line(full, scores[task], weights)
            steep = max(line.slope, FLATTEST)  # a falling line would turn the order round
            implied[task, out] = (scores[task, out] - line.shift) / steep
    return LeftOut(panel.asked, implied, list(groups), panel.tasks, panel.scores)


def certify(
    left_out: LeftOut,
    *,
    k: int = 10,
    sizes: Sequence[int] = SIZES,
    confidence: float = 0.9,
    seed: int = 0,
) -> list[Certificate]:
    """Turn errors on left-out families into the consistency to expect.

    Parameters
    ----------
    left_out : LeftOut
    k : int
        Cut-off of nDCG.
    sizes : sequence of int
        How many operators each unseen family has.
    confidence : float
        Coverage of the intervals.
    seed : int

    Returns
    -------
    list of Certificate
        One per task; none if a core-set without scores was met.
    """
    if not np.isfinite(left_out.implied).all():
        return []
    certificates = []
    counts = (len(set(left_out.groups)), len(left_out.groups), int(sum(sizes)))
    for task, name in enumerate(left_out.tasks):
        random = generator(seed, "guided", "certificate")
        errors = _Errors.of(left_out.full[task], left_out.implied[task], left_out.groups)
        drawn = [_imagine(errors, sizes, random) for _ in range(DRAWS)]
        orders = [ndcg(gains(truth), core, k) for truth, core in drawn]
        taus = [_kendall(truth, core) for truth, core in drawn]
        ends = [_interval(np.array(values), confidence, counts[0]) for values in (orders, taus)]
        certificates.append(
            Certificate(name, left_out.scores[task], k, ends[0], ends[1], confidence, *counts)
        )
    return certificates


def _interval(drawn: Floats, confidence: float, n_groups: int) -> tuple[float, float, float]:
    """Return mean, low and high; the ends allow for a mean that rests on a few groups."""
    upper = (1 + confidence) / 2
    wider = np.sqrt(1 + 1 / n_groups)
    mean = float(drawn.mean())
    low, high = np.percentile(drawn, [100 * (1 - upper), 100 * upper])
    ends = np.clip([mean - wider * (mean - low), mean + wider * (high - mean)], -1, 1)
    return mean, float(ends[0]), float(ends[1])


@dataclass(frozen=True, eq=False)
class _Errors:
    """The panel's full scores; size of the errors of each group, and what it rests on."""

    full: Floats
    sizes: Floats
    freedom: Integers
    bandwidth: float

    @classmethod
    def of(cls, full: Floats, implied: Floats, groups: Sequence[str]) -> _Errors:
        names = np.asarray(groups, dtype=object)
        members = [np.flatnonzero(names == name) for name in sorted(set(groups))]
        sizes = [np.sqrt(np.mean((implied - full)[rows] ** 2)) for rows in members]
        freedom = [len(rows) + 1 for rows in members]
        bandwidth = 1.06 * full.std() * len(full) ** -0.2 / 2  # half of Silverman's
        return cls(full, np.array(sizes), np.array(freedom), float(bandwidth))


def _imagine(
    errors: _Errors, sizes: Sequence[int], random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the true scores of imaginary unseen families, and those on the core-set.

    A family has the error size of one of the panel's groups, as uncertain as the few
    operators it was measured on leave it (a chi-squared variance). Its scores lie about one
    of the panel's, drawn together by a random factor.
    """
    n_families = len(sizes)
    family = np.repeat(np.arange(n_families), sizes)
    group = random.integers(len(errors.sizes), size=n_families)
    freedom = errors.freedom[group]
    scale = errors.sizes[group] * np.sqrt(freedom / random.chisquare(freedom))
    centre = random.choice(errors.full, n_families)[family]
    spread = random.random((2, n_families)).max(axis=0)[family]
    shaken = errors.bandwidth * random.standard_normal(len(family))
    truth = centre + spread * (random.choice(errors.full, len(family)) - centre + shaken)
    own = random.standard_normal(len(family))
    shared = random.standard_normal(n_families)[family]
    core = truth + scale[family] * (np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own)
    return truth, core


def _kendall(first: Floats, second: Floats) -> float:
    """Return Kendall's tau of numbers without ties; much faster than scipy's for so few."""
    upper = np.triu_indices(len(first), k=1)
    agree = (first[:, None] > first[None])[upper] == (second[:, None] > second[None])[upper]
    return float(2 * agree.mean() - 1)
