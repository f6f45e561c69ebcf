"""Does the tool find what is there, in four kinds of simulated cohorts, and say when it cannot."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper.setup import Cell, Experiment, Measured, Outcome, Row, Setup, register
from paper.summary import grid
from paper.tables import Table, number
from sclcs._core import ALPHA, generator, show_progress, track
from sclcs.cohort import Cohort
from sclcs.report.figures import BLUE, ORANGE, finish
from sclcs.runs import run
from sclcs.spi import compute_batch as compute, resolve
from sclcs.stats import (
    ArraySource,
    Inquiry,
    Ranking,
    evaluate,
    find_criterion,
    make_question,
    rank,
    regret,
)

Floats = NDArray[np.float64]

N_PAIRS, N_SOURCES, N_TIMEPOINTS = 4, 2, 120
N_REGIONS = 2 * N_PAIRS
SHARED, PERSON, NOISE = 0.5, 0.12, 0.3  # by the size of the pairs' own signals
MEDIAN_OF_SQUARE = 0.4549  # of a standard normal variable


@dataclass(frozen=True)
class Kind:
    """What tells patients from controls.

    Parameters
    ----------
    name : str
    few : float
        A source that two regions of patients share, and nobody else.
    many : float
        How far all loadings of patients lie from those of controls.
    hidden : bool
        Whether the second half of every pair depends on the first; in controls on an
        independent copy of it.
    """

    name: str
    few: float = 0.0
    many: float = 0.0
    hidden: bool = False

    @property
    def has_effect(self) -> bool:
        """Whether there is anything to find."""
        return bool(self.few or self.many or self.hidden)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("no effect"),
        Kind("few edges", few=0.6),
        Kind("many edges", many=0.12),
        Kind("hidden", hidden=True),
    )
}


def make_cohort(kind: Kind, subjects: int, *axes: object, seed: int = 0) -> Cohort:
    """Simulate one cohort, half of it patients.

    Parameters
    ----------
    kind : Kind
    subjects : int
        Controls and patients together; patients are the second half.
    *axes : object
        What tells this cohort from others of the same seed.
    seed : int
        The population, which all cohorts of a seed share, and the base of all draws.

    Returns
    -------
    Cohort
        One window per subject, with ``diagnosis``.
    """
    population = generator(seed, "kinds", "population")
    loadings, change = population.normal(size=(2, N_REGIONS, N_SOURCES))
    draw = generator(seed, "kinds", kind.name, *axes)
    patient = (np.arange(subjects) >= subjects // 2)[:, None, None]
    mixing = SHARED * loadings + PERSON * draw.normal(size=(subjects, N_REGIONS, N_SOURCES))
    mixing = mixing + kind.many * patient * change
    signals = mixing @ draw.normal(size=(subjects, N_SOURCES, N_TIMEPOINTS))
    shared = draw.normal(size=(subjects, 1, N_TIMEPOINTS))
    signals[:, [0, N_REGIONS - 1]] += kind.few * patient * shared
    signals += _pairs(draw, subjects, patient if kind.hidden else np.zeros_like(patient))
    signals += NOISE * draw.normal(size=signals.shape)
    return Cohort(signals.astype(np.float32), _table(patient.ravel()))


def _pairs(draw: np.random.Generator, subjects: int, dependent: NDArray[np.bool_]) -> Floats:
    """Return the pairs' own signals (subject, region, time point)."""
    first, copy, size = draw.normal(size=(3, subjects, N_PAIRS, N_TIMEPOINTS))
    seen = np.where(dependent, first, copy)
    second = np.abs(size) * np.sign(seen**2 - MEDIAN_OF_SQUARE)
    return np.stack([first, second], axis=2).reshape(subjects, N_REGIONS, N_TIMEPOINTS)


def _table(patient: NDArray[np.bool_]) -> pd.DataFrame:
    names = [f"s{number:04d}" for number in range(len(patient))]
    return pd.DataFrame(
        {
            "subject": names,
            "window": 0,
            "diagnosis": np.where(patient, "patient", "control"),
        },
        index=[f"{name}_w0" for name in names],
    )


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
            task=TASK,
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


MEASURES = (
    "exact_found", "exact_cover", "exact_holds", "exact_size", "run_found", "run_cover",
    "run_holds", "regret", "panel", "confirmed", "spent",
)  # fmt: skip


def _cells(setup: Setup) -> list[Cell]:
    # A run that is stopped has some cohorts of every kind.
    return [{"case": name, "cohort": k} for k in range(setup.options.draws) for name in CASES]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    effort, seed = (TOY if setup.options.toy else FULL), setup.options.seed
    for cell in track(cells, "simulated cohorts"):
        yield cell, [measure_cohort(CASES[cell["case"]], cell["cohort"], seed, effort)]


