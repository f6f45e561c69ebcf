"""Estimation: how well operators of unseen families are estimated, and what confirming them wins.

Random halves of the families are "cheap": their scores on everybody are known. The others are
estimated from a core-set without labels. Then the most promising are confirmed one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark import (
    Inquiry,
    equivalence_groups,
    evaluate,
    find_criterion,
    make_kernel,
    make_question,
    ndcg,
)
from sclcs.benchmark.inference import best_set_p, effect_test
from sclcs.benchmark.prediction import FoldRules
from sclcs.benchmark.redraws import joint_draws
from sclcs.core.progress import track
from sclcs.estimation import (
    Estimate,
    Geometry,
    complete_geometry,
    krige,
    look_ahead,
    measure_geometry,
    next_operator,
    shipped_geometry,
)
from sclcs.experiments.figures import grid
from sclcs.experiments.guided_splits import random_half
from sclcs.experiments.registry import Experiment, Measured, Outcome, register, usual_operators
from sclcs.experiments.setup import Cell, Row, Setup
from sclcs.experiments.tables import Table, number
from sclcs.report.style import BLUE, ORANGE, finish
from sclcs.spi.catalogue import catalogue

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ESTIMATION"]

Floats = NDArray[np.float64]
#: Selectors that need neither labels nor a training; none of them looks at scores.
METHODS = ("random", "stratified", "kcenter")
NO_SCANS = "none"
PERMUTED = "permuted"
CONFIDENCE = 0.9
CONFIRMED = (0, 3, 8)
TOP = 5
HALVES, PERMUTATIONS = 40, 200
FOLDS = FoldRules(5, 1, None)  # of predict
TRIED = 32  # samples on which an operator must be finite to take part
TOY_OPERATORS = (
    "cov_EmpiricalCovariance", "prec_OAS", "kendalltau", "spearmanr", "xcorr_max_sig-True", "pec",
    "pdist_cityblock", "pdist_chebyshev", "mi_gaussian", "bary_euclidean_mean",
    "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-5", "phase_multitaper_mean_fs-1_fmin-0_fmax-0-5",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Truth:
    """What all operators score on everybody.

    Parameters
    ----------
    scores : array, shape (operator,)
    chance : float
    best : array of bool
        The set of operators that the whole cohort cannot tell from the best.
    p : float
        Family-wise, of all operators; NaN where it is not tested.
    false_alarms : float
        Share of permuted targets for which half of the operators would say "there is an effect".
    """

    scores: Floats
    chance: float
    best: NDArray[np.bool_]
    p: float
    false_alarms: float


def _operators(setup: Setup) -> Sequence[str]:
    return TOY_OPERATORS if setup.options.toy else usual_operators(setup)


def _criteria(setup: Setup, task: str) -> list[str]:
    default = "cohen_d" if task == "subject" else "share"
    return [default] if setup.options.toy or task == "subject" else [default, "predict"]


def _cells(setup: Setup) -> list[Cell]:
    options = setup.options
    methods = [name for name in METHODS if name in options.methods] or ["random"]
    choices = [(NO_SCANS, 0.0, options.seed)]
    choices += [
        (method, ratio, seed)
        for method in methods
        for ratio in options.ratios_up_to(0.05)
        for seed in options.seeds()
    ]
    criteria = [(task, score) for task in options.tasks for score in _criteria(setup, task)]
    cells: list[Cell] = [
        {"task": task, "score": score, "method": method, "ratio": ratio, "repeat": seed, "split": k}
        for task, score in criteria
        for method, ratio, seed in choices
        for k in options.split_numbers
    ]
    blank = {"method": PERMUTED, "ratio": 1.0, "repeat": options.seed, "split": 0}
    return cells + [{"task": task, "score": score, **blank} for task, score in criteria]


class _Study:
    """The cohort's truth and geometry, each part once."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.store = setup.store(list(_operators(setup)))
        names = [str(name) for name in self.store.operators if name in set(self._wanted())]
        rows = np.unique(np.linspace(0, len(self.store.sample_ids) - 1, TRIED).astype(np.int64))
        kernels = {name: make_kernel(self.store.matrices(name, rows)) for name in names}
        groups, seen = equivalence_groups(names), set[str]()
        self.operators: list[str] = []
        for name, group in zip(names, groups, strict=True):
            if kernels[name].usable.all() and (group or name) not in seen:
                seen.add(group or name)
                self.operators.append(name)
        families = catalogue()["family"].to_dict()
        self.families = [str(families[name]) for name in self.operators]
        self.truth = cache(self._truth)
        self.geometry = cache(self._geometry)

    def _wanted(self) -> list[str]:
        from sclcs.spi import resolve

        return resolve(list(_operators(self.setup)))

    def half(self, number: int) -> NDArray[np.bool_]:
        """Return which operators are known on everybody."""
        limits = {"fewest_held_out": 4, "fewest_families": 2} if self.setup.options.toy else {}
        split = random_half(self.families, number, **limits)
        known = np.ones(len(self.operators), dtype=bool)
        known[split.held_out] = False
        return known

    def _truth(self, task: str, score: str) -> Truth:
        store, criterion = self.store, find_criterion(score)
        question = make_question(
            store.samples, task, n_timepoints=store.n_timepoints, drop_missing=True, folds=FOLDS
        )
        chance = criterion.chance_for(question.target) or 0.0
        tested = score != "predict" and question.permutable
        inquiry = Inquiry(
            question,
            (criterion,),
            question.halves(HALVES, 0) if score != "predict" else None,
            question.permutations(PERMUTATIONS, 0) if tested else None,
        )
        (answer,) = evaluate(store, self.operators, [inquiry], n_jobs=self.setup.options.jobs)
        # An operator that fails on some sample knows nothing.
        scores = np.nan_to_num(answer.point[criterion.name], nan=chance)
        best = scores >= scores.max()
        if inquiry.draws is not None:
            halves = np.nan_to_num(answer.drawn[criterion.name], nan=chance)
            drawn = joint_draws(scores, halves, 300, 0)
            best = best_set_p(scores, drawn, question.n_subjects) > 1 - CONFIDENCE
        p = false = float("nan")
        if tested:
            statistics = answer.statistics[criterion.name]
            p = float(np.nanmin(effect_test(statistics).p))
            false = self._false_alarms(statistics)
        return Truth(scores, chance, best, p, false)

    def _false_alarms(self, statistics: Floats) -> float:
        """Let every permutation be the observed one in turn, for the operators of one half."""
        part = statistics[self.half(self.setup.options.seed)]
        alarms = []
        for place in range(1, part.shape[1]):
            others = np.delete(part, [0, place], axis=1)
            turned = np.column_stack([part[:, place], others])
            alarms.append(np.nanmin(effect_test(turned).p) < 0.05)
        return float(np.mean(alarms))

    def _geometry(self, method: str, ratio: float, seed: int) -> Geometry:
        if method == NO_SCANS:
            return complete_geometry(self.operators, None, shipped_geometry())
        core = self.setup.select(method, ratio, seed)
        rows = np.sort(core.rows(self.store.sample_ids)).astype(np.int64)
        names = self.store.samples["subject"].astype(str).to_numpy()[rows]
        subjects = np.unique(names, return_inverse=True)[1].astype(np.int64)
        kernels = [
            make_kernel(self.store.matrices(name, rows)).similarity for name in self.operators
        ]
        measured = measure_geometry(self.operators, kernels, subjects)
        return complete_geometry(self.operators, measured, shipped_geometry())


