"""Multiverse: preprocessing x operator, whether the best one stays, and what a core-set tells.

Every operator is ranked on every preprocessing of the same scans. Then the second one is
estimated: the scores of all operators on the first, and a core-set that was preprocessed in both
ways, stand in for computing everything twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from paper.setup import Cell, Experiment, Measured, Outcome, Row, Setup, register, usual_operators
from paper.summary import grid
from paper.tables import Table, number
from sclcs._core import InputError, name_first, track
from sclcs.cohort import Cohort
from sclcs.decision import Estimate, krige, look_ahead, measure_geometry, next_operator
from sclcs.report.figures import BLUE, finish
from sclcs.spi import catalogue
from sclcs.stats import Ranking, consistency, make_kernel, ndcg, rank, regret

#: The second preprocessing if none is given.
MEAN_REMOVED = "mean signal removed"


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """One way to prepare the scans.

    Parameters
    ----------
    name : str
    setup : Setup
        Its cohort and its FC store.
    """

    name: str
    setup: Setup


def without_mean_signal(cohort: Cohort) -> Cohort:
    """Take the mean over regions out of every region, by regression in each sample.

    Parameters
    ----------
    cohort : Cohort
        Its samples have one length.

    Returns
    -------
    Cohort
        What is left of global signal regression if only these regions are known.
    """
    signals = np.asarray(cohort.signals, dtype=np.float64)
    signals = signals - signals.mean(axis=2, keepdims=True)
    mean = signals.mean(axis=1, keepdims=True)
    slope = (signals @ mean.swapaxes(1, 2)) / np.sum(mean**2, axis=2, keepdims=True)
    provenance = {**cohort.provenance, "also": MEAN_REMOVED}
    return Cohort(
        signals - slope * mean, cohort.samples, cohort.regions, cohort.tr, provenance=provenance
    )


def find_preprocessings(setup: Setup) -> list[Preprocessing]:
    """Return the cohort of an experiment and the others beside it.

    Parameters
    ----------
    setup : Setup
        Its options name other cohorts of the same scans, or none: then the mean over regions is
        taken out of the one that is given.

    Returns
    -------
    list of Preprocessing
        At least two.
    """
    options = setup.options
    if not options.beside:
        first, others = "as given", {MEAN_REMOVED: without_mean_signal(setup.cohort)}
    else:
        first = str(setup.cohort.provenance.get("preprocessing", "first"))
        others = {Path(path).stem: Cohort.open(path) for path in options.beside}
    found = [Preprocessing(first, setup)]
    for place, (name, cohort) in enumerate(others.items(), start=2):
        _require_same_scans(setup.cohort, cohort, name)
        fc = setup.fc.with_name(f"{setup.fc.name}-{place}")
        found.append(Preprocessing(name, Setup(cohort, fc, options)))
    return found


def _require_same_scans(first: Cohort, other: Cohort, name: str) -> None:
    if list(first.sample_ids) == list(other.sample_ids):
        return
    differing = sorted(set(first.sample_ids) ^ set(other.sample_ids))
    raise InputError(
        f"Expected the same samples in the same order in {name}: {len(first)} of the cohort, "
        f"{len(other)} there, found in one of them only: {name_first(differing) or 'none'}. Cut "
        "both from the same scans with the same windows."
    )


Floats = NDArray[np.float64]
RANKINGS, ESTIMATES = "rankings", "estimates"
CONFIDENCE = 0.9
CONFIRMED = (0, 3, 8)
REDRAWS, PERMUTATIONS = 1000, 1000
TOY_REDRAWS = 20


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    prints = "+".join(part.setup.cohort.fingerprint for part in find_preprocessings(setup))
    cells: list[Cell] = []
    for task in options.tasks:
        same = {"task": task, "cohorts": prints}
        cells.append({**same, "what": RANKINGS, "ratio": 1.0, "repeat": options.seed})
        cells += [
            {**same, "what": ESTIMATES, "ratio": ratio, "repeat": seed}
            for ratio in options.ratios_up_to(0.3)
            for seed in options.seeds()
        ]
    return cells


class _Universe:
    """Rankings of every preprocessing, each made once."""

    def __init__(self, setup: Setup) -> None:
        self.options = setup.options
        self.parts = find_preprocessings(setup)
        self.stores = [part.setup.store() for part in self.parts]
        self.ranking = cache(self._ranking)

    def _ranking(self, place: int, task: str) -> Ranking:
        toy = self.options.toy
        return rank(
            self.stores[place],
            task,
            drop_missing=True,
            bootstrap=TOY_REDRAWS if toy else REDRAWS,
            permutations=TOY_REDRAWS if toy else PERMUTATIONS,
            n_jobs=self.options.jobs,
        )

    def scores(self, task: str) -> tuple[list[str], list[Floats]]:
        """Return the operators that every preprocessing can rank, one of each kind of twins."""
        rankings = [self.ranking(place, task) for place in range(len(self.parts))]
        known = [set(found.groups["spi"]) & set(found.scores.dropna().index) for found in rankings]
        shared = [name for name in rankings[0].groups["spi"] if all(name in k for k in known)]
        return shared, [found.scores[shared].to_numpy(dtype=np.float64) for found in rankings]


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    universe = _Universe(setup)
    for cell in track(cells, "multiverse"):
        measure = _compare if cell["what"] == RANKINGS else _estimate_rows
        yield cell, measure(universe, cell)


def _compare(universe: _Universe, cell: Cell) -> list[Row]:
    """Compare the rankings of two preprocessings, for every two of them."""
    task, rows = cell["task"], []
    operators, scores = universe.scores(task)
    for a, b in combinations(range(len(universe.parts)), 2):
        first, second = universe.ranking(a, task), universe.ranking(b, task)
        sets = [set(found.best_set["spi"]) for found in (first, second)]
        agreement = consistency(first.scores[operators], second.scores[operators], (10,))
        rows.append(
            _names(universe.parts[a], universe.parts[b])
            | _facts(first, "first")
            | _facts(second, "second")
            | {
                "operators": len(operators),
                "kendall": agreement["kendall"],
                "ndcg@10": agreement["ndcg@10"],
                "in_both_sets": len(sets[0] & sets[1]),
                "winner_stays": float(operators[int(scores[a].argmax())] in sets[1]),
                "regret": regret(scores[b], scores[b][scores[a].argmax()]),
                **_variances(np.stack([scores[a], scores[b]])),
            }
        )
    return rows


def _names(first: Preprocessing, second: Preprocessing) -> Row:
    return {"first": first.name, "second": second.name}


def _facts(ranking: Ranking, which: str) -> Row:
    effect = ranking.table["p"].min() if "p" in ranking.table else float("nan")
    return {
        f"{which}_winner": str(ranking.groups["spi"].iloc[0]),
        f"{which}_score": float(ranking.scores.max()),
        f"{which}_p": float(effect),
        f"{which}_set": len(ranking.best_set),
    }


def _variances(table: Floats) -> Row:
    """Return which share of the scores' variance operators and preprocessings have (two-way)."""
    total = max(float(((table - table.mean()) ** 2).sum()), 1e-300)
    operators = len(table) * float(((table.mean(axis=0) - table.mean()) ** 2).sum())
    ways = table.shape[1] * float(((table.mean(axis=1) - table.mean()) ** 2).sum())
    return {"operator_share": operators / total, "preprocessing_share": ways / total}


