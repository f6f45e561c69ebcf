"""What ``estimation`` measures: the truth, what a core-set shows, and how good an estimate is.

The designs at the top are label-free: samples that may show best how operators lie to each other.
All of them look at one kernel of the samples, the mean of those of a few cheap operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.setup import Row, Setup
from sclcs._core import InputError, generator
from sclcs.cohort import CoreSet
from sclcs.coresets import core_size
from sclcs.decision import (
    Estimate,
    Geometry,
    complete_geometry,
    krige,
    look_ahead,
    measure_geometry,
    next_operator,
    shipped_geometry,
)
from sclcs.spi import catalogue, resolve
from sclcs.stats import (
    FoldRules,
    Inquiry,
    Question,
    effect_test,
    equivalence_groups,
    evaluate,
    find_criterion,
    make_kernel,
    make_question,
    regret,
)
from sclcs.stats.concordance import agreement
from sclcs.stats.findings import halves_agreement
from sclcs.stats.inference import best_set_p, joint_draws

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
RIDGE = 1e-3  # of the mean variance


def _centred(kernel: Floats) -> Floats:
    """Take the mean out: what all samples share shows nothing."""
    rows = kernel.mean(axis=0)
    return np.asarray(kernel - rows - rows[:, None] + rows.mean(), dtype=np.float64)


def draw_by_leverage(kernel: Floats, size: int, seed: int) -> Integers:
    """Draw samples that are hard to replace more often: in proportion to ridge leverage."""
    centred = _centred(kernel)
    ridge = np.trace(centred) / size * np.eye(len(centred))
    leverage = np.diagonal(np.linalg.solve(centred + ridge, centred)).clip(min=1e-12)
    lots = generator(seed, "leverage").exponential(size=len(kernel)) / leverage
    return np.argsort(lots)[:size].astype(np.int64)


def spread_volume(kernel: Floats, size: int, seed: int) -> Integers:
    """Take the sample that adds most volume, again and again (D-optimal, pivoted Cholesky)."""
    centred = _centred(kernel)
    left = np.diagonal(centred) + RIDGE * np.trace(centred) / len(centred)
    chosen = [int(generator(seed, "d-optimal").integers(len(kernel)))]
    columns = np.zeros((len(kernel), size))
    for step in range(size):
        pivot = chosen[step]
        column = centred[:, pivot] - columns[:, :step] @ columns[pivot, :step]
        columns[:, step] = column / np.sqrt(max(left[pivot], 1e-12))
        left = left - columns[:, step] ** 2
        left[chosen] = -np.inf
        chosen.append(int(left.argmax()))
    return np.array(chosen[:size], dtype=np.int64)


def cover(kernel: Floats, size: int, seed: int) -> Integers:
    """Take the sample that is farthest from those already taken (k-center of the kernel)."""
    own = np.diagonal(kernel)
    chosen = [int(generator(seed, "kernel k-center").integers(len(kernel)))]
    nearest = np.full(len(kernel), np.inf)
    while len(chosen) < size:
        last = chosen[-1]
        nearest = np.minimum(nearest, own + own[last] - 2 * kernel[:, last])
        nearest[chosen] = -np.inf
        chosen.append(int(nearest.argmax()))
    return np.array(chosen, dtype=np.int64)


#: From a kernel of all samples, a size and a seed to the places of the chosen ones.
DESIGNS: dict[str, Callable[[Floats, int, int], Integers]] = {
    "leverage": draw_by_leverage,
    "d-optimal": spread_volume,
    "kernel-center": cover,
}


NO_SCANS = "none"
EVERYBODY = "everybody"  # shows the geometry: what no core-set can better
NOTHING = "nothing"  # is given
CONFIDENCE = 0.9
HALVES, PERMUTATIONS = 40, 200
FOLDS = FoldRules(5, 1, None)  # of predict
TRIED = 32  # samples on which an operator must be finite to take part
FEWEST_HELD_OUT = 25  # nDCG@10 among fewer operators is easy
FEWEST_FAMILIES = 4
MOST_TRIES = 10_000
FAST, PANEL, HALF = "fast", "panel", "half"


def random_half(
    families: Sequence[str],
    number: int,
    *,
    fewest_held_out: int = FEWEST_HELD_OUT,
    fewest_families: int = FEWEST_FAMILIES,
) -> Booleans:
    """Split operators by family at random, until both sides are large enough to mean something.

    Parameters
    ----------
    families : sequence of str
        Of each operator.
    number : int
        Another number gives another split.
    fewest_held_out, fewest_families : int
        What a side must have: operators and families.

    Returns
    -------
    array of bool
        Operators of one side, which are known; the others are held out.
    """
    names = sorted(set(families))
    if len(names) < 2 * fewest_families or len(families) < 2 * fewest_held_out:
        raise InputError(
            f"Expected at least {2 * fewest_held_out} operators of {2 * fewest_families} families "
            f"to split by family, got {len(families)} of {len(names)}; give more operators."
        )
    # This label makes the splits of the committed results.
    random = generator(0, "guided-study", "split", number)
    for _ in range(MOST_TRIES):
        side = {name for name in names if random.random() < 0.5}
        inside = np.array([name in side for name in families])
        enough = min(len(side), len(names) - len(side)) >= fewest_families
        if enough and min(inside.sum(), (~inside).sum()) >= fewest_held_out:
            return inside
    raise InputError(
        f"The families of these {len(families)} operators cannot be split into two sides with "
        f"at least {fewest_held_out} operators each; one of them is too large. Give more operators."
    )


@dataclass(frozen=True)
class Asked:
    """A criterion: what operators are scored by."""

    task: str
    score: str
    given: tuple[str, ...] = ()


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
    halves_agree : float
        Kendall between the orders of two halves of the subjects: how well the cohort itself knows
        what is to be estimated; NaN for predictions.
    """

    scores: Floats
    chance: float
    best: Booleans
    p: float
    false_alarms: float
    halves_agree: float


