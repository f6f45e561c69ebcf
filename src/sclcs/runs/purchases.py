"""The heart of a budgeted run: estimate, compute what promises most per second, look again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs._core import ALPHA, FEWEST_SUBJECTS, SMALL_REGRET, InputError
from sclcs.decision import (
    Estimate,
    Geometry,
    Outlook,
    complete_geometry,
    krige,
    look_ahead,
    measure_geometry,
    next_purchase,
    shipped_geometry,
)
from sclcs.runs.budget import Costs
from sclcs.runs.matrices import compute_matrices
from sclcs.runs.order import RunOrder
from sclcs.runs.waves import ask_in_waves, in_waves, make_inquiries
from sclcs.spi import catalogue, operator_name
from sclcs.stats import (
    COLUMNS,
    Criterion,
    Effort,
    Evaluation,
    Inquiry,
    Ranking,
    descending_ranks,
    effect_test,
    equivalence_groups,
    evaluate,
    make_kernel,
    make_ranking,
    score_scale,
)

__all__ = [
    "NOT_ESTIMATED",
    "KnownScores",
    "Purchases",
    "cohort_geometry",
    "combine",
    "core_scores",
    "estimate_task",
    "twins",
]


UNTRAINABLE = "predict"  # a handful of samples trains no model


def core_scores(order: RunOrder, task: str) -> dict[str, float]:
    """Return the scores of all operators of the core-set, as far as its samples allow.

    Parameters
    ----------
    order : RunOrder
    task : str

    Returns
    -------
    dict
        Empty if the core-set cannot answer the task.
    """
    bought, criterion = order.allotment, order.criterion(task)
    if not bought.core_samples or criterion.name == UNTRAINABLE:
        return {}
    store = order.folder.core_matrices
    try:
        question = order.question(store.samples, task)
    except InputError:  # answered by everybody, but not by so few: a class or a site is missing
        return {}
    inquiry = Inquiry(question, (criterion,))
    operators = [*bought.panel, *bought.core]
    (found,) = evaluate(store, operators, [inquiry], order.measure, n_jobs=order.processes)
    scores = found.point[criterion.name]
    return {
        name: float(score)
        for name, score in zip(found.operators, scores, strict=True)
        if np.isfinite(score)
    }


Floats = NDArray[np.float64]


@dataclass
class KnownScores:
    """What is known about one task so far.

    Parameters
    ----------
    task : str
    criterion : Criterion
    inquiry : Inquiry
        The question with the halves and permutations of a ranking: what is computed is scored
        once, for the estimate and for the ranking.
    chance : float
        The score of an operator without information.
    p : float, optional
        Family-wise, of the panel; None if it cannot be tested.
    scores : dict of str to float
        Of the operators that were computed on everybody.
    own : dict of str to float
        Scores on the core-set, where it has any.
    answers : list of Evaluation
        All that was found out about the operators on everybody, part by part.
    """

    task: str
    criterion: Criterion
    inquiry: Inquiry
    chance: float
    p: float | None = None
    scores: dict[str, float] = field(default_factory=dict)
    own: dict[str, float] = field(default_factory=dict)
    answers: list[Evaluation] = field(default_factory=list)

    def add(self, answer: Evaluation) -> None:
        """Add what was found out about more operators; the first ones say if there is an effect."""
        name = self.criterion.name
        if not self.answers and self.inquiry.permutations is not None:
            p = effect_test(answer.statistics[name]).p
            tested = self.inquiry.question.permutable and np.isfinite(p).any()
            self.p = float(np.nanmin(p)) if tested else None
        self.answers.append(answer)
        self.scores |= dict(zip(answer.operators, answer.point[name].tolist(), strict=True))

    @property
    def sees_something(self) -> bool:
        """Whether the panel shows an effect, or nobody can tell."""
        return self.p is None or self.p < ALPHA

    @property
    def scale(self) -> float:
        """Best minus median of the scores that are known."""
        return score_scale(list(self.scores.values()))


def cohort_geometry(order: RunOrder) -> Geometry:
    """Return the geometry of all operators of a run: measured on its core-set, or shipped."""
    bought, folder = order.allotment, order.folder
    measured = None
    if bought.core_samples:
        store = folder.core_matrices
        subjects = store.samples["subject"].astype(str).to_numpy()
        codes = np.unique(subjects, return_inverse=True)[1].astype(np.int64)
        how = order.measure
        kernels = {
            name: make_kernel(store.matrices(name), how.vectorize, how.similarity)
            for name in (*bought.panel, *bought.core)
        }
        usable = [name for name, kernel in kernels.items() if kernel.usable.all()]
        if len(np.unique(codes)) >= FEWEST_SUBJECTS:
            measured = measure_geometry(usable, [kernels[n].similarity for n in usable], codes)
    return complete_geometry(order.operators, measured, shipped_geometry())


def twins(operators: Sequence[str], similarity: str = "spearman") -> dict[str, str]:
    """Return for every operator a name that it shares with those that rank alike."""
    if similarity != "spearman":  # what orders all pairs of regions alike has equal ranks only
        return {name: name for name in operators}
    groups = equivalence_groups(operators)
    return {name: group or name for group, name in zip(groups, operators, strict=True)}


def estimate_task(view: KnownScores, geometry: Geometry, names: Mapping[str, str]) -> Estimate:
    """Estimate the scores that are missing.

    Parameters
    ----------
    view : KnownScores
    geometry : Geometry
        Of one operator per entry.
    names : mapping
        See :func:`twins`: a twin that is known speaks for its entry.

    Returns
    -------
    Estimate
    """
    operators = list(geometry.operators)
    families = catalogue()["family"].reindex(operators).fillna("own").tolist()
    known = {names[n]: score for n, score in view.scores.items() if np.isfinite(score)}
    return krige(
        operators,
        geometry.similarity,
        np.array([known.get(names[name], np.nan) for name in operators]),
        families,
        chance=view.chance,
        scale=geometry.share_scale if view.criterion.name == "share" else None,
        own=np.array([view.own.get(name, np.nan) for name in operators]),
    )


class Purchases:
    """Computes operators on everybody, the most promising per second first, within a budget.

    Parameters
    ----------
    order : RunOrder

    Attributes
    ----------
    scoring_seconds : float
        CPU seconds that scoring the operators on everybody took, with redraws and permutations.
    scored_before : float
        The part of them that earlier stages or attempts spent.
    """

    def __init__(self, order: RunOrder) -> None:
        self.order = order
        self.costs: Costs = order.costs
        self.names = twins(order.operators, order.config.similarity)
        self.whole_geometry = cohort_geometry(order)
        self.geometry = self.whole_geometry.take(self._entries())
        self.left = order.allotment.left_seconds
        self.steps: list[dict[str, Any]] = []
        config = order.config
        self.effort = Effort.of(config)
        self.inquiries = make_inquiries(order)
        self.views = {task: self._view(task) for task in config.tasks}
        self.scoring_seconds = self.scored_before = 0.0
        self._score(order.allotment.panel)

    def _entries(self) -> list[str]:
        """Return one operator of those that rank alike: of the panel, or else the cheapest."""
        panel, table = set(self.order.allotment.panel), self.costs.table
        order = sorted(self.names, key=lambda name: (name not in panel, table[name].alone, name))
        chosen: dict[str, str] = {}
        for name in order:
            chosen.setdefault(self.names[name], name)
        wanted = set(chosen.values())
        return [name for name in self.order.operators if name in wanted]

    def _view(self, task: str) -> KnownScores:
        criterion, inquiry = self.order.criterion(task), self.inquiries[task]
        chance = criterion.chance_for(inquiry.question.target)
        return KnownScores(
            task,
            criterion,
            inquiry,
            0.0 if chance is None else chance,
            own=core_scores(self.order, task),
        )

    def _score(self, operators: Sequence[str]) -> None:
        """Find out about operators on everybody: one kernel of each serves every task."""
        order, views, begun = self.order, list(self.views.values()), time.process_time()
        if in_waves(order):
            asked = ask_in_waves(order, operators, self.inquiries)
            found, seconds = asked.tasks, asked.seconds
            self.scored_before += seconds - asked.spent
        else:
            inquiries = [view.inquiry for view in views]
            matrices = order.folder.whole_matrices
            found = evaluate(
                matrices, list(operators), inquiries, order.measure, n_jobs=order.processes
            )
            seconds = time.process_time() - begun
        for view, answer in zip(views, found, strict=True):
            view.add(answer)
        self.scoring_seconds += seconds

    def exact_ranking(self, task: str) -> Ranking:
        """Rank what was computed on everybody.

        Parameters
        ----------
        task : str

        Returns
        -------
        Ranking
        """
        view = self.views[task]
        ranking = make_ranking(
            Evaluation.together(view.answers),
            view.inquiry,
            self.effort,
            self.order.folder.whole_matrices.fingerprint,
            measure=self.order.measure,
        )
        ranking.expect_scores()
        return ranking

    @property
    def open_tasks(self) -> list[KnownScores]:
        """The tasks of which something can be estimated."""
        return [view for view in self.views.values() if view.sees_something]

    def outlooks(self) -> dict[str, tuple[Estimate, Outlook]]:
        """Return what is estimated and what it promises, for every task that has an effect."""
        estimates = {
            view.task: estimate_task(view, self.geometry, self.names) for view in self.open_tasks
        }
        return {task: (estimate, look_ahead(estimate)) for task, estimate in estimates.items()}

    def spend(self) -> str:
        """Compute operators until nothing promises enough or nothing fits; say why it stopped."""
        while True:
            looks = self.outlooks()
            if not looks:
                return "no effect"
            regret = self._regret(looks)
            if regret < SMALL_REGRET:
                return "settled"
            bundles = self.bundles()
            if not bundles:
                return "complete"
            chosen = next_purchase(
                [look for _, look in looks.values()],
                [view.scale for view in self.open_tasks],
                [bundle for bundle, _ in bundles],
                [seconds for _, seconds in bundles],
                self.left,
            )
            if chosen is None:
                return "budget spent"
            self._buy(*bundles[chosen], regret)

    def _regret(self, looks: Mapping[str, tuple[Estimate, Outlook]]) -> float:
        """Return the largest expected regret of all tasks, as a share of best minus median."""
        return max(look.regret / self.views[task].scale for task, (_, look) in looks.items())

    def bundles(self) -> list[tuple[list[int], float]]:
        """Return what could be computed next with its seconds: operators, and whole families."""
        operators = self.geometry.operators
        computed = {self.names[name] for view in self.views.values() for name in view.scores}
        open_places = [k for k, name in enumerate(operators) if self.names[name] not in computed]
        families: dict[str, list[int]] = {}
        for k in open_places:
            families.setdefault(self.costs.table[operators[k]].family, []).append(k)
        bundles = [[k] for k in open_places] + [m for m in families.values() if len(m) > 1]
        return [(b, self.costs.on_everybody(operators[k] for k in b)) for b in bundles]

    def _buy(self, places: Sequence[int], seconds: float, regret: float) -> None:
        names = [self.geometry.operators[k] for k in places]
        if not in_waves(self.order):
            compute_matrices(self.order, self.order.folder.whole_store, names)
        self._score(names)
        self.left -= seconds
        self.steps.append({"operators": names, "seconds": seconds, "regret_before": regret})


NOT_ESTIMATED = "not-estimated"


def combine(
    exact: Ranking,
    operators: Sequence[str],
    names: Mapping[str, str],
    found: tuple[Estimate, Outlook] | None,
    *,
    n_samples: Mapping[str, int],
    confidence: float,
) -> Ranking:
    """Add the operators that were not computed on everybody to the ranking of those that were.

    Parameters
    ----------
    exact : Ranking
        Of the operators that were computed on everybody.
    operators : sequence of str
        All that were asked for.
    names : mapping
        What operators share with those that rank alike.
    found : (Estimate, Outlook), optional
        Of one operator per entry; None if nothing may be estimated.
    n_samples : mapping
        On how many samples the others were computed.
    confidence : float
        Coverage of the intervals.

    Returns
    -------
    Ranking
        With the source of every score.
    """
    there = set(exact.table["spi"])
    twin_rows = {names[str(row["spi"])]: row for _, row in exact.table.iterrows()}
    rows: list[dict[Any, Any]] = []
    facts = _entry_facts(found, names, confidence)
    for name in operators:
        if name in there:
            continue
        twin = twin_rows.get(names[name])
        if twin is not None:  # ranks like one that was computed, by construction
            rows.append({**twin.to_dict(), "spi": name, "name": operator_name(name)})
        else:
            rows.append(_row(name, facts.get(names[name]), n_samples.get(name, 0)))
    if not rows:
        return exact
    table = pd.DataFrame([*exact.table.to_dict(orient="records"), *rows], columns=COLUMNS)
    table["equivalents"] = _equivalents(table["spi"].tolist(), names)
    table["rank_group"] = equivalence_groups(table["spi"].tolist())
    table["best_set"] = table["best_set"].astype(bool)
    members = _members(found, names)
    table["best_set"] |= np.array([names[name] in members for name in table["spi"]])
    table = _ranked(table, names)
    return Ranking(table, exact.task, exact.score, None, exact.provenance, exact.findings)


def _equivalents(operators: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Return the other operators that rank like each, in one text."""
    members: dict[str, list[str]] = {}
    for name in operators:
        members.setdefault(names[name], []).append(name)
    return [" ".join(n for n in members[names[name]] if n != name) for name in operators]


