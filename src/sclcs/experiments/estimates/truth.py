"""What all operators score on everybody, and what a core-set shows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark import (
    Inquiry,
    Question,
    equivalence_groups,
    evaluate,
    find_criterion,
    make_kernel,
    make_question,
)
from sclcs.benchmark.findings import halves_agreement
from sclcs.benchmark.inference import best_set_p, effect_test
from sclcs.benchmark.prediction import FoldRules
from sclcs.benchmark.redraws import joint_draws
from sclcs.cohort.coreset import CoreSet
from sclcs.core.errors import InputError
from sclcs.estimation import Geometry, complete_geometry, measure_geometry, shipped_geometry
from sclcs.experiments.estimates.designs import DESIGNS
from sclcs.experiments.guided_splits import random_half
from sclcs.experiments.setup import Setup
from sclcs.experiments.variants import selector_of
from sclcs.selection.registry import core_size
from sclcs.spi import resolve
from sclcs.spi.catalogue import catalogue

__all__ = ["CONFIDENCE", "EVERYBODY", "NO_SCANS", "Asked", "Sample", "Study", "Truth"]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
NO_SCANS = "none"
EVERYBODY = "everybody"  # shows the geometry: what no core-set can better
NOTHING = "nothing"  # is given
CONFIDENCE = 0.9
HALVES, PERMUTATIONS = 40, 200
FOLDS = FoldRules(5, 1, None)  # of predict
TRIED = 32  # samples on which an operator must be finite to take part
FAST, PANEL, HALF = "fast", "panel", "half"


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
        split = random_half(self.families, number, **limits)
        known = np.ones(len(self.operators), dtype=bool)
        known[split.held_out] = False
        return known

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
        # A core-set that was chosen by scores has errors that cannot be learned.
        guided = method not in DESIGNS and selector_of(method).guided
        return Sample(geometry, {} if guided else self._own(core))

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