def _measure(setup: Setup, cells: Sequence[Cell]) -> Iterator[Measured]:
    study = _Study(setup)
    for cell in track(cells, "estimates"):
        truth = study.truth(cell["task"], cell["score"])
        if cell["method"] == PERMUTED:
            yield cell, [{"effect_p": truth.p, "says_no_effect": 1 - truth.false_alarms}]
            continue
        geometry = study.geometry(cell["method"], cell["ratio"], cell["repeat"])
        known = study.half(cell["split"])
        yield cell, [_row(study, truth, geometry, known, cell["score"])]


def _estimate(
    study: _Study, truth: Truth, geometry: Geometry, known: NDArray[np.bool_], score: str
) -> Estimate:
    return krige(
        study.operators,
        geometry.similarity,
        np.where(known, truth.scores, np.nan),
        study.families,
        chance=truth.chance,
        scale=geometry.share_scale if score == "share" else None,
    )


def _row(
    study: _Study, truth: Truth, geometry: Geometry, known: NDArray[np.bool_], score: str
) -> Row:
    from scipy.stats import kendalltau

    estimate = _estimate(study, truth, geometry, known, score)
    held, scores = ~known, truth.scores
    low, high = estimate.interval(CONFIDENCE)
    top = min(TOP, int(held.sum()))
    limit = np.sort(low[held])[-top]
    dropped = held & (high < limit)
    truly = np.argsort(-np.where(held, scores, -np.inf))[:top]
    row: dict[str, Any] = {
        "effect_p": truth.p,
        "ndcg@10": ndcg(scores[held], estimate.mean[held], 10),
        "kendall": float(kendalltau(scores[held], estimate.mean[held]).statistic),
        "coverage": float(((low <= scores) & (scores <= high))[held].mean()),
        "dropped": float(dropped.sum() / held.sum()),
        "kept": float(not dropped[truly].any()),
    }
    return row | _confirm(study, truth, geometry, known, score)


def _confirm(
    study: _Study, truth: Truth, geometry: Geometry, known: NDArray[np.bool_], score: str
) -> dict[str, float]:
    """Confirm operators one after another, each at the same price."""
    now, found = known.copy(), dict[str, float]()
    scores = truth.scores
    spread = max(float(scores.max() - np.median(scores)), 1e-12)
    for count in range(max(CONFIRMED) + 1):
        look = look_ahead(_estimate(study, truth, geometry, now, score))
        chosen = int(np.where(now, scores, -np.inf).argmax())
        if count in CONFIRMED:
            found[f"regret_{count}"] = float(scores.max() - scores[chosen]) / spread
            found[f"in_best_set_{count}"] = float(truth.best[chosen])
            found[f"set_holds_best_{count}"] = float(look.members[int(scores.argmax())])
        place = next_operator(look, np.where(now, np.inf, 1.0))
        if place is not None:
            now[place] = True
    return found


