"""Does a rule for guided core-sets that was tuned on a simulated cohort hold on the given one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pandas as pd

from sclcs.core.progress import track
from sclcs.experiments.agreement import MEASURES
from sclcs.experiments.figures import grid
from sclcs.experiments.guided_study import UnseenFamilies
from sclcs.experiments.registry import Experiment, Measured, Outcome, register
from sclcs.experiments.setup import Cell, Row, Setup
from sclcs.experiments.simulated_twin import simulated_twin
from sclcs.experiments.summary import aggregate
from sclcs.experiments.tables import Table, number, spread
from sclcs.report.style import BLUE, MUTED, ORANGE, finish
from sclcs.selection.guided.guide import Guide

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["RULES", "TRANSFER"]

SIMULATED, GIVEN = "simulated", "given"
DEFAULT, START = "default", "start"
LARGEST = 0.05
PERCENT = 100.0
TUNED_BY = "ndcg@10"
#: The grid: how little a changed slope is trusted, and samples per subject to start from.
RULES: dict[str, dict[str, Any]] = {
    f"distrust {distrust:g}, windows {windows}": {"windows": windows, "distrust": distrust}
    for windows in (1, 2, 3)
    for distrust in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
}


def _rules(task: str) -> list[str]:
    """Return the rules that make sense: subjects are recognised by two windows or more."""
    sensible = (2, 3) if task == "subject" else (1, 2)
    return [name for name, changes in RULES.items() if changes["windows"] in sensible]


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    return [
        {
            "cohort": cohort,
            "task": task,
            "split": split,
            "ratio": ratio,
            "repeat": seed,
            "rule": rule,
        }
        for cohort in (SIMULATED, GIVEN)
        for task in options.tasks
        for split in options.split_numbers
        for ratio in options.ratios_up_to(LARGEST)
        for seed in options.seeds()
        for rule in (START, DEFAULT, *_rules(task))
    ]


def _setup_of(setup: Setup, cohort: str) -> Setup:
    if cohort == GIVEN:
        return setup
    place = setup.fc.with_name(f"{setup.fc.name}-{SIMULATED}")
    return Setup(simulated_twin(setup.cohort), place, setup.options)


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    for cohort, members in groupby(cells, key=lambda cell: str(cell["cohort"])):
        study = UnseenFamilies.of(_setup_of(setup, cohort))
        groups = [list(group) for _, group in groupby(members, key=_designs_of)]
        for group in track(groups, f"{cohort} cohort"):
            cell = group[0]
            split = study.splits["halves", cell["split"]]
            windows = {"windows": _windows(cell)} if _windows(cell) else {}
            guide = study.guide(split, cell["task"], cell["repeat"], **windows)
            for cell in group:
                yield cell, [_run(study, guide, cell)]


def _windows(cell: Cell) -> int:
    """Return the samples per subject that a rule starts from; 0 for the package's choice."""
    return int(RULES.get(cell["rule"], {}).get("windows", 0))


def _designs_of(cell: Cell) -> tuple[str, int, float, int, int]:
    """Return what the designs of a rule depend on."""
    return cell["task"], cell["split"], cell["ratio"], cell["repeat"], _windows(cell)


def _run(study: UnseenFamilies, guide: Guide, cell: Cell) -> Row:
    size = int(cell["ratio"] * len(study.cohort))
    if cell["rule"] == START:
        rows = guide.designs.draw(size, 0)
    else:
        distrust = RULES.get(cell["rule"], {}).get("distrust")
        rows = guide.change(distrust=distrust).choose(size, certified=False).rows
    scores = study.scores(cell["task"], rows)
    return study.measure(cell["task"], scores, study.splits["halves", cell["split"]])


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    table = aggregate(measured, ["cohort", "task", "rule", "ratio"], MEASURES)
    best = {cohort: _best(measured, cohort) for cohort in (SIMULATED, GIVEN)}
    for column, cohort in (("tuned", SIMULATED), ("hindsight", GIVEN)):
        table[column] = table["rule"] == table["task"].map(best[cohort])
    return table


def _best(measured: pd.DataFrame, cohort: str) -> dict[str, str]:
    """Return the best rule of the grid for each task, by its mean over everything else."""
    part = measured[(measured["cohort"] == cohort) & measured["rule"].isin(RULES)]
    return {
        str(task): str(found.groupby("rule", sort=False)[TUNED_BY].mean().fillna(-1.0).idxmax())
        for task, found in part.groupby("task")
    }


def _tables(summary: pd.DataFrame) -> list[Table]:
    tables = []
    for task, part in summary.groupby("task", sort=False):
        tables += [_verdict(str(task), part), _grid(str(task), part)]
    return tables


