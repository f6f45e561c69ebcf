"""Do the statistics keep their promises: no false alarms, the right size, the best in the set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from paper.setup import Cell, Experiment, Measured, Outcome, Row, Setup, register
from paper.soundness_cohorts import (
    CONDITIONS,
    FULL,
    KINDS,
    NOISIER,
    OPERATORS,
    TOY,
    Condition,
    measure_cohort,
    order_rows,
)
from paper.summary import grid
from paper.tables import Table, number
from sclcs.report.figures import BLUE, MUTED, finish

COHORTS_PER_DRAW = 10  # 20 draws are the 200 cohorts of a bar
PARTS_PER_DRAW = 5  # 20 draws are 100 random parts of each kind, whose order is looked at
COHORTS_PER_CELL = 20
ORDER_BAR, THE_COHORT = "order", "the cohort"
LEVEL = (0.03, 0.08)
COVERAGE = 0.88
KENDALL = 0.1
#: Of the simulated cohorts whose order is looked at: from hardly repeatable to clear.
GROUP_EFFECTS = (0.06, 0.12, 0.24)
LEVEL_BARS = ("no effect", "site as covariate", "within site")


def _n_cohorts(setup: Setup) -> int:
    return setup.options.draws * (1 if setup.options.toy else COHORTS_PER_DRAW)


def _cells(setup: Setup) -> list[Cell]:
    simulated: list[Cell] = [
        {
            "bar": condition.bar,
            "sizes": condition.groups.sizes,
            "effect": condition.groups.effect,
            "from": start,
        }
        for condition in CONDITIONS
        for start in range(0, _n_cohorts(setup), COHORTS_PER_CELL)
    ]
    where = [_simulated(effect) for effect in GROUP_EFFECTS]
    where += [THE_COHORT] if _label(setup) else []
    order = [{"bar": ORDER_BAR, "where": name} for name in where]
    # What every row needs comes first: a run that is stopped has all rows.
    return [*order, *sorted(simulated, key=lambda cell: cell["from"])]


def _simulated(effect: float) -> str:
    return f"simulated, effect {effect:g}"


def _label(setup: Setup) -> str | None:
    """Return the first task that is a label of two classes; None without one."""
    samples = setup.cohort.samples
    for task in setup.options.tasks:
        if task != "subject" and samples[task].nunique() == 2:
            return task
    return None


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    for cell in cells:
        if cell["bar"] == ORDER_BAR:
            yield cell, _order(setup, cell["where"])
            continue
        (condition,) = (known for known in CONDITIONS if _is(known, cell))
        last = min(cell["from"] + COHORTS_PER_CELL, _n_cohorts(setup))
        effort, seed = (TOY if setup.options.toy else FULL), setup.options.seed
        yield (
            cell,
            [
                {"cohort": k, **measure_cohort(condition, k, seed, effort)}
                for k in range(cell["from"], last)
            ],
        )


def _is(condition: Condition, cell: Cell) -> bool:
    groups = condition.groups
    return (condition.bar, groups.sizes, groups.effect) == (
        cell["bar"],
        cell["sizes"],
        cell["effect"],
    )


def _order(setup: Setup, where: str) -> list[Row]:
    from sclcs import simulate_cohort
    from sclcs.stats import CohortSource

    toy, seed = setup.options.toy, setup.options.seed
    repeats = setup.options.draws * (1 if toy else PARTS_PER_DRAW)
    if where == THE_COHORT:
        store = setup.store()
        return order_rows(store, store.operators, str(_label(setup)), repeats, seed)
    (effect,) = (known for known in GROUP_EFFECTS if _simulated(known) == where)
    n_subjects = 30 if toy else 180
    cohort = simulate_cohort(n_subjects, 2, 12, length=70, stride=70, seed=seed, group=effect)
    source = CohortSource(cohort, list(OPERATORS))
    return order_rows(source, source.operators, "diagnosis", repeats, seed)


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    simulated = measured[measured["bar"] != ORDER_BAR]
    keys = ["bar", "sizes", "effect"]
    rows = [
        {**dict(zip(keys, names, strict=True)), **_bar(part)}
        for names, part in simulated.groupby(keys, sort=False)
    ]
    order = measured[measured["bar"] == ORDER_BAR]
    return pd.DataFrame([*rows, *_order_rows(order)])


def _bar(part: pd.DataFrame) -> Row:
    share, n = part["share"], len(part)
    row: Row = {
        "cohorts": n,
        "found": part["found"].mean(),
        "share": share.mean(),
        "share_se": share.std() / math.sqrt(n),
    }
    if part["scattered"].notna().any():
        row["scattered"] = part["scattered"].mean()
    old = [name for name in part.columns if str(name).startswith("found by")]
    if part[old].notna().any(axis=None):
        row |= {str(name): part[name].mean() for name in old}
    if part.get("held", pd.Series(dtype=float)).notna().any():
        row |= {"held": part["held"].mean(), "size": part["size"].mean()}
    return row


def _order_rows(order: pd.DataFrame) -> list[Row]:
    keys = ["bar", "where", "score", "kind", "lost"]
    return [
        {
            **dict(zip(keys, names, strict=True)),
            "parts": len(part),
            "kendall": part["kendall"].mean(),
            "kendall_se": part["kendall"].std() / math.sqrt(len(part)),
        }
        for names, part in order.groupby(keys, sort=False)
    ]


def _tables(summary: pd.DataFrame) -> list[Table]:
    return [
        _level_table(summary),
        _noise_table(summary),
        _power_table(summary),
        _coverage_table(summary),
        _order_table(summary),
    ]


def _records(summary: pd.DataFrame, *bars: str) -> list[dict[str, Any]]:
    rows = summary[summary["bar"].isin(bars)].to_dict(orient="records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _rate(row: dict[str, Any], name: str, digits: int = 1) -> str:
    """Return a share of the cohorts in percent, with its standard error."""
    rate = float(row.get(name, math.nan))
    if math.isnan(rate):
        return "–"
    error = math.sqrt(max(rate * (1 - rate), 0.0) / row["cohorts"])
    return f"{100 * rate:.{digits}f} ± {100 * error:.{digits}f} %"


def _deviation(row: dict[str, Any]) -> str:
    return f"{row['share']:+.4f} ({row['share'] / row['share_se']:+.1f})"


def _level_table(summary: pd.DataFrame) -> Table:
    rows = [
        [
            row["bar"],
            row["sizes"],
            number(row["cohorts"], 0),
            _rate(row, "found"),
            "yes" if LEVEL[0] <= row["found"] <= LEVEL[1] else "no",
            _deviation(row),
            _rate(row, "scattered"),
        ]
        for row in _records(summary, *LEVEL_BARS)
    ]
    caption = (
        "Cohorts without an effect: how often “there is an effect” is said (family-wise over the "
        "operators, 5 % by design, bar 3 to 8 %), and the explained share, averaged over operators "
        "and cohorts (in brackets, how many standard errors it lies from 0); and how often scatter "
        "is named, which also is 5 % by design. In the rows with a site, 80 % of the patients come "
        "from one site, and the site matters. Rates with their standard errors."
    )
    header = [
        "question",
        "controls:patients",
        "cohorts",
        "false alarms",
        "3 to 8 %",
        "share (s.e.)",
        "scatter named",
    ]
    return Table("level", caption, header, rows)


def _noise_table(summary: pd.DataFrame) -> Table:
    rows = [
        [
            row["sizes"],
            number(row["cohorts"], 0),
            f"{row['share']:.4f} ± {row['share_se']:.4f}",
            _rate(row, "found", 0),
            _rate(row, "scattered", 0),
        ]
        for row in _records(summary, "noisier patients")
    ]
    caption = (
        f"Patients whose signals are {NOISIER:g} times as noisy, and nothing else: the share must "
        "not depend on the sizes of the classes; the test of scatter (PERMDISP, family-wise over "
        "the operators) stands beside it."
    )
    header = ["controls:patients", "cohorts", "share ± s.e.", "effect found", "scatter named"]
    return Table("noisier", caption, header, rows)


def _power_table(summary: pd.DataFrame) -> Table:
    records = _records(summary, "power")
    names = [name for name in summary.columns if str(name).startswith("found by")]
    rows = [
        [
            row["sizes"],
            f"{row['effect']:g}",
            number(row["cohorts"], 0),
            _rate(row, "found", 0),
            *(_rate(row, str(name), 0) for name in names),
        ]
        for row in records
    ]
    caption = (
        "A small real effect: how often it is found, by our test and by permutation tests of the "
        "same kind on each of the old scores (pooled: every pair counts alike)."
    )
    scores = (str(name).removeprefix("found by ") for name in names)
    header = ["controls:patients", "effect", "cohorts", "ours", *scores]
    return Table("power", caption, header, rows)


def _coverage_table(summary: pd.DataFrame) -> Table:
    rows = [
        [
            row["sizes"],
            f"{row['effect']:g}",
            number(row["cohorts"], 0),
            _rate(row, "held"),
            number(row["size"], 1),
        ]
        for row in _records(summary, "best set")
    ]
    caption = (
        "The 90 % confidence set of the best operator (bar: 88 % or more hold the one that is best "
        "in a population of 2400 subjects), and how many of the 10 different operators it has."
    )
    header = ["controls:patients", "effect", "cohorts", "holds the best", "operators in it"]
    return Table("best-set", caption, header, rows)


def _order_table(summary: pd.DataFrame) -> Table:
    records = _records(summary, ORDER_BAR)
    found = {(row["where"], row["score"], row["kind"], int(row["lost"])): row for row in records}
    rows = []
    for (where, score, kind, lost), row in found.items():
        if kind not in KINDS[:2]:
            continue
        both, uncertain = (found[where, score, other, lost] for other in KINDS[2:])
        gap, error = _gap(both, row)
        near = "yes" if gap <= KENDALL else "no"
        texts = [_kendall(part) for part in (row, both, uncertain)]
        control = "{:+.2f} ± {:.2f}".format(*_gap(uncertain, row))
        rows.append(
            [where, score, kind, *texts[:2], f"{gap:+.2f} ± {error:.2f}", near, texts[2], control]
        )
    caption = (
        "The order of operators on part of the subjects against that on all of them (Kendall, mean "
        f"of {number(records[0]['parts'], 0) if records else 0} random parts with its standard "
        "error): one class cut to a third; both classes cut to the same total (bar: cutting one "
        "class loses at most 0.1 more than cutting both); both classes cut until their difference "
        "is as uncertain (1/n + 1/m the same), with what is lost beyond that. The pooled Cohen's d "
        "is the paper's score."
    )
    header = ["cohort", "score", "left", "Kendall", "same total", "lost", "within 0.1"]
    return Table("order", caption, [*header, "as uncertain", "lost beyond"], rows)


def _kendall(row: dict[str, Any]) -> str:
    return f"{row['kendall']:.2f} ± {row['kendall_se']:.2f}"


def _gap(better: dict[str, Any], row: dict[str, Any]) -> tuple[float, float]:
    """Return how much lower the agreement of a row is, and the standard error of that."""
    error = math.hypot(row["kendall_se"], better["kendall_se"])
    return better["kendall"] - row["kendall"], error


def _draw(outcome: Outcome) -> Figure:
    figure, axes = grid(1, 2, (4.6, 3.4))
    summary = outcome.summary
    level = summary[summary["bar"].isin(LEVEL_BARS)]
    names = [f"{bar}, {sizes}" for bar, sizes in zip(level["bar"], level["sizes"], strict=True)]
    places = np.arange(len(level))
    left, right = axes[0]
    left.axvspan(*(100 * end for end in LEVEL), color=MUTED, alpha=0.15, linewidth=0)
    left.plot(100 * level["found"], places, "o", color=BLUE)
    left.set_yticks(places, names, fontsize=7)
    left.invert_yaxis()
    left.set_xlim(left=0)
    finish(left, "False alarms", "% of cohorts without an effect")
    held = summary[summary["bar"] == "best set"]
    spots = np.arange(len(held))
    right.axvline(100 * COVERAGE, color=MUTED, linewidth=1)
    right.plot(100 * held["held"], spots, "o", color=BLUE)
    labels = [f"{s}, {e:g}" for s, e in zip(held["sizes"], held["effect"], strict=True)]
    right.set_yticks(spots, labels, fontsize=7)
    right.set_xlim(right=101)
    finish(right, "The best set holds the best", "% of cohorts")
    return figure


EXPERIMENT = register(
    Experiment(
        name="soundness",
        title="Do the statistics keep their promises?",
        paper="none; the bars of our own statistics (docs/statistics.md)",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
        version=2,
    )
)