def _estimate_rows(universe: _Universe, cell: Cell) -> list[Row]:
    """Estimate every preprocessing but the first from the first and one core-set."""
    operators, scores = universe.scores(cell["task"])
    core = universe.parts[0].setup.select("random", cell["ratio"], cell["repeat"])
    rows = np.sort(core.rows(universe.stores[0].sample_ids)).astype(np.int64)
    names = universe.stores[0].samples["subject"].astype(str).to_numpy()[rows]
    subjects = np.unique(names, return_inverse=True)[1].astype(np.int64)
    kernels = [
        [make_kernel(store.matrices(name, rows)).similarity for name in operators]
        for store in universe.stores
    ]
    criterion = universe.ranking(0, cell["task"]).score
    found = []
    for place in range(1, len(universe.parts)):
        both = [f"{way}/{name}" for way in ("first", "second") for name in operators]
        geometry = measure_geometry(both, [*kernels[0], *kernels[place]], subjects)
        scale = geometry.share_scale if criterion == "share" else None
        pair = _Pair(
            operators, geometry.similarity, scale, np.concatenate([scores[0], scores[place]])
        )
        names_of = _names(universe.parts[0], universe.parts[place])
        found.append(names_of | {"samples": len(rows)} | pair.measure())
    return found


class _Pair:
    """Two preprocessings: scores of the first are known, those of the second are estimated."""

    def __init__(
        self, operators: list[str], similarity: Floats, scale: Floats | None, scores: Floats
    ) -> None:
        self.size = len(operators)
        self.names = [f"{way}/{name}" for way in ("first", "second") for name in operators]
        families = catalogue()["family"].reindex(operators).fillna("own").tolist()
        self.families = families * 2
        self.similarity, self.scale, self.scores = similarity, scale, scores

    def estimate(self, known: NDArray[np.bool_]) -> Estimate:
        scores = np.where(known, self.scores, np.nan)
        return krige(self.names, self.similarity, scores, self.families, scale=self.scale)

    def measure(self) -> dict[str, Any]:
        """Compare the estimate with the truth; then confirm one operator after another."""
        from scipy.stats import kendalltau

        known = np.arange(2 * self.size) < self.size
        estimate, held = self.estimate(known), ~known
        low, high = estimate.interval(CONFIDENCE)
        truth, guess = self.scores[held], estimate.mean[held]
        row: dict[str, Any] = {
            "ndcg@10": ndcg(truth, guess, 10),
            "kendall": float(kendalltau(truth, guess).statistic),
            "kendall_copied": float(kendalltau(truth, self.scores[known]).statistic),
            "coverage": float(((low[held] <= truth) & (truth <= high[held])).mean()),
        }
        return row | self._confirm(known)

    def _confirm(self, known: NDArray[np.bool_]) -> dict[str, float]:
        """Compute the most promising on the second preprocessing; the first costs nothing more."""
        now, found = known.copy(), dict[str, float]()
        truth = self.scores[self.size :]
        for count in range(max(CONFIRMED) + 1):
            estimate = self.estimate(now)
            if count in CONFIRMED:
                seen = np.where(now[self.size :], truth, estimate.mean[self.size :])
                found[f"regret_{count}"] = regret(truth, truth[seen.argmax()])
            place = next_operator(look_ahead(estimate), np.where(now, np.inf, 1.0))
            if place is None:
                place = self.size + int(
                    np.where(now[self.size :], -np.inf, estimate.mean[self.size :]).argmax()
                )
            now[place] = True
        return found