MEASURES = (
    "ndcg@10", "kendall", "coverage", "dropped", "kept",
    *(f"{name}_{k}" for k in CONFIRMED for name in ("regret", "in_best_set", "set_holds_best")),
    "says_no_effect",
)  # fmt: skip


def _summarise(measured: pd.DataFrame) -> pd.DataFrame:
    keys = ["task", "score", "method", "ratio"]
    rows = []
    for values, part in measured.groupby(keys, sort=False):
        facts = dict(zip(keys, values, strict=True))
        facts["effect_p"] = part["effect_p"].iloc[0]
        for name in MEASURES:
            if name in part and part[name].notna().any():
                facts[name] = part[name].mean()
        if "ndcg@10" in facts:
            facts["ndcg@10_worst"] = part["ndcg@10"].min()
        rows.append({**facts, "n": len(part)})
    return pd.DataFrame(rows)


def _tables(summary: pd.DataFrame) -> list[Table]:
    estimates = summary[summary["method"] != PERMUTED]
    header = ["task", "score", "core-set", "nDCG@10 (worst)", "Kendall", "90 % cover", "dropped"]
    rows = [
        [
            str(row["task"]),
            f"`{row['score']}`",
            _core(row),
            f"{number(row['ndcg@10'], 3)} ({number(row['ndcg@10_worst'], 2)})",
            number(row["kendall"], 2),
            number(row["coverage"], 2),
            f"{number(100 * row['dropped'], 0)} % (kept {number(100 * row['kept'], 0)} %)",
        ]
        for row in estimates.to_dict(orient="records")
    ]
    caption = (
        "Operators of families that were never computed on everybody, estimated from the others "
        "(random halves of the families). Dropped: share that cannot be among the top five by "
        "its interval; kept: how often the true top five survived that."
    )
    return [
        Table("estimates", caption, header, rows),
        _confirmations(estimates),
        _permutations(summary),
    ]


def _core(row: dict[Any, Any]) -> str:
    if row["method"] == NO_SCANS:
        return "no scans"
    return f"{row['method']} {number(100 * row['ratio'], 0)} %"


def _confirmations(estimates: pd.DataFrame) -> Table:
    header = ["task", "score", "core-set"]
    header += [f"after {k}" for k in CONFIRMED]
    rows = []
    for row in estimates.to_dict(orient="records"):
        cells = [
            f"{number(100 * row[f'regret_{k}'], 1)} % / {number(100 * row[f'in_best_set_{k}'], 0)} "
            f"% / {number(100 * row[f'set_holds_best_{k}'], 0)} %"
            for k in CONFIRMED
        ]
        rows.append([str(row["task"]), f"`{row['score']}`", _core(row), *cells])
    caption = (
        "After so many confirmations: regret (of best minus median) / the chosen operator is in "
        "the best set of the whole cohort / the run's own 90 % set holds the true best. Where no "
        "best set is known (predict), only the best itself counts."
    )
    return Table("confirmations", caption, header, rows)


def _permutations(summary: pd.DataFrame) -> Table:
    rows = [
        [
            str(row["task"]),
            f"`{row['score']}`",
            number(row["effect_p"], 3),
            f"{number(100 * row.get('says_no_effect', float('nan')), 1)} %",
        ]
        for row in summary[summary["method"] == PERMUTED].to_dict(orient="records")
    ]
    caption = (
        "Family-wise p of the cohort, and how often the run says 'no effect' to permuted ones."
    )
    return Table("permuted", caption, ["task", "score", "p", "says no effect"], rows)


def _draw(outcome: Outcome) -> Figure:
    part = outcome.summary[outcome.summary["method"] != PERMUTED]
    names = [f"{task}, {score}" for task, score in zip(part["task"], part["score"], strict=True)]
    figure, axes = grid(1, 2, (4.8, 3.6))
    for panel, name, title in (
        (axes[0][0], "ndcg@10", "nDCG@10 of unseen families"),
        (axes[0][1], "regret_8", "regret after 8 confirmations"),
    ):
        for colour, method in ((ORANGE, NO_SCANS), (BLUE, "random")):
            chosen = part["method"] == method
            places = [sorted(set(names)).index(label) for label in np.array(names)[chosen]]
            panel.plot(part.loc[chosen, name], places, "o", color=colour, label=method)
        panel.set_yticks(range(len(set(names))), sorted(set(names)), fontsize=7)
        finish(panel, title, "", "")
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


ESTIMATION = register(
    Experiment(
        name="estimation",
        title="How well are operators of unseen families estimated, and what does confirming win?",
        paper="not in the paper",
        cells=_cells,
        measure=_measure,
        summarise=_summarise,
        tables=_tables,
        draw=_draw,
        operators=_operators,
    )
)
