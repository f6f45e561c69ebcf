"""The certificate: what a core-set is expected to be worth for operators nobody looked at.

Each family of the panel is left out in turn and a core-set is searched with the others. The
scores of the family on *that* core-set, read back through the line of the others, are
predictions of its full scores by a core-set that never saw it. Their errors are what unseen
operators will suffer. Rankings of imaginary unseen operators, with scores like the panel's
and errors like these, give the expected consistency and its interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.consistency import gains, ndcg
from sclcs.core.progress import track
from sclcs.core.seeds import generator
from sclcs.selection.guided.objective import core_scores, fit_line, operator_weights
from sclcs.selection.guided.panel import Panel

__all__ = ["Certificate", "LeftOut", "certify", "leave_families_out"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DRAWS = 300
FLATTEST = 0.05  # a line flatter than this carries no order; errors are counted as if at it


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Full scores, and what core-sets that never saw the operator's family say of them.

    Parameters
    ----------
    full, implied : arrays, shape (task, operator)
    families : list of str
    tasks : list of str
    """

    full: Floats
    implied: Floats
    families: list[str]
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
    families, operators : int
        What it rests on.
    unseen : int
        How many operators were imagined.
    """

    task: str
    k: int
    ndcg: tuple[float, float, float]
    kendall: tuple[float, float, float]
    confidence: float
    families: int
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
            "families": self.families,
            "operators": self.operators,
            "unseen_operators": self.unseen,
        }


def leave_families_out(panel: Panel, choose: Callable[[str], Integers | None]) -> LeftOut:
    """Predict the scores of each family with a core-set that never saw it.

    Parameters
    ----------
    panel : Panel
    choose : callable
        From the name of a family to the candidates of a core-set that was chosen without
        it; None if there is none.

    Returns
    -------
    LeftOut
    """
    families = np.asarray(panel.families, dtype=object)
    implied = np.full_like(panel.full, np.nan)
    for name in track(sorted(set(panel.families)), "leaving families out"):
        rows = choose(name)
        scores = None if rows is None else core_scores(panel, rows)
        if scores is None:
            continue
        out = np.flatnonzero(families == name)
        weights = operator_weights(panel.families, name)
        for task, full in enumerate(panel.full):
            line = fit_line(full, scores[task], weights)
            steep = max(line.slope, FLATTEST)  # a falling line would turn the order round
            implied[task, out] = (scores[task, out] - line.shift) / steep
    return LeftOut(panel.full, implied, panel.families, panel.tasks)


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
            left_out.full[task], left_out.implied[task], left_out.families, k, unseen, seed
        )
        tails = [50 * (1 - confidence), 50 * (1 + confidence)]
        ends = np.percentile(drawn, tails, axis=0)
        values = [(float(drawn[:, m].mean()), *map(float, ends[:, m])) for m in (0, 1)]
        counts = (len(set(left_out.families)), len(left_out.families), unseen)
        both = (_three(values[0]), _three(values[1]))
        certificates.append(Certificate(name, k, *both, confidence, *counts))
    return certificates


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    value, low, high = values
    return value, low, high


def _imagine(  # noqa: PLR0917
    full: Floats, implied: Floats, families: Sequence[str], k: int, unseen: int, seed: int
) -> Floats:
    """Return nDCG and Kendall (draw, 2) of imaginary unseen operators.

    Families are drawn with replacement, because the errors of a family go together; an
    operator gets the score of one of the panel's, shaken a little, and its error.
    """
    from scipy.stats import kendalltau

    random = generator(seed, "guided", "certificate")
    names = sorted(set(families))
    members = [np.flatnonzero(np.asarray(families, dtype=object) == name) for name in names]
    errors = implied - full
    width = 1.06 * full.std() * len(full) ** -0.2 / 2  # half of Silverman's bandwidth
    result = np.empty((DRAWS, 2))
    for draw in range(DRAWS):
        drawn = random.integers(len(names), size=len(names))
        picked = [members[number] for number in drawn]
        which = random.integers(len(picked), size=unseen)
        places = np.array([random.choice(picked[number]) for number in which])
        truth = full[places] + width * random.standard_normal(unseen)
        # Operators of one family share half of an error's variance, as a family's do.
        typical = np.array([np.sqrt(np.mean(errors[group] ** 2)) for group in picked])[which]
        own = 0.5 * typical * random.standard_normal(unseen)
        core = truth + errors[places] + own
        result[draw, 0] = ndcg(gains(truth), core, k)
        result[draw, 1] = kendalltau(truth, core).statistic
    return result
