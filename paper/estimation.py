"""Estimation: how well operators of unseen families are estimated, and what confirming them wins.

Random halves of the families are "cheap": their scores on everybody are known. The others are
estimated from a core-set without labels. Then the most promising are confirmed one after another.
If slow operators are among those asked for, they are also estimated from the fast ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from paper.estimation_study import (
    CONFIRMED,
    DESIGNS,
    EVERYBODY,
    FAST,
    HALF,
    MEASURES,
    NO_SCANS,
    NOTHING,
    PANEL,
    Asked,
    Study,
    measure_confirmation,
    measure_estimate,
)
from paper.options import Options
from paper.setup import Cell, Experiment, Measured, Outcome, Setup, register, usual_operators
from paper.summary import grid
from paper.tables import Table, number
from sclcs._core import HALVES_REPEATABLE, track
from sclcs.report.figures import BLUE, ORANGE, finish
from sclcs.spi import resolve

LAST = 8  # confirmations
#: How a budgeted run draws its core-set.
RUNS_METHOD, RUNS_METHOD_OF_SUBJECTS = "random", "pairs"


@dataclass(frozen=True)
class Bar:
    """One bar.

    Parameters
    ----------
    name : str
    wanted : str
    column : str
        Of the summary.
    reached : callable
        From the values of the criteria to one.
    holds : callable
    tasks : {"all", "labels", "subject"}
    """

    name: str
    wanted: str
    column: str
    reached: Callable[[pd.Series], float]
    holds: Callable[[float], bool]
    tasks: str = "all"


def _mean(values: pd.Series) -> float:
    return float(values.mean())


def _least(values: pd.Series) -> float:
    return float(values.min())


def _most(values: pd.Series) -> float:
    return float(values.max())


def _at_least(limit: float) -> Callable[[float], bool]:
    return lambda value: value >= limit


def _at_most(limit: float) -> Callable[[float], bool]:
    return lambda value: value <= limit


BARS = (
    Bar("nDCG@10, mean", ">= 0.96", "ndcg@10", _mean, _at_least(0.96)),
    Bar("nDCG@10, worst split", ">= 0.88", "ndcg@10_worst", _least, _at_least(0.88)),
    Bar("Kendall, mean", ">= 0.62", "kendall", _mean, _at_least(0.62), "labels"),
    Bar("Kendall, fingerprinting", ">= 0.85", "kendall", _mean, _at_least(0.85), "subject"),
    Bar("90 % intervals, lowest criterion", ">= 0.88", "coverage", _least, _at_least(0.88)),
    Bar("90 % intervals, highest criterion", "<= 0.96", "coverage", _most, _at_most(0.96)),
    Bar("regret after confirmation", "<= 0.02", f"regret_{LAST}", _mean, _at_most(0.02)),
    Bar("chosen is in the best set", ">= 0.95", f"in_best_set_{LAST}", _mean, _at_least(0.95)),
    Bar("its set holds the best", ">= 0.90", f"set_holds_best_{LAST}", _mean, _at_least(0.9)),
)
PERMUTED_BAR = Bar("permuted: says no effect", ">= 0.95", "says_no_effect", _least, _at_least(0.95))


def bars_table(summary: pd.DataFrame) -> Table:
    """Put every bar beside what was reached, over the criteria that have an effect."""
    estimates = _as_a_run_does(summary)
    rows = [[*_row(bar, estimates), *_where_known(bar, estimates)] for bar in BARS]
    rows.append([*_row(PERMUTED_BAR, summary), *_where_known(PERMUTED_BAR, summary)])
    caption = (
        "Bars and what was reached: families split in halves, core-sets as a run draws them "
        "(random, for fingerprinting pairs) at the smallest size, criteria that have an "
        f"effect (family-wise p below 0.05). Confirmed: {LAST} operators. Order known: only "
        "criteria on whose order two halves of the subjects agree (Kendall at least "
        f"{HALVES_REPEATABLE}); of the others a run says that the cohort cannot answer."
    )
    header = ["bar", "wanted", "reached", "criteria", "holds", "order known", "criteria", "holds"]
    return Table("bars", caption, header, rows)


def _where_known(bar: Bar, rows: pd.DataFrame) -> list[str]:
    """Return what was reached where the cohort itself knows the order."""
    # Predictions are not made on halves; the explained share of the task speaks for them.
    agree = rows.groupby(["task", "given"])["halves_agree"].transform("max")
    return _row(bar, rows[agree >= HALVES_REPEATABLE])[2:]


def _as_a_run_does(summary: pd.DataFrame) -> pd.DataFrame:
    """Take the rows of the usual core-set, of criteria that have an effect."""
    # Predictions are not tested; they count where the explained share of the task is seen.
    seen = summary.groupby(["task", "given"])["effect_p"].transform("min") < 0.05
    subject = summary["task"] == "subject"
    usual = (~subject & (summary["method"] == RUNS_METHOD)) | (
        subject & (summary["method"] == RUNS_METHOD_OF_SUBJECTS)
    )
    part = summary[seen & usual & (summary["known"] == HALF)]
    smallest: pd.DataFrame = part[part["ratio"] == part["ratio"].min()]
    return smallest


def _row(bar: Bar, rows: pd.DataFrame) -> list[str]:
    if bar.tasks != "all":
        rows = rows[(rows["task"] == "subject") == (bar.tasks == "subject")]
    values = rows[bar.column].dropna() if bar.column in rows else pd.Series(dtype=float)
    if values.empty:
        return [bar.name, bar.wanted, "not measured", "0", "–"]
    value = bar.reached(values)
    return [
        bar.name,
        bar.wanted,
        number(value, 3),
        str(len(values)),
        "yes" if bar.holds(value) else "**no**",
    ]


PERMUTED = "permuted"
KEYS = ["task", "score", "given", "known", "method", "ratio"]


def summarise(measured: pd.DataFrame) -> pd.DataFrame:
    """Average over splits and repeats; keep the worst split beside it."""
    rows = []
    for values, part in measured.groupby(KEYS, sort=False, dropna=False):
        facts: dict[str, Any] = dict(zip(KEYS, values, strict=True))
        facts["effect_p"] = part["effect_p"].iloc[0]
        for name in MEASURES:
            if name in part and part[name].notna().any():
                facts[name] = part[name].mean()
        if "ndcg@10" in facts:
            facts["ndcg@10_worst"] = part["ndcg@10"].min()
        rows.append({**facts, "n": len(part)})
    return pd.DataFrame(rows)


def make_tables(summary: pd.DataFrame) -> list[Table]:
    """Return the tables: bars first, then estimates, confirmations and permutations."""
    estimates = summary[summary["method"] != PERMUTED]
    halves, slow = estimates[estimates["known"] == HALF], estimates[estimates["known"] != HALF]
    found = [
        bars_table(summary),
        _estimates(
            "estimates",
            halves,
            "Operators of families that were never computed on everybody, estimated from the "
            "others (random halves of the families). Halves: Kendall between two halves of the "
            "subjects, how well the cohort itself knows the order. Own: weight of the operator's "
            "own score on the core-set. Dropped: share that cannot be among the top five by its "
            "interval; kept: how often the true top five survived that.",
        ),
        _confirmations("confirmations", halves),
    ]
    if len(slow):
        caption = "Slow operators, estimated from the fast set or the panel on everybody."
        found += [_estimates("slow-from-fast", slow, caption), _confirmations("slow", slow)]
    return [*found, _permutations(summary)]


def _criterion(row: dict[Any, Any]) -> list[str]:
    given = "" if row["given"] == NOTHING else f" given {row['given']}"
    return [str(row["task"]), f"`{row['score']}`{given}"]


def _core(row: dict[Any, Any]) -> str:
    known = "" if row["known"] == HALF else f"{row['known']}, "
    if row["method"] == NO_SCANS:
        return f"{known}similarity prior (no scans)"
    if row["method"] == EVERYBODY:
        return f"{known}everybody (limit of geometry)"
    return f"{known}{row['method']} {number(100 * row['ratio'], 0)} %"


def _percent(row: dict[Any, Any], name: str, digits: int = 0) -> str:
    return f"{number(100 * row.get(name, float('nan')), digits)} %"


def _estimates(name: str, rows: pd.DataFrame, caption: str) -> Table:
    header = ["task", "score", "core-set", "nDCG@10 (worst)", "Kendall", "halves", "90 % cover"]
    lines = [
        [
            *_criterion(row),
            _core(row),
            f"{number(row['ndcg@10'], 3)} ({number(row['ndcg@10_worst'], 2)})",
            number(row["kendall"], 2),
            number(row.get("halves_agree", float("nan")), 2),
            number(row["coverage"], 2),
            number(row["own_weight"], 2),
            f"{_percent(row, 'dropped')} (kept {_percent(row, 'kept')})",
        ]
        for row in rows.to_dict(orient="records")
    ]
    return Table(name, caption, [*header, "own", "dropped"], lines)


def _confirmations(name: str, rows: pd.DataFrame) -> Table:
    header = ["task", "score", "core-set", *(f"after {k}" for k in CONFIRMED), "steps to the best"]
    lines = []
    for row in rows.to_dict(orient="records"):
        if not np.isfinite(row.get("regret_0", float("nan"))):
            continue
        cells = [
            f"{_percent(row, f'regret_{k}', 1)} / {_percent(row, f'in_best_set_{k}')} / "
            f"{_percent(row, f'set_holds_best_{k}')}"
            for k in CONFIRMED
        ]
        lines.append([*_criterion(row), _core(row), *cells, number(row["steps_to_best"], 1)])
    caption = (
        "After so many confirmations: regret (of best minus median) / the chosen operator is in "
        "the best set of the whole cohort / the run's own 90 % set holds the true best. Where no "
        "best set is known (predict), only the best itself counts. Steps to the best: "
        f"confirmations until the true best is among the known ({max(CONFIRMED) + 1}: never)."
    )
    return Table(name, caption, header, lines)


def _permutations(summary: pd.DataFrame) -> Table:
    rows = [
        [
            *_criterion(row),
            number(row["effect_p"], 3),
            _percent(row, "says_no_effect", 1),
        ]
        for row in summary[summary["method"] == PERMUTED].to_dict(orient="records")
        if np.isfinite(row["effect_p"])
    ]
    caption = (
        "Family-wise p of the cohort, and how often the run says 'no effect' to permuted ones."
    )
    return Table("permuted", caption, ["task", "score", "p", "says no effect"], rows)


def draw(outcome: Outcome) -> Figure:
    """Draw order and regret of every criterion, with and without scans."""
    part = outcome.summary[outcome.summary["known"] == HALF]
    part = part[part["method"] != PERMUTED]
    names = np.array([" ".join(_criterion(row)) for row in part.to_dict(orient="records")])
    figure, axes = grid(1, 2, (4.8, 3.6))
    for panel, name, title in (
        (axes[0][0], "kendall", "Kendall of unseen families"),
        (axes[0][1], "regret_8", "regret after 8 confirmations"),
    ):
        labels = sorted(set(names))
        for colour, method in ((ORANGE, NO_SCANS), (BLUE, "random")):
            chosen = (part["method"] == method).to_numpy()
            places = [labels.index(label) for label in names[chosen]]
            panel.plot(part.loc[chosen, name], places, "o", color=colour, label=method)
        panel.set_yticks(range(len(labels)), labels, fontsize=7)
        finish(panel, title, "", "")
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


#: Selectors that need neither a training nor scores; others with ``--methods``.
METHODS = ("random", "stratified", "pairs", "subjects", "kcenter")
#: What usually confounds; taken out of one more criterion where the cohort has it.
CONFOUNDS = ("site", "mean_fd", "motion")
FEWEST_SLOW = 8
CONFIRMED_METHODS = (NO_SCANS, RUNS_METHOD, RUNS_METHOD_OF_SUBJECTS)
TOY_OPERATORS = (
    "cov_EmpiricalCovariance", "prec_OAS", "kendalltau", "spearmanr", "xcorr_max_sig-True", "pec",
    "pdist_cityblock", "pdist_chebyshev", "mi_gaussian", "bary_euclidean_mean",
    "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-5", "phase_multitaper_mean_fs-1_fmin-0_fmax-0-5",
)  # fmt: skip


def _operators(setup: Setup) -> Sequence[str]:
    return TOY_OPERATORS if setup.options.toy else usual_operators(setup)


def _asked(setup: Setup) -> list[Asked]:
    """Return every criterion: fingerprinting, explained share, with confounds out, prediction."""
    found = []
    for task in setup.options.tasks:
        if task == "subject":
            found.append(Asked(task, "cohen_d"))
            continue
        found.append(Asked(task, "share"))
        columns = setup.cohort.samples.columns
        given = tuple(name for name in CONFOUNDS if name in columns and name != task)
        if given and not setup.options.toy:
            found.append(Asked(task, "share", given))
        if not setup.options.toy:
            found.append(Asked(task, "predict"))
    return found


def _methods(options: Options) -> list[str]:
    if options.toy:
        return ["random", "d-optimal"]
    if options.methods == Options().methods:
        return [*METHODS, *DESIGNS]
    return [*options.methods, *DESIGNS]


def _protocols(setup: Setup) -> list[tuple[str, int]]:
    """Return what is known on everybody: halves of the families; fast ones if there are slow."""
    found = [(HALF, number) for number in setup.options.split_numbers]
    fast = set(resolve("paper-fast"))
    if len([n for n in resolve(list(_operators(setup))) if n not in fast]) >= FEWEST_SLOW:
        found += [(FAST, 0), (PANEL, 0)]
    return found


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    choices = [(NO_SCANS, 0.0, options.seed), (EVERYBODY, 1.0, options.seed)]
    choices += [
        (method, ratio, seed)
        for method in _methods(options)
        for ratio in options.ratios_up_to(0.05)
        for seed in options.seeds()
    ]
    cells: list[Cell] = [
        {**_facts(asked), "method": method, "ratio": ratio, "repeat": seed, "known": known,
         "split": number}
        for asked in _asked(setup)
        for method, ratio, seed in choices
        for known, number in _protocols(setup)
    ]  # fmt: skip
    blank = {"method": PERMUTED, "ratio": 1.0, "repeat": options.seed, "known": HALF, "split": 0}
    return cells + [{**_facts(asked), **blank} for asked in _asked(setup)]


def _facts(asked: Asked) -> Cell:
    return {"task": asked.task, "score": asked.score, "given": " ".join(asked.given) or NOTHING}


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    everything = {tuple(_facts(asked).values()): asked for asked in _asked(setup)}
    study = Study(setup, list(_operators(setup)), list(everything.values()))
    for cell in track(cells, "estimates"):
        asked = everything[cell["task"], cell["score"], cell["given"]]
        truth = study.truth(asked)
        if cell["method"] == PERMUTED:
            yield cell, [{"effect_p": truth.p, "says_no_effect": 1 - truth.false_alarms}]
            continue
        sample = study.sample(cell["method"], cell["ratio"], cell["repeat"])
        known = study.known(cell["known"], cell["split"])
        row = measure_estimate(study, asked, truth, sample, known)
        # The long part once per split, for core-sets as a run draws them.
        if cell["method"] in CONFIRMED_METHODS and cell["repeat"] == setup.options.seed:
            row |= measure_confirmation(study, asked, truth, sample, known)
        yield cell, [row]


EXPERIMENT = register(
    Experiment(
        name="estimation",
        title="How well are operators of unseen families estimated, and what does confirming win?",
        paper="not in the paper",
        cells=_cells,
        measure=_measure,
        summarise=summarise,
        tables=make_tables,
        draw=draw,
        operators=_operators,
        version=3,
    )
)
