"""Estimation: how well operators of unseen families are estimated, and what confirming them wins.

Random halves of the families are "cheap": their scores on everybody are known. The others are
estimated from a core-set without labels. Then the most promising are confirmed one after another.
If slow operators are among those asked for, they are also estimated from the fast ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sclcs.core.progress import track
from sclcs.experiments.estimates.bars import RUNS_METHOD, RUNS_METHOD_OF_SUBJECTS
from sclcs.experiments.estimates.designs import DESIGNS
from sclcs.experiments.estimates.measures import measure_confirmation, measure_estimate
from sclcs.experiments.estimates.tables import PERMUTED, draw, make_tables, summarise
from sclcs.experiments.estimates.truth import (
    EVERYBODY,
    FAST,
    HALF,
    NO_SCANS,
    NOTHING,
    PANEL,
    Asked,
    Study,
)
from sclcs.experiments.options import Options
from sclcs.experiments.registry import Experiment, Measured, register, usual_operators
from sclcs.experiments.setup import Cell, Setup
from sclcs.spi import resolve

__all__ = ["ESTIMATION"]

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


ESTIMATION = register(
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
