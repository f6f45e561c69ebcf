"""What is measured in one simulated cohort, for every bar."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark import (
    ArraySource,
    Inquiry,
    Ranking,
    evaluate,
    find_criterion,
    make_kernel,
    make_question,
    rank,
)
from sclcs.benchmark.inference import effect_test
from sclcs.cohort.cohort import Cohort
from sclcs.core.progress import show_progress
from sclcs.experiments.soundness.groups import Groups, make_groups
from sclcs.experiments.soundness.old_scores import OLD_SCORES, old_statistics

__all__ = [
    "CONDITIONS",
    "FULL",
    "NOISIER",
    "OPERATORS",
    "TASK",
    "TOY",
    "Condition",
    "Effort",
    "measure_cohort",
]

Floats = NDArray[np.float64]

#: Cheap operators of different kinds; the two distances are twins of Pearson's correlation.
OPERATORS = (
    "cov_EmpiricalCovariance",
    "prec_EmpiricalCovariance",
    "prec_LedoitWolf",
    "spearmanr",
    "kendalltau",
    "xcorr_max_sig-True",
    "mi_gaussian",
    "pdist_euclidean",
    "pdist_cosine",
    "dcorr",
    "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-5",
    "pec",
)
TASK = "diagnosis"
ALPHA = 0.05
SIZES = ((22, 22), (40, 4), (4, 40), (100, 20))
NOISIER = 2.0
SMALL_EFFECT, CLEAR_EFFECTS = 0.06, (0.1, 0.25)


@dataclass(frozen=True)
class Condition:
    """One row of the table of bars.

    Parameters
    ----------
    bar : {"no effect", "site as covariate", "within site", "noisier patients", "power", "best set"}
        What is asked.
    groups : Groups
        Who is simulated.
    """

    bar: str
    groups: Groups

    @property
    def question(self) -> dict[str, Any]:
        """How the cohort is ranked."""
        if self.bar == "site as covariate":
            return {"covariates": ("site",)}
        return {"within": "site"} if self.bar == "within site" else {}


CONDITIONS = (
    *(Condition("no effect", Groups(*sizes)) for sizes in SIZES),
    *(
        Condition(bar, Groups(*sizes, confounded=True))
        for bar in ("site as covariate", "within site")
        for sizes in SIZES
    ),
    *(Condition("noisier patients", Groups(*sizes, noise=NOISIER)) for sizes in SIZES[:3]),
    *(
        Condition("power", Groups(*sizes, effect=SMALL_EFFECT * scale))
        for sizes, scale in (((30, 30), 1.0), ((45, 15), 1.2), ((15, 45), 1.2))
    ),
    *(
        Condition("best set", Groups(*sizes, effect=effect))
        for sizes in ((40, 40), (60, 20))
        for effect in CLEAR_EFFECTS
    ),
)


@dataclass(frozen=True)
class Effort:
    """How much is computed for one cohort.

    Parameters
    ----------
    permutations, draws : int
        Of a ranking.
    truth : int
        Subjects of each group from whom the true scores are taken.
    """

    permutations: int
    draws: int
    truth: int


FULL = Effort(999, 1000, 1200)
TOY = Effort(99, 40, 60)


def measure_cohort(condition: Condition, number: int, seed: int, effort: Effort) -> dict[str, Any]:
    """Simulate one cohort and say what its ranking said.

    Parameters
    ----------
    condition : Condition
    number : int
        Of the cohort.
    seed : int
    effort : Effort

    Returns
    -------
    dict
        ``found`` (whether "there is an effect" was said), ``share`` (explained share, averaged
        over operators), ``scattered`` (whether scatter was named); for power, the same
        question answered by each old score; for the best set, whether it holds the best and how
        large it is.
    """
    cohort = make_groups(condition.groups, condition.bar, number, seed=seed)
    source, asks_best = _matrices(cohort), condition.bar == "best set"
    with show_progress(visible=False):
        ranked = rank(
            source,
            TASK,
            permutations=0 if asks_best else effort.permutations,
            bootstrap=effort.draws if asks_best else 0,
            seed=seed + number,
            **condition.question,
        )
    row = _said(ranked)
    if not asks_best:
        row |= _scatter(ranked)
    if condition.bar == "power":
        row |= _old_power(source, effort.permutations, seed + number)
    if condition.bar == "best set":
        row |= _held(ranked, _true_best(condition.groups, seed, effort.truth))
    return row


def _matrices(cohort: Cohort) -> ArraySource:
    from sclcs.spi import compute

    found = compute(np.asarray(cohort.signals), list(OPERATORS), sample_keys=cohort.sample_ids)
    return ArraySource.from_dataarray(found, cohort)


def _said(ranked: Ranking) -> dict[str, Any]:
    effect = ranked.findings.get("effect", {}).get("p")
    return {
        "found": float(effect is not None and effect < ALPHA),
        "share": float(ranked.groups["score"].mean()),
    }


def _scatter(ranked: Ranking) -> dict[str, float]:
    p = ranked.findings.get("scatter", {}).get("scatter_p")
    return {"scattered": float(p is not None and p < ALPHA)}


def _old_power(source: ArraySource, permutations: int, seed: int) -> dict[str, float]:
    """Ask every old score whether there is an effect, by the same permutations."""
    question = make_question(source.samples, TASK)
    orders = question.permutations(permutations, seed)
    classes = np.asarray(question.values, dtype=np.int64)
    tables: dict[str, list[Floats]] = {name: [] for name in OLD_SCORES}
    for spi in source.operators:
        kernel = make_kernel(source.matrices(spi)).of_cases(question.cases)
        for name, values in old_statistics(kernel, classes, orders).items():
            tables[name].append(values)
    return {
        f"found by {name}": float(effect_test(np.stack(rows)).p.min() < ALPHA)
        for name, rows in tables.items()
    }


def _held(ranked: Ranking, best: str) -> dict[str, float]:
    rows = ranked.best_set
    names = [[row["spi"], *row["also"]] for row in rows.to_dict(orient="records")]
    return {"held": float(any(best in group for group in names)), "size": float(len(rows))}


@cache
def _true_best(groups: Groups, seed: int, subjects: int) -> str:
    """Return the operator with the largest share in the population, from many subjects."""
    many = Groups(subjects, subjects, groups.effect, groups.noise, groups.confounded)
    source = _matrices(make_groups(many, "truth", seed=seed))
    question = make_question(source.samples, TASK)
    inquiry = Inquiry(question, (find_criterion("share", question.target),))
    (found,) = evaluate(source, source.operators, [inquiry])
    return found.operators[int(np.nanargmax(found.point["share"]))]
