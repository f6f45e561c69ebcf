"""Which search finds a guided core-set: the same objective, minimised in different ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from sclcs.core.progress import track
from sclcs.experiments.agreement import MEASURES
from sclcs.experiments.figures import grid
from sclcs.experiments.guided_study import UnseenFamilies
from sclcs.experiments.registry import Experiment, Measured, Outcome, register
from sclcs.experiments.relaxed_search import relaxed
from sclcs.experiments.rival_searches import annealing, greedy
from sclcs.experiments.setup import Cell, Row, Setup
from sclcs.experiments.summary import aggregate
from sclcs.experiments.tables import Table, number, spread
from sclcs.report.style import BLUE, MUTED, ORANGE, finish
from sclcs.selection.guided.guide import Guide, Problem
from sclcs.selection.guided.objective import core_scores
from sclcs.selection.guided.search import Found

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SEARCHES", "SEARCHES_STUDY"]

LARGEST = 0.1  # larger core-sets are good whatever the search
LONGER = 10
PERCENT = 100.0
USUAL = "swaps"
#: Differences from the package's search on the same problem.
GAINS = {"ndcg@10": "ndcg@10 - swaps", "kendall": "kendall - swaps"}


class Search(NamedTuple):
    """A way to minimise the objective, and how many times the usual restarts it gets."""

    run: Callable[[Guide, Problem], Found]
    effort: int = 1


def _design(_guide: Guide, problem: Problem) -> Found:
    return Found(problem.starts[0], float("nan"), float("nan"), 0)


def _annealing(guide: Guide, problem: Problem) -> Found:
    """Anneal once, with the proposals of all restarts of the swaps."""
    proposals = guide.settings.restarts * guide.settings.proposals
    return replace(_design(guide, problem), rows=annealing(guide, problem, proposals))


def _greedy(guide: Guide, problem: Problem) -> Found:
    return replace(_design(guide, problem), rows=greedy(guide, problem))


def _relaxed(guide: Guide, problem: Problem) -> Found:
    return replace(_design(guide, problem), rows=relaxed(guide, problem))


def _relaxed_then_swaps(guide: Guide, problem: Problem) -> Found:
    return guide.search(replace(problem, starts=[relaxed(guide, problem)]))


def _weighted(guide: Guide, problem: Problem) -> Found:
    return guide.change(weights=True).search(problem)


#: Every search by name; the last two have more time.
SEARCHES = {
    "design": Search(_design),
    USUAL: Search(Guide.search),
    "annealing": Search(_annealing),
    "greedy": Search(_greedy),
    "relaxed": Search(_relaxed),
    "relaxed, then swaps": Search(_relaxed_then_swaps),
    "weighted": Search(_weighted),
    "swaps, longer": Search(Guide.search, LONGER),
    "annealing, longer": Search(_annealing, LONGER),
}


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    return [
        {"task": task, "split": split, "ratio": ratio, "repeat": seed, "search": search}
        for task in options.tasks
        for split in options.split_numbers
        for ratio in options.ratios_up_to(LARGEST)
        for seed in options.seeds()
        for search in SEARCHES
    ]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    study = UnseenFamilies.of(setup)
    problems = [list(members) for _, members in groupby(cells, key=_problem_of)]
    compiled = False
    for members in track(problems, "problems"):
        task, split, ratio, seed = _problem_of(members[0])
        guide = study.guide(study.splits["halves", split], task, seed)
        size = int(ratio * len(study.cohort))
        if not compiled:
            _compile(guide, size)
            compiled = True
        for cell in members:
            yield cell, [_run(study, guide, size, cell)]


def _problem_of(cell: Cell) -> tuple[str, int, float, int]:
    return cell["task"], cell["split"], cell["ratio"], cell["repeat"]


def _compile(guide: Guide, size: int) -> None:
    """Run every search shortly, so that no cell pays for its compilation."""
    quick = guide.change(proposals=1, restarts=1)
    problem = quick.problem(size)
    if problem is not None:
        for search in SEARCHES.values():
            search.run(quick, problem)


def _run(study: UnseenFamilies, guide: Guide, size: int, cell: Cell) -> Row:
    """Search, and measure on the held-out families; NaN if no score exists."""
    search = SEARCHES[cell["search"]]
    guide = guide.change(restarts=search.effort * guide.settings.restarts)
    problem = guide.problem(size)
    split, task = study.splits["halves", cell["split"]], cell["task"]
    if problem is None:
        nothing = {"objective": float("nan"), "cpu_seconds": float("nan")}
        return nothing | study.measure(task, None, split)
    began = time.process_time()
    found = search.run(guide, problem)
    seconds = time.process_time() - began
    on_panel = core_scores(guide.panel, found.rows, found.weights)
    value = float("nan") if on_panel is None else problem.objective.value(on_panel)
    scores = study.scores(task, found.rows, found.weights)
    return {"objective": value, "cpu_seconds": seconds} | study.measure(task, scores, split)


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    problem = ["task", "split", "ratio", "repeat"]
    usual = measured[measured["search"] == USUAL].set_index(problem)
    same = usual.reindex(pd.MultiIndex.from_frame(measured[problem]))
    for measure, gain in GAINS.items():
        measured[gain] = measured[measure].to_numpy() - same[measure].to_numpy()
    keys = ["task", "ratio", "search"]
    good = aggregate(measured, keys, [*MEASURES, *GAINS.values()])
    costs = aggregate(measured, keys, ["objective", "cpu_seconds"], worst="max")
    return pd.concat([costs, good], ignore_index=True)


def _tables(summary: pd.DataFrame) -> list[Table]:
    header = ["share", "search", "objective", "CPU s"]
    header += ["nDCG@5", "nDCG@10", "nDCG@20", "Kendall", "nDCG@10 - swaps", "Kendall - swaps"]
    tables = []
    for task, part in summary.groupby("task", sort=False):
        found = {
            (row["ratio"], row["search"], row["measure"]): row
            for row in part.to_dict(orient="records")
        }
        rows = [
            [
                f"{ratio:g}",
                str(search),
                number(found[ratio, search, "objective"]["mean"], 4),
                number(found[ratio, search, "cpu_seconds"]["mean"], 2),
                *(_percent(found[ratio, search, name]) for name in (*MEASURES, *GAINS.values())),
            ]
            for ratio, search in dict.fromkeys((ratio, search) for ratio, search, _ in found)
        ]
        tables.append(Table(str(task), _caption(str(task)), header, rows))
    return tables


def _percent(row: Mapping[Any, Any]) -> str:
    return spread(PERCENT * row["mean"], PERCENT * row["std"], PERCENT * row["worst"])


def _caption(task: str) -> str:
    return (
        f"Searches for a guided core-set, task {task}: the objective reached on the panel "
        "(mean), CPU seconds of the search, and the consistency on families that did not "
        "guide, in percent: mean ±std (worst). The last two columns are differences from "
        "`swaps` on the same panels, sizes and seeds."
    )


def _draw(outcome: Outcome) -> Figure:
    summary = outcome.summary
    tasks, ratios = list(dict.fromkeys(summary["task"])), sorted(set(summary["ratio"]))
    figure, axes = grid(len(tasks), len(ratios), (4.6, 2.9))
    for row, task in enumerate(tasks):
        for column, ratio in enumerate(ratios):
            part = summary[(summary["task"] == task) & (summary["ratio"] == ratio)]
            panel = axes[row][column]
            _dots(panel, part)
            finish(panel, f"{task}, {PERCENT * ratio:g} %", "nDCG@10, unseen families (bar: worst)")
    return figure


def _dots(axes: Axes, part: pd.DataFrame) -> None:
    """Draw mean, spread and worst case of each search, with its time."""
    found = part[part["measure"] == "ndcg@10"].set_index("search")
    seconds = part[part["measure"] == "cpu_seconds"].set_index("search")["mean"]
    places = list(range(len(found)))
    axes.errorbar(
        found["mean"], places, xerr=found["std"].fillna(0.0), fmt="o", color=BLUE, ecolor=MUTED
    )
    axes.plot(found["worst"], places, "|", color=ORANGE, markersize=9)
    axes.set_yticks(places, [f"{name} ({seconds[name]:.2f} s)" for name in found.index])
    axes.invert_yaxis()
    left = min(0.98, float(found["worst"].drop("design", errors="ignore").min())) - 0.01
    axes.set_xlim(left, 1.005)
    # A design that nothing guided may be far worse than all searches, which would hide them.
    for place, mean in zip(places, found["mean"], strict=True):
        if mean < left:
            axes.text(left, place, f" ← {mean:.2f}", va="center", fontsize=8, color=BLUE)


SEARCHES_STUDY = register(
    Experiment(
        name="searches",
        title="Which search finds a guided core-set, and do weights help?",
        paper="nothing: there are no guided core-sets",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
