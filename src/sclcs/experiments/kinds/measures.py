"""What is measured in one simulated cohort: a budgeted run, the exact ranking, and the truth."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sclcs.benchmark import (
    ArraySource,
    Inquiry,
    Ranking,
    evaluate,
    find_criterion,
    make_question,
    rank,
)
from sclcs.benchmark.consistency import regret
from sclcs.benchmark.findings import ALPHA
from sclcs.cohort.cohort import Cohort
from sclcs.core.progress import show_progress
from sclcs.experiments.kinds.cohorts import KINDS, Kind, make_cohort
from sclcs.runs import run
from sclcs.spi import compute, resolve

__all__ = ["CASES", "FULL", "TOY", "Case", "Effort", "measure_cohort"]

TASK, SCORE = "diagnosis", "share"
#: Of a run. Small cohorts are cheap; without `exact_below` nothing would be estimated.
BUDGET, EXACT_BELOW = "30%", 0.0
LINEAR = (
    "prec_OAS", "spearmanr", "kendalltau", "xcorr_max_sig-True", "xme_gaussian_k1",
    "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-5", "icoh_multitaper_mean_fs-1_fmin-0_fmax-0-5",
    "plv_multitaper_mean_fs-1_fmin-0_fmax-0-5",
)  # fmt: skip
CHEAP_NONLINEAR = ("je_kernel_W-0.5", "ce_kernel_W-0.5", "mi_kernel_W-0.25", "te_kernel_W-0.25_k-1")
DEAR_NONLINEAR = ("dcorr", "hsic", "mi_kraskov_NN-4")


@dataclass(frozen=True)
class Case:
    """A row of the table: a kind of cohort, and which operators are asked about.

    Parameters
    ----------
    name : str
    kind : Kind
    cheap : bool
        Whether cheap operators can see what a line does not show; without them, what sees the
        hidden effect is a stranger to everything that is computed on everybody.
    """

    name: str
    kind: Kind
    cheap: bool = True

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators that compete."""
        cheap = CHEAP_NONLINEAR if self.cheap else ()
        return (*resolve("panel"), *LINEAR, *cheap, *DEAR_NONLINEAR)


CASES = {
    case.name: case
    for case in (
        *(Case(name, kind) for name, kind in KINDS.items()),
        Case("hidden, from strangers", KINDS["hidden"], cheap=False),
    )
}


@dataclass(frozen=True)
class Effort:
    """How much is computed for one cohort.

    Parameters
    ----------
    subjects : int
    permutations, draws : int
        Of a ranking.
    truth : int
        Subjects from whom the true scores are taken.
    """

    subjects: int
    permutations: int
    draws: int
    truth: int


FULL = Effort(60, 399, 400, 800)
TOY = Effort(24, 39, 20, 60)


def measure_cohort(case: Case, number: int, seed: int, effort: Effort) -> dict[str, Any]:
    """Simulate one cohort, rank it exactly and run it within a budget.

    Parameters
    ----------
    case : Case
    number : int
        Of the cohort.
    seed : int
    effort : Effort

    Returns
    -------
    dict
        ``exact_found`` and ``run_found``: whether an effect was named; ``exact_cover``,
        ``run_cover``: share of the 95 % intervals of exact scores that hold the population's
        score, and of estimated ones that hold the exact score; ``exact_holds``, ``run_holds``:
        whether the set of the best holds the population's, or the cohort's, best;
        ``regret`` of the run's choice; ``panel``: operators on everybody from the start.
    """
    cohort = make_cohort(case.kind, effort.subjects, number, seed=seed)
    with show_progress(visible=False):
        exact = rank(
            _matrices(cohort, case.operators),
            TASK,
            permutations=effort.permutations,
            bootstrap=effort.draws,
            seed=seed + number,
        )
        answer, ranking = _run(cohort, case, seed + number, effort)
    population = _population(case.kind, seed, effort.truth)[list(case.operators)]
    row = _exact(exact, population, case)
    return row | _budgeted(answer, ranking, exact, case)


def _run(cohort: Cohort, case: Case, seed: int, effort: Effort) -> tuple[dict[str, Any], Ranking]:
    """Do what ``sclcs run`` does, and return its answer and its ranking."""
    with tempfile.TemporaryDirectory() as folder:
        found = run(
            cohort,
            out=Path(folder) / "run",
            tasks=TASK,
            spis=list(case.operators),
            budget=BUDGET,
            exact_below=EXACT_BELOW,
            criteria="none",
            permutations=effort.permutations,
            bootstrap=effort.draws,
            seed=seed,
        )
        return dict(found.answer or {}), found.rankings[TASK]


def _exact(exact: Ranking, population: pd.Series, case: Case) -> dict[str, Any]:
    table = exact.table.set_index("spi")
    inside = _inside(table, population.reindex(table.index))
    p = exact.findings["effect"]["p"]
    row = {"exact_found": float(p < ALPHA), "exact_cover": float(inside.mean())}
    if case.kind.has_effect:
        row["exact_holds"] = float(table["best_set"][str(population.idxmax())])
        row["exact_size"] = float(len(exact.best_set))
    return row


def _budgeted(
    answer: dict[str, Any], ranking: Ranking, exact: Ranking, case: Case
) -> dict[str, Any]:
    said, scores = answer["tasks"][TASK], exact.scores
    steps = sum(len(step["operators"]) for step in answer["steps"])
    row = {
        "run_found": float(said["effect"]),
        "stopped": answer["stopped"],
        "panel": float(answer["operators"]["exact"] - steps),
        "confirmed": float(steps),
        "spent": float(answer["cost"]["share"]),
    }
    table = ranking.table.set_index("spi")
    guessed = table[table["source"] == "estimated"]
    if said["effect"] and len(guessed):
        row["run_cover"] = float(_inside(guessed, scores.reindex(guessed.index)).mean())
    if case.kind.has_effect:
        row["regret"] = float(regret(scores, scores[said["chosen"]]))
        if said["effect"]:
            row["run_holds"] = float(table["best_set"][str(scores.idxmax())])
    return row


def _inside(table: pd.DataFrame, values: pd.Series) -> pd.Series:
    known = table["low"].notna() & values.notna()
    return ((table["low"] <= values) & (values <= table["high"]))[known]


def _matrices(cohort: Cohort, operators: tuple[str, ...]) -> ArraySource:
    found = compute(np.asarray(cohort.signals), list(operators), sample_keys=cohort.sample_ids)
    return ArraySource.from_dataarray(found, cohort)


@cache
def _population(kind: Kind, seed: int, subjects: int) -> pd.Series:
    """Return the scores of all operators on many subjects."""
    operators = Case(kind.name, kind).operators
    source = _matrices(make_cohort(kind, subjects, "truth", seed=seed), operators)
    inquiry = Inquiry(make_question(source.samples, TASK), (find_criterion(SCORE),))
    (found,) = evaluate(source, source.operators, [inquiry])
    return pd.Series(found.point[SCORE], index=found.operators)