MEASURES = ("ndcg@10", "kendall", "kendall_copied", "coverage", *(f"regret_{k}" for k in CONFIRMED))


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    compared = measured[measured["what"] == RANKINGS].dropna(axis=1, how="all")
    rows: list[dict[str, Any]] = [
        {str(name): value for name, value in row.items()} | {"n": 1}
        for row in compared.to_dict(orient="records")
    ]
    keys = ["what", "task", "first", "second", "ratio"]
    estimates = measured[measured["what"] == ESTIMATES]
    for values, part in estimates.groupby(keys, sort=False):
        facts = dict(zip(keys, values, strict=True))
        facts |= {name: part[name].mean() for name in MEASURES}
        facts |= {"ndcg@10_worst": part["ndcg@10"].min(), "regret_8_worst": part["regret_8"].max()}
        rows.append({**facts, "samples": part["samples"].iloc[0], "n": len(part)})
    return pd.DataFrame(rows).drop(columns=["cohorts"], errors="ignore")


def _tables(summary: pd.DataFrame) -> list[Table]:
    return [_rankings_table(summary), _estimates_table(summary)]


def _percent(value: float) -> str:
    return f"{number(100 * value, 0)} %"


def _rankings_table(summary: pd.DataFrame) -> Table:
    header = ["task", "first / second", "p", "winners", "could be best", "in both"]
    header += ["winner stays", "its regret there", "Kendall", "variance: operator, preprocessing"]
    rows = [
        [
            str(row["task"]),
            f"{row['first']} / {row['second']}",
            f"{number(row['first_p'], 3)} / {number(row['second_p'], 3)}",
            f"`{row['first_winner']}` / `{row['second_winner']}`",
            f"{number(row['first_set'], 0)} / {number(row['second_set'], 0)}",
            number(row["in_both_sets"], 0),
            "yes" if row["winner_stays"] else "no",
            _percent(row["regret"]),
            number(row["kendall"], 2),
            f"{_percent(row['operator_share'])}, {_percent(row['preprocessing_share'])}",
        ]
        for row in summary[summary["what"] == RANKINGS].to_dict(orient="records")
    ]
    caption = (
        "Two preprocessings of the same scans: family-wise p, the best operator, how many could "
        "be the best, how many of these in both; whether the first one's winner could be the best "
        "on the second, and what it loses there (of best minus median). Where p is above 0.05 "
        "there is nothing to rank, and the rest of the row means little."
    )
    return Table("rankings", caption, header, rows)


