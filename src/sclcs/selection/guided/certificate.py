"""The certificate: what a core-set is expected to be worth for operators nobody looked at.

Each family of the panel is left out in turn and a core-set is searched with the others. The
scores of the family on *that* core-set, read back through the line of the others, are
predictions of its full scores by a core-set that never saw it. Their errors are what unseen
operators will suffer. Rankings of imaginary unseen operators, with scores like the panel's
and errors like these, give the expected consistency and its interval. Families whose scores
rise and fall together from core-set to core-set are left out together: an unseen family
rarely has such a twin in the panel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.consistency import gains, ndcg
from sclcs.core.seeds import generator
from sclcs.selection.guided.objective import core_scores, fit_line, operator_weights
from sclcs.selection.guided.panel import Panel

__all__ = ["Certificate", "LeftOut", "certify", "kin", "leave_groups_out"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

DRAWS = 300
KIN = 0.7  # families more correlated than this count as one
FEWEST_GROUPS = 3
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
    """

    full: Floats
    implied: Floats
    groups: list[str]
    tasks: list[str]


@dataclass(frozen=True)
class Certificate:
    """Expected consistency on unseen operators, for one task.

    Parameters
    ----------
    task : str
    k : int
        Cut-off of nDCG.
    ndcg, kendall : tuple of float
        Expected value, and the lower and upper end of the interval.
    confidence : float
        Nominal coverage of the intervals.
    groups, operators : int
        What it rests on: groups of families that were left out in turn, and operators.
    unseen : int
        How many operators were imagined.
    """

    task: str
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


def leave_groups_out(
    panel: Panel, groups: Sequence[str], choose: Callable[[Flags], Integers | None]
) -> LeftOut:
    """Predict the scores of each group with a core-set that never saw it.

    Parameters
    ----------
    panel : Panel
    groups : sequence of str
        Of each operator.
    choose : callable
        From the operators that are left out (flags) to the candidates of a core-set that
        was chosen without them; None if there is none.

    Returns
    -------
    LeftOut
    """
    names = np.asarray(groups, dtype=object)
    implied = np.full_like(panel.full, np.nan)
    for name in sorted(set(groups)):
        out = np.asarray(names == name, dtype=np.bool_)
        rows = choose(out)
        scores = None if rows is None else core_scores(panel, rows)
        if scores is None:
            continue
        weights = operator_weights(panel.families, out)
        for task, full in enumerate(panel.full):
            line = fit_line(full, scores[task], weights)
            steep = max(line.slope, FLATTEST)  # a falling line would turn the order round
            implied[task, out] = (scores[task, out] - line.shift) / steep
    return LeftOut(panel.full, implied, list(groups), panel.tasks)


def certify(
    left_out: LeftOut,
    *,
    k: int = 10,
    unseen: int = 100,
    confidence: float = 0.9,
    seed: int = 0,
) -> list[Certificate]:
    """Turn errors on left-out families into the consistency to expect.

    Parameters
    ----------
    left_out : LeftOut
    k : int
        Cut-off of nDCG.
    unseen : int
        How many unseen operators to imagine.
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
    for task, name in enumerate(left_out.tasks):
        drawn = _imagine(
            left_out.full[task], left_out.implied[task], left_out.groups, k, unseen, seed
        )
        n_groups = len(set(left_out.groups))
        ndcg_ends = _interval(drawn[:, 0], confidence, n_groups)
        kendall_ends = _interval(drawn[:, 1], confidence, n_groups)
        counts = (n_groups, len(left_out.groups), unseen)
        certificates.append(Certificate(name, k, ndcg_ends, kendall_ends, confidence, *counts))
    return certificates


def _interval(drawn: Floats, confidence: float, n_groups: int) -> tuple[float, float, float]:
    """Return mean, low and high of an interval for one new family rather than for the mean.

    Draws from a handful of groups vary less than new families do; the ends are moved away
    from the mean by what a prediction from so few needs more than a percentile (Student's t,
    and the uncertainty of the mean itself).
    """
    from scipy.stats import norm, t

    upper = (1 + confidence) / 2
    wider = t.ppf(upper, n_groups - 1) / norm.ppf(upper) * np.sqrt(1 + 1 / n_groups)
    mean = float(drawn.mean())
    low, high = np.percentile(drawn, [100 * (1 - upper), 100 * upper])
    ends = np.clip([mean - wider * (mean - low), mean + wider * (high - mean)], -1, 1)
    return mean, float(ends[0]), float(ends[1])


def _imagine(  # noqa: PLR0917
    full: Floats, implied: Floats, groups: Sequence[str], k: int, unseen: int, seed: int
) -> Floats:
    """Return nDCG and Kendall (draw, 2) of imaginary unseen operators.

    Groups are drawn with replacement, because the errors of a group go together; an
    operator gets the score of one of the panel's, shaken a little, and its error.
    """
    random = generator(seed, "guided", "certificate")
    names = sorted(set(groups))
    members = [np.flatnonzero(np.asarray(groups, dtype=object) == name) for name in names]
    errors = implied - full
    width = 1.06 * full.std() * len(full) ** -0.2 / 2  # half of Silverman's bandwidth
    result = np.empty((DRAWS, 2))
    for draw in range(DRAWS):
        drawn = random.integers(len(names), size=len(names))
        picked = [members[number] for number in drawn]
        which = random.integers(len(picked), size=unseen)
        sizes = np.array([len(rows) for rows in picked])
        nth = (random.random(unseen) * sizes[which]).astype(np.int64)
        places = np.array([picked[number][n] for number, n in zip(which, nth, strict=True)])
        truth = full[places] + width * random.standard_normal(unseen)
        # Errors of operators the panel does not hold vary about those of their group.
        typical = np.array([np.sqrt(np.mean(errors[rows] ** 2)) for rows in picked])[which]
        own = 0.5 * typical * random.standard_normal(unseen)
        core = truth + errors[places] + own
        result[draw, 0] = ndcg(gains(truth), core, k)
        result[draw, 1] = _kendall(truth, core)
    return result


def _kendall(first: Floats, second: Floats) -> float:
    """Return Kendall's tau of numbers without ties; much faster than scipy's for so few."""
    upper = np.triu_indices(len(first), k=1)
    agree = (first[:, None] > first[None])[upper] == (second[:, None] > second[None])[upper]
    return float(2 * agree.mean() - 1)