def _entry_facts(
    found: tuple[Estimate, Outlook] | None, names: Mapping[str, str], confidence: float
) -> dict[str, dict[str, Any]]:
    """Return score, interval and interval of the rank of every entry."""
    if found is None:
        return {}
    estimate, look = found
    low, high = estimate.interval(confidence)
    tails = [50 * (1 - confidence), 50 * (1 + confidence)]
    limits = np.percentile(
        descending_ranks(look.drawn), tails, axis=1, method="closest_observation"
    )
    return {
        names[name]: {
            "score": estimate.mean[k],
            "low": low[k],
            "high": high[k],
            "rank_low": limits[0, k],
            "rank_high": limits[1, k],
        }
        for k, name in enumerate(estimate.operators)
    }


def _members(found: tuple[Estimate, Outlook] | None, names: Mapping[str, str]) -> set[str]:
    if found is None:
        return set()
    estimate, look = found
    return {
        names[name] for name, member in zip(estimate.operators, look.members, strict=True) if member
    }


def _row(name: str, facts: Mapping[str, Any] | None, n_samples: int) -> dict[str, Any]:
    nothing = {"score": np.nan, "low": np.nan, "high": np.nan}
    row: dict[str, Any] = {
        "spi": name,
        "name": operator_name(name),
        "source": "estimated",
        "n_samples": n_samples,
        "best_set": False,
        "equivalents": "",
        "rank_group": "",
        "scatter_class": "",
        **(facts or nothing),
    }
    if facts is None:
        return row | {
            "status": NOT_ESTIMATED,
            "reason": "the operators on everybody show no effect that could be carried over",
        }
    where = f"computed on {n_samples} samples" if n_samples else "not computed at all"
    return row | {"status": "ok", "reason": f"estimated from operators like it; {where}"}


def _ranked(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Rank entries by score; the interval of an exact rank leaves room for estimated ones."""
    entry = np.array([names[str(name)] for name in table["spi"]])
    scores = table["score"].to_numpy(dtype=np.float64)
    firsts = np.unique(entry, return_index=True)[1]
    firsts = firsts[np.isfinite(scores[firsts])]
    ranks = dict(zip(entry[firsts], descending_ranks(scores[firsts]), strict=True))
    table["rank"] = [
        ranks.get(name, np.nan) if np.isfinite(score) else np.nan
        for name, score in zip(entry, scores, strict=True)
    ]
    others = table.iloc[firsts][lambda rows: rows["source"] == "estimated"]
    lows, highs = others["low"].to_numpy(), others["high"].to_numpy()
    exact = table["source"] == "exact"
    surely = [(lows > high).sum() for high in table.loc[exact, "high"]]
    maybe = [(highs > low).sum() for low in table.loc[exact, "low"]]
    table.loc[exact, "rank_low"] += np.array(surely, dtype=np.float64)
    table.loc[exact, "rank_high"] += np.array(maybe, dtype=np.float64)
    return table