def _estimates_table(summary: pd.DataFrame) -> Table:
    header = ["task", "estimated", "core-set", "nDCG@10 (worst)", "Kendall", "scores copied"]
    header += ["90 % cover", *(f"regret after {k}" for k in CONFIRMED)]
    rows = [
        [
            str(row["task"]),
            f"{row['second']} from {row['first']}",
            f"{number(row['samples'], 0)} samples",
            f"{number(row['ndcg@10'], 3)} ({number(row['ndcg@10_worst'], 2)})",
            number(row["kendall"], 2),
            number(row["kendall_copied"], 2),
            number(row["coverage"], 2),
            *(_percent(row[f"regret_{k}"]) for k in CONFIRMED),
        ]
        for row in summary[summary["what"] == ESTIMATES].to_dict(orient="records")
    ]
    caption = (
        "The second preprocessing estimated: scores of all operators on the first, and random "
        "samples preprocessed in both ways. Scores copied: Kendall if the first one's scores were "
        "taken as they are. Regret of the operator that looks best after so many were computed on "
        "the second preprocessing of everybody."
    )
    return Table("estimates", caption, header, rows)


def _draw(outcome: Outcome) -> Figure:
    part = outcome.summary[outcome.summary["what"] == ESTIMATES]
    tasks = list(dict.fromkeys(part["task"]))
    figure, axes = grid(1, 2, (4.6, 3.2))
    for panel, name, title in (
        (axes[0][0], "kendall", "Kendall of the estimate"),
        (axes[0][1], "regret_8", "regret after 8 confirmations"),
    ):
        for shade, task in enumerate(tasks):
            chosen = part[part["task"] == task].sort_values("ratio")
            alpha = 1 - 0.6 * shade / max(len(tasks) - 1, 1)
            panel.plot(
                100 * chosen["ratio"], chosen[name], "o-", label=task, color=BLUE, alpha=alpha
            )
        finish(panel, title, "samples of the core-set, %", "")
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


EXPERIMENT = register(
    Experiment(
        name="multiverse",
        title="Is the best operator the same on another preprocessing, and does a core-set tell?",
        paper="not in the paper",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
        operators=usual_operators,
    )
)
