"""How well core-sets rank operators of families that never guided them.

Operators are split by family. One part guides (at most twelve operators, as many families as
there are), the other is only ever looked at to be scored. Two protocols: ``halves``, random
halves of the families, several splits; and ``default``, the package's default panel against
all families it has no operator of. Methods that no operator guides choose once and are scored
on the held-out families of every split.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.consistency import agreement
from sclcs.benchmark.fc_source import FCSource
from sclcs.cohort.cohort import Cohort
from sclcs.core.progress import track
from sclcs.experiments.guided_splits import Split, default_split, random_half
from sclcs.selection.guided.guide import Guide, Settings
from sclcs.selection.guided.objective import core_scores
from sclcs.selection.guided.panel import Panel, make_panel
from sclcs.selection.guided.search import Constraints
from sclcs.selection.registry import SELECTORS
from sclcs.selection.sample_order import id_order
from sclcs.selection.select import select

__all__ = ["Plan", "guided_study", "measure", "of_task", "settings_for", "summarise"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

CHEAP = ("random", "pairs", "stratified")
MEASURES = ("ndcg@5", "ndcg@10", "ndcg@20", "kendall")


@dataclass(frozen=True)
class Plan:
    """What to run.

    Parameters
    ----------
    tasks : tuple of str
    ratios : tuple of float
    splits : int
        Random halves of the families.
    seeds, few_seeds : int
        Core-sets per split, task and ratio: at the ratios in question, and at the others.
    focus : tuple of float
        The ratios in question.
    first : int
        Number of the first split and of the first seed: another one is a fresh repetition.
    methods : tuple of str
        Other methods to compare with.
    trained_seeds : int
        Trainings of each method that trains; from seed 0.
    epochs : int, optional
        Of methods that train; by default their own.
    rules : mapping of str to mapping
        Variants of guided, by name, and how their settings differ from the defaults.
    default_panel : bool
        Whether to run the protocol ``default`` too.
    """

    tasks: tuple[str, ...] = ("diagnosis", "subject")
    ratios: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.3, 0.5)
    splits: int = 5
    seeds: int = 5
    few_seeds: int = 1
    focus: tuple[float, ...] = (0.02, 0.05)
    first: int = 0
    methods: tuple[str, ...] = CHEAP
    trained_seeds: int = 1
    epochs: int | None = None
    rules: dict[str, dict[str, Any]] = field(default_factory=lambda: {"guided": {}})
    default_panel: bool = True

    def numbers(self, how_many: int) -> range:
        """Return that many numbers from the first."""
        return range(self.first, self.first + how_many)

    def seeds_at(self, ratio: float) -> range:
        """Return the seeds of a ratio."""
        return self.numbers(self.seeds if ratio in self.focus else self.few_seeds)


def guided_study(
    cohort: Cohort, fc: FCSource, plan: Plan | None = None
) -> Iterator[dict[str, Any]]:
    """Run the study.

    Parameters
    ----------
    cohort : Cohort
        With the columns ``site`` and ``diagnosis``.
    fc : FCSource
        Many operators on all samples.
    plan : Plan, optional

    Yields
    ------
    dict
        One row of results: protocol, split, seed, task, ratio, method, the measured
        consistency on held-out families and, for guided core-sets, the certificate.
    """
    plan = plan or Plan()
    order = id_order(cohort)
    ordered = cohort.take(order)
    everything = make_panel(ordered, plan.tasks, list(fc.operators), fc=fc, memory_gb=1e3)
    splits = [random_half(everything.families, number) for number in plan.numbers(plan.splits)]
    if plan.default_panel:
        splits.append(default_split(everything))
    yield from _others(cohort, np.argsort(order), everything, splits, plan)
    for split in splits:
        yield from _guided_by(ordered, everything, split, plan)


def _guided_by(
    cohort: Cohort, everything: Panel, split: Split, plan: Plan
) -> Iterator[dict[str, Any]]:
    """Let the guiding operators of a split guide, and measure on those held out."""
    guiding, held_out = everything.only(split.guiding), everything.only(split.held_out)
    for name in plan.tasks:
        panel, others = of_task(guiding, name), of_task(held_out, name)
        cells = [(ratio, seed) for ratio in plan.ratios for seed in plan.seeds_at(ratio)]
        for ratio, seed in track(cells, f"{split.protocol} {split.number} {name}"):
            for rule, changes in plan.rules.items():
                row = _guided(cohort, panel, int(ratio * len(cohort)), seed, changes)
                measured = measure(others, row.pop("rows"), row.pop("weights"))
                facts = {"task": name, "ratio": ratio, "seed": seed, "method": rule}
                yield split.facts() | facts | row | measured


def _others(
    cohort: Cohort, place: Integers, everything: Panel, splits: list[Split], plan: Plan
) -> Iterator[dict[str, Any]]:
    """Choose with every other method and measure on every split."""
    held_out = [everything.only(split.held_out) for split in splits]
    for method in track(plan.methods, "other methods"):
        for facts, rows in _chosen(cohort, method, plan):
            for split, operators in zip(splits, held_out, strict=True):
                measured = measure(of_task(operators, facts["task"]), np.sort(place[rows]))
                yield split.facts() | facts | {"method": method} | measured


def _chosen(cohort: Cohort, method: str, plan: Plan) -> Iterator[tuple[dict[str, Any], Integers]]:
    """Choose for every task, ratio and seed, once where the task does not matter.

    Trainings are found in the cache by the cohort as it was given, hence its own order here.
    """
    selector = SELECTORS[method]
    trains = selector.needs_training
    by_task = trains and "task" in selector.parameters
    known: dict[tuple[str, float, int], Integers] = {}
    for task, ratio in itertools.product(plan.tasks, plan.ratios):
        options: dict[str, Any] = {"task": task} if by_task else {}
        if trains and plan.epochs is not None:
            options["epochs"] = plan.epochs
        for seed in range(plan.trained_seeds) if trains else plan.seeds_at(ratio):
            key = (task if by_task else "", ratio, seed)
            if key not in known:
                core = select(cohort, method, ratio, seed, **options)
                known[key] = core.rows(cohort.sample_ids)
            yield {"task": task, "ratio": ratio, "seed": seed}, known[key]


def settings_for(task: str, changes: dict[str, Any]) -> Settings:
    """Return the settings that ``select(method="guided")`` has by default, with changes."""
    windows = 2 if task == "subject" else 1
    return replace(Settings(Constraints(("site", "diagnosis")), windows=windows), **changes)


def _guided(
    cohort: Cohort, panel: Panel, size: int, seed: int, changes: dict[str, Any]
) -> dict[str, Any]:
    began = time.process_time()
    settings = settings_for(panel.tasks[0], changes)
    guided = Guide(cohort, panel, settings, seed).choose(size)
    row: dict[str, Any] = {"rows": guided.rows, "weights": guided.weights}
    row["distrust"] = guided.distrust[0] if guided.distrust else None
    row["cpu_seconds"] = round(time.process_time() - began, 2)
    for item in guided.certificates:
        row["groups"] = item.groups
        for what, values in (("ndcg", item.ndcg), ("kendall", item.kendall)):
            ends = zip(("expected", "low", "high"), values, strict=True)
            row |= {f"{what}_{end}": value for end, value in ends}
    return row


def of_task(panel: Panel, name: str) -> Panel:
    """Return the panel with one of its tasks."""
    task = panel.tasks.index(name)
    return replace(panel, codes=[panel.codes[task]], full=panel.full[[task]], tasks=[name])


def measure(held_out: Panel, rows: Integers, weights: Floats | None = None) -> dict[str, float]:
    """Return the consistency of operators' scores on a core-set; NaN if there are none.

    Parameters
    ----------
    held_out : Panel
        Operators that did not guide, with one task.
    rows : array of int
        Candidates of the core-set.
    weights : array, optional
        Of each row, their mean one.

    Returns
    -------
    dict of str to float
        :data:`MEASURES`.
    """
    scores = core_scores(held_out, rows, weights)
    if scores is None:
        return dict.fromkeys(MEASURES, float("nan"))
    measured = agreement(held_out.full[0], scores[0])
    return {name: measured[name] for name in MEASURES}


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Return mean, spread and worst case per protocol, task, ratio and method.

    Parameters
    ----------
    results : DataFrame
        Rows of :func:`guided_study`.

    Returns
    -------
    DataFrame
        With ``ndcg_covered`` and ``kendall_covered``, the share of certificates whose
        interval held the measured value. Standard deviations have ddof 1.
    """
    table = results.copy()
    for what, measured in (("ndcg", "ndcg@10"), ("kendall", "kendall")):
        inside = table[measured].between(table[f"{what}_low"], table[f"{what}_high"])
        table[f"{what}_covered"] = inside.astype(float).where(table[f"{what}_low"].notna())
    groups = table.groupby(["protocol", "task", "ratio", "method"], sort=True)
    return groups.agg(
        core_sets=("seed", "size"),
        undefined=("ndcg@10", lambda values: int(values.isna().sum())),
        ndcg5=("ndcg@5", "mean"),
        ndcg10=("ndcg@10", "mean"),
        ndcg10_std=("ndcg@10", "std"),
        ndcg10_worst=("ndcg@10", "min"),
        ndcg20=("ndcg@20", "mean"),
        kendall=("kendall", "mean"),
        kendall_std=("kendall", "std"),
        kendall_worst=("kendall", "min"),
        ndcg10_expected=("ndcg_expected", "mean"),
        ndcg_covered=("ndcg_covered", "mean"),
        kendall_expected=("kendall_expected", "mean"),
        kendall_covered=("kendall_covered", "mean"),
        cpu_seconds=("cpu_seconds", "mean"),
    ).reset_index()