def _verdict(task: str, part: pd.DataFrame) -> Table:
    tuned = str(part["rule"][part["tuned"]].iloc[0])
    hindsight = str(part["rule"][part["hindsight"]].iloc[0])
    named = {
        f"tuned on the simulated cohort: {tuned}": tuned,
        "the package's default": DEFAULT,
        f"best in hindsight: {hindsight}": hindsight,
        "stratified start, not guided": START,
    }
    ratios = sorted(set(part["ratio"]))
    columns = [(GIVEN, measure, ratio) for measure in (TUNED_BY, "kendall") for ratio in ratios]
    columns += [(SIMULATED, TUNED_BY, ratio) for ratio in ratios]
    found = _by(part, ["rule", "cohort", "measure", "ratio"])
    rows = [
        [name, *(_percent(found[rule, *column]) for column in columns)]
        for name, rule in named.items()
    ]
    header = ["rule", *(f"{where}: {what}, {ratio:g}" for where, what, ratio in columns)]
    return Table(f"{task}-verdict", _verdict_caption(task, part), header, rows)


def _verdict_caption(task: str, part: pd.DataFrame) -> str:
    order = number(_same_order(part), 2)
    return (
        f"Task {task}: the rule that was best on the simulated cohort (mean nDCG@10 on families "
        "that did not guide), measured on the given one, beside the package's default, the rule "
        "that turns out best there, and the design that nothing guided. In percent: mean ±std "
        f"(worst). Kendall correlation of the rules' order on the two cohorts: {order}."
    )


def _same_order(part: pd.DataFrame) -> float:
    """Return Kendall's tau of the rules' mean nDCG@10 on the two cohorts."""
    shown = part[(part["measure"] == TUNED_BY) & part["rule"].isin(RULES)]
    means = shown.pivot_table(index="rule", columns="cohort", values="mean")
    if not {SIMULATED, GIVEN} <= set(means.columns):
        return float("nan")
    return float(means[SIMULATED].corr(means[GIVEN], method="kendall"))


def _grid(task: str, part: pd.DataFrame) -> Table:
    shown = part[part["measure"] == TUNED_BY]
    ratios = sorted(set(shown["ratio"]))
    columns = [(cohort, ratio) for cohort in (SIMULATED, GIVEN) for ratio in ratios]
    found = _by(shown, ["rule", "cohort", "ratio"])
    rows = [
        [str(rule), *(_percent(found[rule, *column]) for column in columns)]
        for rule in dict.fromkeys(shown["rule"])
    ]
    caption = f"Task {task}: nDCG@10 of every rule on both cohorts, in percent: mean ±std (worst)."
    header = ["rule", *(f"{cohort}, {ratio:g}" for cohort, ratio in columns)]
    return Table(f"{task}-grid", caption, header, rows)


def _by(part: pd.DataFrame, keys: Sequence[str]) -> dict[tuple[Any, ...], dict[Any, Any]]:
    """Return the rows of a summary by some of their columns."""
    return {tuple(row[key] for key in keys): row for row in part.to_dict(orient="records")}


def _percent(row: Mapping[Any, Any]) -> str:
    text = spread(PERCENT * row["mean"], PERCENT * row["std"], PERCENT * row["worst"])
    return text + (f" [{row['undefined']} undefined]" if row["undefined"] else "")


def _draw(outcome: Outcome) -> Figure:
    shown = outcome.summary[outcome.summary["measure"] == TUNED_BY]
    tasks, ratios = list(dict.fromkeys(shown["task"])), sorted(set(shown["ratio"]))
    figure, axes = grid(len(tasks), len(ratios), (4.2, 3.4))
    for row, task in enumerate(tasks):
        for column, ratio in enumerate(ratios):
            panel = axes[row][column]
            _scatter(panel, shown[(shown["task"] == task) & (shown["ratio"] == ratio)])
            finish(panel, f"{task}, {PERCENT * ratio:g} %", SIMULATED, GIVEN)
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


def _scatter(axes: Axes, part: pd.DataFrame) -> None:
    """Draw every rule: its nDCG@10 on the given cohort against that on the simulated one."""
    means = part.pivot_table(index="rule", columns="cohort", values="mean")
    roles = part.groupby("rule")[["tuned", "hindsight"]].any()
    special = {
        "default": (["default"], ORANGE, "s"),
        "tuned": (list(roles.index[roles["tuned"]]), BLUE, "o"),
        "hindsight": (list(roles.index[roles["hindsight"]]), BLUE, "x"),
        "start": (["start"], MUTED, "v"),
    }
    usual = means[means.index.isin(RULES)]
    if {SIMULATED, GIVEN} <= set(means.columns):
        axes.plot(usual[SIMULATED], usual[GIVEN], ".", color=MUTED, label="rules of the grid")
        for name, (rules, colour, marker) in special.items():
            known = means[means.index.isin(rules)]
            axes.plot(known[SIMULATED], known[GIVEN], marker, color=colour, label=name)


TRANSFER = register(
    Experiment(
        name="transfer",
        title="Does a rule tuned on a simulated cohort hold on this one?",
        paper="nothing: there are no guided core-sets",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
    )
)