def _operators(_: Setup) -> Sequence[str]:
    return list(dict.fromkeys(name for case in CASES.values() for name in case.operators))


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    rows: list[Row] = []
    for name in CASES:
        part = measured[measured["case"] == name]
        row: Row = {"case": name, "cohorts": len(part)}
        for measure in MEASURES:
            values = part[measure].dropna() if measure in part else pd.Series(dtype=float)
            row[measure] = values.mean()
            row[f"{measure}_n"] = len(values)
        row["regret_worst"] = part["regret"].max() if "regret" in part else math.nan
        rows.append(row)
    return pd.DataFrame(rows)


def _tables(summary: pd.DataFrame) -> list[Table]:
    records = [{str(k): v for k, v in row.items()} for row in summary.to_dict(orient="records")]
    return [_verdicts(records), _coverage(records)]


def _rate(row: dict[str, Any], name: str) -> str:
    """Return a share in percent, with its standard error if it counts cohorts."""
    rate, count = float(row[name]), int(row[f"{name}_n"])
    if count == 0:
        return "–"
    error = math.sqrt(max(rate * (1 - rate), 0.0) / count)
    return f"{100 * rate:.0f} ± {100 * error:.0f} % of {count}"


def _right(name: str) -> str:
    return "5 % by design" if not _has_effect(name) else "all"


def _has_effect(name: str) -> bool:
    return CASES[name].kind.has_effect


def _verdicts(records: list[dict[str, Any]]) -> Table:
    rows = [
        [
            row["case"],
            number(row["cohorts"], 0),
            _right(row["case"]),
            _rate(row, "exact_found"),
            _rate(row, "run_found"),
            f"{number(100 * row['regret'], 0)} ({number(100 * row['regret_worst'], 0)}) %",
            number(row["panel"], 0),
            number(row["confirmed"], 1),
            f"{number(100 * row['spent'], 0)} %",
        ]
        for row in records
    ]
    caption = (
        "How often “there is an effect” is said (family-wise 5 %): by the ranking of all operators "
        "on everybody, and by a run that may spend 30 % of its cost. Regret: what the run's choice "
        "loses on everybody, of best minus median, mean (worst); where a run says that there is no "
        "effect, it is that of the best operator among those it computed. Known: operators on "
        "everybody from the start; then how many were confirmed, and what was spent."
    )
    header = ["kind", "cohorts", "right", "exact: found", "run: found", "regret (worst)"]
    return Table("verdicts", caption, [*header, "known", "confirmed", "spent"], rows)


def _coverage(records: list[dict[str, Any]]) -> Table:
    rows = [
        [
            row["case"],
            f"{number(100 * row['exact_cover'], 1)} %",
            _rate(row, "exact_holds"),
            number(row["exact_size"], 1),
            f"{number(100 * row['run_cover'], 1)} %" if row["run_cover_n"] else "–",
            _rate(row, "run_holds"),
        ]
        for row in records
    ]
    caption = (
        "Coverage by kind of cohort. Exact: 95 % intervals of all operators that hold the score of "
        f"the population ({FULL.truth} subjects), and the set of those that could be the best "
        "(90 %) that holds the best of the population, with its size. Run: 95 % intervals of "
        "estimated operators that hold their exact score, and the run's set that holds the best "
        "of the cohort; over the cohorts in which the run names an effect."
    )
    header = ["kind", "exact: intervals", "exact: set holds best", "size"]
    return Table("coverage", caption, [*header, "run: intervals", "run: set holds best"], rows)


def _draw(outcome: Outcome) -> Figure:
    summary = outcome.summary
    figure, axes = grid(1, 2, (4.6, 2.8))
    places = np.arange(len(summary))
    left, right = axes[0]
    for panel, names, title in (
        (left, ("exact_found", "run_found"), "“There is an effect”"),
        (right, ("exact_cover", "run_cover"), "95 % intervals hold the truth"),
    ):
        for name, colour in zip(names, (BLUE, ORANGE), strict=True):
            label = "exact" if colour == BLUE else "run"
            panel.plot(100 * summary[name], places, "o", color=colour, label=label)
        panel.set_yticks(places, list(summary["case"]), fontsize=7)
        panel.invert_yaxis()
        panel.set_xlim(-3, 103)
        finish(panel, title, "%")
    left.legend(frameon=False, fontsize=7)
    return figure


EXPERIMENT = register(
    Experiment(
        name="kinds",
        title=f"Is the effect found in {len(KINDS)} kinds of cohorts, and is it said when not?",
        paper="not in the paper",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
        operators=_operators,
    )
)