@dataclass(frozen=True, eq=False)
class Sample:
    """What a core-set shows: geometry, and its own scores for every criterion that it allows."""

    geometry: Geometry
    own: dict[Asked, Floats]


class Study:
    """The cohort's truth and core-sets, each part once.

    Parameters
    ----------
    setup : Setup
    operators : sequence of str
        Names or sets.
    asked : sequence of Asked
        Every criterion.
    """

    def __init__(self, setup: Setup, operators: Sequence[str], asked: Sequence[Asked]) -> None:
        self.setup, self.asked = setup, list(asked)
        self.store = setup.store(list(operators))
        wanted = set(resolve(list(operators)))
        names = [str(name) for name in self.store.operators if name in wanted]
        rows = np.unique(np.linspace(0, len(self.store.sample_ids) - 1, TRIED).astype(np.int64))
        groups, seen = equivalence_groups(names), set[str]()
        self.operators: list[str] = []
        for name, group in zip(names, groups, strict=True):
            kernel = make_kernel(self.store.matrices(name, rows))
            if kernel.usable.all() and (group or name) not in seen:
                seen.add(group or name)
                self.operators.append(name)
        families = catalogue()["family"].to_dict()
        self.families = [str(families[name]) for name in self.operators]
        self.truth = cache(self._truth)
        self.sample = cache(self._sample)
        self.panel_kernel = cache(self._panel_kernel)

    def known(self, protocol: str, number: int) -> Booleans:
        """Return which operators are known on everybody."""
        if protocol != HALF:
            cheap = set(resolve("paper-fast" if protocol == FAST else "panel"))
            return np.array([name in cheap for name in self.operators])
        limits = {"fewest_held_out": 4, "fewest_families": 2} if self.setup.options.toy else {}
        return random_half(self.families, number, **limits)

    def _question(self, asked: Asked, core: CoreSet | None = None) -> Question:
        return make_question(
            self.store.samples,
            asked.task,
            core,
            n_timepoints=self.store.n_timepoints,
            covariates=asked.given,
            drop_missing=True,
            folds=FOLDS,
        )

    def _truth(self, asked: Asked) -> Truth:
        criterion, question = find_criterion(asked.score), self._question(asked)
        chance = criterion.chance_for(question.target) or 0.0
        told = asked.score != "predict"
        tested = told and question.permutable
        inquiry = Inquiry(
            question,
            (criterion,),
            question.halves(HALVES, 0) if told else None,
            question.permutations(PERMUTATIONS, 0) if tested else None,
        )
        jobs = self.setup.options.jobs
        (answer,) = evaluate(self.store, self.operators, [inquiry], n_jobs=jobs)
        # An operator that fails on some sample knows nothing.
        scores = np.nan_to_num(answer.point[criterion.name], nan=chance)
        best, agree = scores >= scores.max(), float("nan")
        if inquiry.draws is not None:
            halves = np.nan_to_num(answer.drawn[criterion.name], nan=chance)
            drawn = joint_draws(scores, halves, 300, 0)
            agree = halves_agreement(halves)["kendall"] or agree
            best = best_set_p(scores, drawn, question.n_subjects) > 1 - CONFIDENCE
        p = false = float("nan")
        if tested:
            statistics = answer.statistics[criterion.name]
            p = float(np.nanmin(effect_test(statistics).p))
            false = self._false_alarms(statistics)
        return Truth(scores, chance, best, p, false, agree)

    def _false_alarms(self, statistics: Floats) -> float:
        """Let every permutation be the observed one in turn, for the operators of one half."""
        part = statistics[self.known(HALF, self.setup.options.seed)]
        alarms = []
        for place in range(1, part.shape[1]):
            others = np.delete(part, [0, place], axis=1)
            turned = np.column_stack([part[:, place], others])
            alarms.append(np.nanmin(effect_test(turned).p) < 0.05)
        return float(np.mean(alarms))

    def _panel_kernel(self) -> Floats:
        """Return the mean similarity of all samples under the panel's operators."""
        panel = set(resolve("panel"))
        names = [name for name in self.operators if name in panel] or self.operators
        total = np.zeros((len(self.store.sample_ids),) * 2)
        for name in names:
            total += make_kernel(self.store.matrices(name)).similarity / len(names)
        return total

    def _choose(self, method: str, ratio: float, seed: int) -> CoreSet:
        if method not in DESIGNS:
            return self.setup.select(method, ratio, seed)
        size = core_size(self.setup.cohort, ratio)
        rows = DESIGNS[method](self.panel_kernel(), size, seed)
        names = np.asarray(self.store.sample_ids, dtype=object)[rows]
        return CoreSet(tuple(str(name) for name in names), method, {"ratio": ratio, "seed": seed})

    def _sample(self, method: str, ratio: float, seed: int) -> Sample:
        if method == NO_SCANS:
            return Sample(complete_geometry(self.operators, None, shipped_geometry()), {})
        if method == EVERYBODY:
            first = ~self.store.samples["subject"].duplicated().to_numpy()
            return Sample(self._geometry(np.flatnonzero(first).astype(np.int64)), {})
        core = self._choose(method, ratio, seed)
        geometry = self._geometry(np.sort(core.rows(self.store.sample_ids)).astype(np.int64))
        return Sample(geometry, self._own(core))

    def _geometry(self, rows: NDArray[np.int64]) -> Geometry:
        names = self.store.samples["subject"].astype(str).to_numpy()[rows]
        subjects = np.unique(names, return_inverse=True)[1].astype(np.int64)
        kernels = [
            make_kernel(self.store.matrices(name, rows)).similarity for name in self.operators
        ]
        measured = measure_geometry(self.operators, kernels, subjects)
        return complete_geometry(self.operators, measured, shipped_geometry())

    def _own(self, core: CoreSet) -> dict[Asked, Floats]:
        inquiries: dict[Asked, Inquiry] = {}
        for asked in self.asked:
            if asked.score == "predict":
                continue
            try:
                question = self._question(asked, core)
            except InputError:  # a class or a site is missing among so few
                continue
            inquiries[asked] = Inquiry(question, (find_criterion(asked.score),))
        found = evaluate(self.store, self.operators, list(inquiries.values()))
        return {
            asked: answer.point[asked.score] for asked, answer in zip(inquiries, found, strict=True)
        }


