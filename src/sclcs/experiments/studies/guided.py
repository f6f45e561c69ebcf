"""How well core-sets of every method rank operators of families that nobody looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pandas as pd

from sclcs.core.progress import track
from sclcs.estimation.kriging import FEWEST_KNOWN
from sclcs.experiments.figures import curves_by_ratio, grid
from sclcs.experiments.guided_study import UnseenFamilies, certified
from sclcs.experiments.registry import Experiment, Measured, Outcome, register
from sclcs.experiments.setup import Cell, Setup, asks_task
from sclcs.experiments.summary import PRIOR, method_order
from sclcs.experiments.tables import Table, number, spread
from sclcs.experiments.yardsticks import spread_known
from sclcs.report.style import BLUE, INK, ORANGE, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["GUIDED_STUDY", "summarise"]

GUIDED = "guided"
#: What is certified, and the column in which it was measured.
CERTIFIED = {"ndcg": "ndcg@10", "kendall": "kendall"}
PERCENT = 100.0


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    splits = [("halves", number) for number in options.split_numbers]
    if not options.toy:  # a toy has no default panel
        splits.append(("default", 0))
    choices = [
        (method, ratio, seed)
        for method in options.methods
        for ratio in options.ratios
        for seed in options.seeds()
    ]
    return [
        {
            "protocol": protocol,
            "split": split,
            "task": task,
            "method": method,
            "ratio": ratio,
            "repeat": seed,
        }
        for protocol, split in splits
        for task in options.tasks
        for method, ratio, seed in (*choices, (PRIOR, 0.0, options.seed))
    ]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    study = UnseenFamilies.of(setup)
    named = (GUIDED, PRIOR)
    yield from _others(setup, study, [cell for cell in cells if cell["method"] not in named])
    yield from _prior(study, [cell for cell in cells if cell["method"] == PRIOR])
    yield from _guided(study, [cell for cell in cells if cell["method"] == GUIDED])


def _others(setup: Setup, study: UnseenFamilies, cells: Sequence[Cell]) -> Iterator[Measured]:
    """Choose with every other method once, and measure on all splits."""
    ordered = sorted(cells, key=_choice)
    groups = [list(members) for _, members in groupby(ordered, key=_choice)]
    for members in track(groups, "other methods"):
        known = members[0]
        core = setup.select(known["method"], known["ratio"], known["repeat"], task=known["task"])
        rows = study.rows(core)
        scores = {task: study.scores(task, rows) for task in {cell["task"] for cell in members}}
        for cell in members:
            split = study.splits[cell["protocol"], cell["split"]]
            yield cell, [study.measure(cell["task"], scores[cell["task"]], split)]


def _prior(study: UnseenFamilies, cells: Sequence[Cell]) -> Iterator[Measured]:
    """Estimate the operators held out from those that guide, without choosing any sample."""
    for cell in cells:
        split, everything = study.splits[cell["protocol"], cell["split"]], study.everything
        full = pd.DataFrame({"score": everything.of_task(cell["task"]).full[0]})
        known, guess = full.index.isin(split.guiding), None
        if len(split.guiding) >= FEWEST_KNOWN:  # a toy may have fewer
            guess = spread_known(full.set_axis(everything.operators), known)["score"].to_numpy()
        yield cell, [study.measure(cell["task"], guess, split)]


def _choice(cell: Cell) -> tuple[str, float, int, str]:
    """Return what a choice depends on; most methods do not ask for the task."""
    task = cell["task"] if asks_task(cell["method"]) else ""
    return cell["method"], cell["ratio"], cell["repeat"], task


def _guided(study: UnseenFamilies, cells: Sequence[Cell]) -> Iterator[Measured]:
    """Let the guiding operators of each split guide, and measure on those held out."""
    for cell in track(cells, "guided core-sets"):
        split = study.splits[cell["protocol"], cell["split"]]
        guide = study.guide(split, cell["task"], cell["repeat"])
        guided, facts = certified(guide, int(cell["ratio"] * len(study.cohort)))
        scores = study.scores(cell["task"], guided.rows, guided.weights)
        yield cell, [facts | study.measure(cell["task"], scores, split)]


def summarise(measured: pd.DataFrame) -> pd.DataFrame:
    """Return mean, spread and worst case per protocol, task, ratio and method.

    Parameters
    ----------
    measured : DataFrame
        One row per core-set and split.

    Returns
    -------
    DataFrame
        With ``ndcg_covered`` and ``kendall_covered``, the share of certificates whose
        interval held the measured value, and ``ndcg_below`` and ``kendall_below``, the share
        of those that promised too much. Standard deviations have ddof 1.
    """
    certificate = [f"{what}_{end}" for what in CERTIFIED for end in ("expected", "low", "high")]
    table = measured.reindex(
        columns=[*dict.fromkeys([*measured.columns, *certificate, "cpu_seconds"])]
    )
    for what, found in CERTIFIED.items():
        low, high = table[f"{what}_low"], table[f"{what}_high"]
        inside, below = table[found].between(low, high), table[found] < low
        table[f"{what}_covered"] = inside.astype(float).where(low.notna())
        table[f"{what}_below"] = below.astype(float).where(low.notna())
    groups = table.groupby(["protocol", "task", "ratio", "method"], sort=True)
    return groups.agg(
        core_sets=("repeat", "size"),
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
        ndcg_below=("ndcg_below", "mean"),
        kendall_expected=("kendall_expected", "mean"),
        kendall_covered=("kendall_covered", "mean"),
        kendall_below=("kendall_below", "mean"),
        cpu_seconds=("cpu_seconds", "mean"),
    ).reset_index()


def _tables(summary: pd.DataFrame) -> list[Table]:
    shown = summary.groupby(["protocol", "task"], sort=False)
    by_method = [
        _by_method(str(protocol), str(task), measure, part)
        for (protocol, task), part in shown
        for measure in ("ndcg10", "kendall")
    ]
    guided = summary[summary["method"] == GUIDED]
    return [*by_method, _certificates(guided)] if len(guided) else by_method


def _by_method(protocol: str, task: str, measure: str, part: pd.DataFrame) -> Table:
    ratios = sorted(set(part["ratio"]) - {0.0})
    cells = {
        (row["method"], row["ratio"]): _cell(row, measure) for row in part.to_dict(orient="records")
    }
    # What needs no core-set has no size: the same in every column.
    rows = [
        [method, *(cells.get((method, r), cells.get((method, 0.0), "–")) for r in ratios)]
        for method in method_order(list(part["method"]))
    ]
    name = "nDCG@10" if measure == "ndcg10" else "Kendall's tau"
    what = {
        "halves": "families of the other half of a random split; half of the families guide",
        "default": "families that the default panel has no operator of; the panel guides",
    }[protocol]
    caption = (
        f"{name} of the ranking for {task}, on operators of unseen families ({what}). In percent: "
        "mean ±std (worst) over splits and repeats."
    )
    header = ["method", *(f"{ratio:g}" for ratio in ratios)]
    return Table(f"{protocol}-{task}-{measure}", caption, header, rows)


def _cell(row: Mapping[Any, Any], measure: str) -> str:
    worst = PERCENT * row[f"{measure}_worst"] if row["core_sets"] > 1 else None
    text = spread(PERCENT * row[measure], PERCENT * row[f"{measure}_std"], worst)
    return text + (f" [{row['undefined']} undefined]" if row["undefined"] else "")


def _certificates(guided: pd.DataFrame) -> Table:
    rows = [
        [
            str(row["protocol"]),
            str(row["task"]),
            f"{row['ratio']:g}",
            str(row["core_sets"]),
            *_promise(row, "ndcg", "ndcg10"),
            *_promise(row, "kendall", "kendall"),
            number(row["cpu_seconds"]),
        ]
        for row in guided.to_dict(orient="records")
    ]
    parts = ("expected", "measured (worst)", "inside", "below")
    header = ["protocol", "task", "share", "core-sets"]
    header += [f"{name}: {part}" for name in ("nDCG@10", "Kendall") for part in parts]
    caption = (
        "The certificate of guided core-sets against what was measured on unseen families; "
        "inside: share of the 90 % intervals that hold the measured value; below: share of "
        "measured values below their interval, where too much was promised. CPU seconds with the "
        "certificate."
    )
    return Table("certificates", caption, [*header, "CPU s"], rows)


def _promise(row: Mapping[Any, Any], what: str, measure: str) -> list[str]:
    return [
        number(row[f"{measure}_expected"], 2),
        f"{number(row[measure], 2)} ({number(row[f'{measure}_worst'], 2)})",
        f"{number(PERCENT * row[f'{what}_covered'], 0)} %",
        f"{number(PERCENT * row[f'{what}_below'], 0)} %",
    ]


def _draw(outcome: Outcome) -> Figure:
    figure, axes = grid(2, 2, (5.2, 3.6))
    halves = outcome.summary[outcome.summary["protocol"] == "halves"]
    for panel, (task, part) in zip(axes[0], halves.groupby("task", sort=False), strict=False):
        lines = part.assign(mean=part["ndcg10"], std=part["ndcg10_std"])
        curves_by_ratio(panel, lines, str(task), "nDCG@10 on unseen families")
        _draw_worst(panel, lines)
        panel.set_ylim(0, 1.03)
    axes[0][-1].legend(*axes[0][0].get_legend_handles_labels(), frameon=False, fontsize=8)
    measured = outcome.measured
    guided = measured[measured["method"] == GUIDED]
    for panel, what in zip(axes[1], CERTIFIED, strict=True):
        _draw_calibration(panel, what, guided)
    return figure


def _draw_worst(axes: Axes, lines: pd.DataFrame) -> None:
    guided = lines[lines["method"] == GUIDED].sort_values("ratio")
    ratios = sorted(set(lines["ratio"]))
    places = [ratios.index(ratio) for ratio in guided["ratio"]]
    axes.plot(places, guided["ndcg10_worst"], ":", color=BLUE, label="worst of guided")


def _draw_calibration(axes: Axes, what: str, guided: pd.DataFrame) -> None:
    """Draw the certificate of every core-set against what was measured."""
    finish(axes, "calibration", f"measured {CERTIFIED[what]}", "certificate (90 %)")
    if f"{what}_low" not in guided:
        return
    known = guided[guided[f"{what}_low"].notna()]
    found = CERTIFIED[what]
    for (task, part), colour in zip(known.groupby("task"), (BLUE, ORANGE), strict=False):
        middle = part[f"{what}_expected"]
        errors = [middle - part[f"{what}_low"], part[f"{what}_high"] - middle]
        inside = part[found].between(part[f"{what}_low"], part[f"{what}_high"]).mean()
        label = f"{task}: {inside:.0%} of {len(part)} inside"
        axes.errorbar(
            part[found], middle, errors, fmt="o", ms=2.5, lw=0.3, color=colour, label=label
        )
    low = float(min(known[found].min(), known[f"{what}_expected"].min(), 0.9))
    axes.plot([low, 1], [low, 1], "-", color=INK, linewidth=0.8)
    axes.legend(frameon=False, fontsize=8)


GUIDED_STUDY = register(
    Experiment(
        name="guided",
        title="How well do core-sets rank operators that nobody looked at?",
        paper="nothing: no operator is ever held out there",
        cells=_cells,
        measure=_measure,
        summarise=summarise,
        tables=_tables,
        draw=_draw,
    )
)
