"""How well guided core-sets rank operators of families that never guided them.

Operators are split by family. One part guides (at most twelve operators, as many families as
there are), the other is only ever looked at to be scored. Two protocols: ``halves``, random
halves of the families, several splits; and ``default``, the package's default panel against
all families it has no operator of.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark.consistency import agreement
from sclcs.benchmark.fc_source import FCSource
from sclcs.cohort.cohort import Cohort
from sclcs.core.progress import track
from sclcs.core.seeds import generator
from sclcs.selection.guided.guide import Guide, Settings
from sclcs.selection.guided.method import DEFAULT_PANEL
from sclcs.selection.guided.objective import core_scores
from sclcs.selection.guided.panel import Panel, make_panel
from sclcs.selection.guided.search import Constraints
from sclcs.selection.registry import SELECTORS
from sclcs.selection.sample_order import id_order

__all__ = ["Plan", "guided_study", "summarise"]

Integers = NDArray[np.int64]

MOST_GUIDING = 12
FEWEST_HELD_OUT = 25  # nDCG@10 among fewer operators is easy
FEWEST_FAMILIES = 4
BASELINES = ("random", "pairs", "stratified")
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
    seeds : int
        Core-sets per split, task and ratio.
    first : int
        Number of the first split and of the first seed: another one is a fresh repetition.
    """

    tasks: tuple[str, ...] = ("diagnosis", "subject")
    ratios: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.3, 0.5)
    splits: int = 5
    seeds: int = 5
    first: int = 0

    def numbers(self, how_many: int) -> range:
        """Return that many numbers from the first."""
        return range(self.first, self.first + how_many)


@dataclass(frozen=True, eq=False)
class _Split:
    protocol: str
    number: int
    guiding: Integers
    held_out: Integers


def guided_study(
    cohort: Cohort, fc: FCSource, plan: Plan | None = None, *, default_panel: bool = True
) -> Iterator[dict[str, Any]]:
    """Run the study.

    Parameters
    ----------
    cohort : Cohort
        With the columns ``site`` and ``diagnosis``.
    fc : FCSource
        Many operators on all samples.
    plan : Plan, optional
    default_panel : bool
        Whether to run the protocol ``default`` too.

    Yields
    ------
    dict
        One row of results: protocol, split, seed, task, ratio, method, the measured
        consistency on held-out families and, for guided core-sets, the certificate.
    """
    plan = plan or Plan()
    ordered = cohort.take(id_order(cohort))
    everything = make_panel(ordered, plan.tasks, list(fc.operators), fc=fc, memory_gb=1e3)
    splits = [_half(everything.families, number) for number in plan.numbers(plan.splits)]
    if default_panel:
        splits.append(_default(everything))
    for split in splits:
        guiding = everything.only(split.guiding)
        for task in range(len(plan.tasks)):
            cells = [(ratio, seed) for ratio in plan.ratios for seed in plan.numbers(plan.seeds)]
            for ratio, seed in track(cells, f"{split.protocol} {split.number} {plan.tasks[task]}"):
                size = int(ratio * len(ordered))
                for row in _core_sets(ordered, guiding, task, size, seed):
                    measured = _measure(everything, split.held_out, task, row.pop("rows"))
                    facts = {"protocol": split.protocol, "split": split.number, "ratio": ratio}
                    yield facts | row | measured


def _core_sets(
    cohort: Cohort, panel: Panel, task: int, size: int, seed: int
) -> Iterator[dict[str, Any]]:
    name = panel.tasks[task]
    for method in BASELINES:
        selector = SELECTORS[method]
        rows = selector.choose(cohort, size, seed, **selector.complete({})).rows
        yield {"task": name, "seed": seed, "method": method, "rows": rows}
    began = time.process_time()
    one = replace(panel, codes=[panel.codes[task]], full=panel.full[[task]], tasks=[name])
    settings = Settings(Constraints(("site", "diagnosis")), windows=2 if name == "subject" else 1)
    guided = Guide(cohort, one, settings, seed).choose(size)
    seconds = time.process_time() - began
    row = {"task": name, "seed": seed, "method": "guided", "rows": guided.rows}
    row |= {"distrust": guided.distrust, "cpu_seconds": round(seconds, 2)}
    for item in guided.certificates:
        row["groups"] = item.groups
        for what, values in (("ndcg", item.ndcg), ("kendall", item.kendall)):
            ends = zip(("expected", "low", "high"), values, strict=True)
            row |= {f"{what}_{end}": value for end, value in ends}
    yield row


def _measure(everything: Panel, held_out: Integers, task: int, rows: Integers) -> dict[str, float]:
    """Return the consistency of the held-out operators' scores; NaN if there are none."""
    one = replace(everything, codes=[everything.codes[task]], tasks=[everything.tasks[task]])
    scores = core_scores(one, rows)
    if scores is None:
        return dict.fromkeys(MEASURES, float("nan"))
    measured = agreement(everything.full[task, held_out], scores[0, held_out])
    return {name: measured[name] for name in MEASURES}


def _half(families: Sequence[str], number: int) -> _Split:
    """Split the families at random until both sides are large enough to mean something."""
    names = sorted(set(families))
    all_families = np.asarray(families, dtype=object)
    random = generator(0, "guided-study", "split", number)
    while True:
        side = {name for name in names if random.random() < 0.5}
        inside = np.array([name in side for name in all_families])
        enough = min(len(side), len(names) - len(side)) >= FEWEST_FAMILIES
        if enough and min(inside.sum(), (~inside).sum()) >= FEWEST_HELD_OUT:
            guiding = _round_robin(all_families, np.flatnonzero(inside), random)
            return _Split("halves", number, guiding, np.flatnonzero(~inside))


def _round_robin(families: NDArray[Any], places: Integers, random: np.random.Generator) -> Integers:
    """Pick operators of each family in turn."""
    shuffled = random.permutation(places)
    turns = pd.Series(families[shuffled]).groupby(families[shuffled]).cumcount().to_numpy()
    return np.sort(shuffled[np.argsort(turns, kind="stable")][:MOST_GUIDING])


def _default(everything: Panel) -> _Split:
    from sclcs.spi import resolve

    wanted = set(resolve(list(DEFAULT_PANEL)))
    guiding = np.array([k for k, name in enumerate(everything.operators) if name in wanted])
    seen = {everything.families[place] for place in guiding}
    held_out = [k for k, family in enumerate(everything.families) if family not in seen]
    return _Split("default", 0, guiding, np.array(held_out))


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
        interval held the measured value.
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
        kendall_worst=("kendall", "min"),
        ndcg10_expected=("ndcg_expected", "mean"),
        ndcg_covered=("ndcg_covered", "mean"),
        kendall_expected=("kendall_expected", "mean"),
        kendall_covered=("kendall_covered", "mean"),
        cpu_seconds=("cpu_seconds", "mean"),
    ).reset_index()