CONFIRMED = (0, 3, 8)
TOP = 5
MEASURES = (
    "halves_agree", "ndcg@10", "kendall", "coverage", "own_weight", "dropped", "kept",
    *(f"{name}_{k}" for k in CONFIRMED for name in ("regret", "in_best_set", "set_holds_best")),
    "steps_to_best", "says_no_effect",
)  # fmt: skip


def estimate_with(
    study: Study, asked: Asked, truth: Truth, sample: Sample, known: Booleans
) -> Estimate:
    """Estimate what is not known."""
    return krige(
        study.operators,
        sample.geometry.similarity,
        np.where(known, truth.scores, np.nan),
        study.families,
        chance=truth.chance,
        scale=sample.geometry.share_scale if asked.score == "share" else None,
        own=sample.own.get(asked),
    )


def measure_estimate(
    study: Study, asked: Asked, truth: Truth, sample: Sample, known: Booleans
) -> Row:
    """Compare an estimate with the truth, on the operators that were not known."""
    estimate = estimate_with(study, asked, truth, sample, known)
    held, scores = ~known, truth.scores
    low, high = estimate.interval(CONFIDENCE)
    top = min(TOP, int(held.sum()))
    limit = np.sort(low[held])[-top]
    dropped = held & (high < limit)
    order = agreement(scores[held], estimate.mean[held], (10,))
    truly = np.argsort(-np.where(held, scores, -np.inf))[:top]
    return {
        "effect_p": truth.p,
        "halves_agree": truth.halves_agree,
        "ndcg@10": order["ndcg@10"],
        "kendall": order["kendall"],
        "coverage": float(((low <= scores) & (scores <= high))[held].mean()),
        "own_weight": estimate.own_weight,
        "dropped": float(dropped.sum() / held.sum()),
        "kept": float(not dropped[truly].any()),
    }


def measure_confirmation(
    study: Study, asked: Asked, truth: Truth, sample: Sample, known: Booleans
) -> dict[str, Any]:
    """Confirm operators one after another, each at the same price."""
    now, found = known.copy(), dict[str, float]()
    scores = truth.scores
    best = int(scores.argmax())
    found["steps_to_best"] = float(max(CONFIRMED) + 1)
    for count in range(max(CONFIRMED) + 1):
        look = look_ahead(estimate_with(study, asked, truth, sample, now))
        chosen = int(np.where(now, scores, -np.inf).argmax())
        if now[best]:
            found["steps_to_best"] = min(found["steps_to_best"], float(count))
        if count in CONFIRMED:
            found[f"regret_{count}"] = regret(scores, scores[chosen])
            found[f"in_best_set_{count}"] = float(truth.best[chosen])
            found[f"set_holds_best_{count}"] = float(look.members[best])
        place = next_operator(look, np.where(now, np.inf, 1.0))
        if place is not None:
            now[place] = True
    return found
