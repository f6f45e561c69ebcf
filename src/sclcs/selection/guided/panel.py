"""The panel: cheap operators known on the whole cohort, which guide the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sclcs.benchmark import (
    Criterion,
    FCSource,
    Kernel,
    KernelView,
    PairRules,
    Question,
    Target,
    as_source,
    find_criterion,
    make_kernel,
    make_question,
)
from sclcs.benchmark.pairs.pair_design import SampleCodes, sample_codes
from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError, name_first
from sclcs.core.progress import track
from sclcs.core.seeds import generator
from sclcs.selection.guided.kernel import FORMULAS

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "PROXY",
    "Panel",
    "make_panel",
    "most_candidates",
    "panel_operators",
    "score_of",
    "unseen_families",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEWEST_OPERATORS = 4  # a line through fewer scores says nothing about others
FEWEST_UNSEEN = 25
#: What is searched where pair sums cannot give the score that was asked for.
PROXY = "cohen_d"
#: Sums of pairs count every pair alike; windows that share time points are not compared.
POOLED = PairRules(pooled=True)


@dataclass(frozen=True, eq=False)
class Panel:
    """Operators on the candidates, and their scores on the whole cohort.

    Parameters
    ----------
    operators, families : list of str
        One per operator.
    similarity : array of float32, shape (candidate, candidate, operator)
    rows : array of int
        The candidates' rows in the cohort.
    samples : DataFrame
        The candidates' rows of facts.
    targets : list of Target
        What the operators are ranked for.
    codes : list of SampleCodes
        Class, block and place of each candidate; one per task.
    full : array, shape (task, operator)
        Searched scores on the whole cohort.
    asked : array, shape (task, operator)
        Scores that were asked for, on the whole cohort.
    sizes : array, shape (task, operator)
        Cohen's d on the whole cohort, all pairs pooled: how large the effects are.
    scores : tuple of str
        The names of the asked scores, one per task.
    n_timepoints : int, optional
        Length of a window.
    left_out : dict of str to str
        Operators of the panel that could not be used, and why.
    """

    operators: list[str]
    families: list[str]
    similarity: NDArray[np.float32]
    rows: Integers
    samples: pd.DataFrame
    targets: list[Target]
    codes: list[SampleCodes]
    full: Floats
    asked: Floats
    sizes: Floats
    scores: tuple[str, ...]
    n_timepoints: int | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        """What the operators are ranked for, by name."""
        return [target.name for target in self.targets]

    @property
    def searched(self) -> str:
        """The score that the search follows, all pairs pooled: the one asked for, or its proxy."""
        return _searched(self.scores)

    @property
    def classes(self) -> Integers:
        """Class of each candidate (task, candidate)."""
        return np.stack([codes.classes for codes in self.codes])

    @property
    def blocks(self) -> Integers:
        """Block of each candidate (task, candidate)."""
        return np.stack([codes.blocks for codes in self.codes])

    @property
    def places(self) -> Floats:
        """Where the window of each candidate begins."""
        return self.codes[0].places

    def only(self, places: Integers) -> Panel:
        """Return the panel with some of its operators."""
        return replace(
            self,
            operators=[self.operators[place] for place in places],
            families=[self.families[place] for place in places],
            similarity=np.ascontiguousarray(self.similarity[:, :, places]),
            full=self.full[:, places],
            asked=self.asked[:, places],
            sizes=self.sizes[:, places],
        )

    def of_task(self, name: str) -> Panel:
        """Return the panel with one of its tasks."""
        task = self.tasks.index(name)
        return replace(
            self,
            targets=[self.targets[task]],
            codes=[self.codes[task]],
            full=self.full[[task]],
            asked=self.asked[[task]],
            sizes=self.sizes[[task]],
            scores=(self.scores[task],),
        )


def _searched(scores: Sequence[str]) -> str:
    """Return the one score that the search follows for all tasks."""
    return scores[0] if len(set(scores)) == 1 and scores[0] in FORMULAS else PROXY


def make_panel(
    cohort: Cohort,
    tasks: Sequence[str | Target],
    spis: str | Sequence[str] = "panel",
    *,
    score: str | None = None,
    fc: FCSource | xr.DataArray | None = None,
    memory_gb: float = 3.0,
    n_jobs: int = 1,
    seed: int = 0,
) -> Panel:
    """Compute the panel on a cohort.

    Parameters
    ----------
    cohort : Cohort
    tasks : sequence of str or Target
        What the operators are ranked for: the subject, or labels.
    spis : str or sequence of str
        The operators, see :func:`sclcs.spi.resolve`; of operators that are bound to tie, the
        first is used.
    score : str, optional
        What operators will be ranked by; by default what each task is ranked by. The search
        follows it if pair sums give it, else :data:`PROXY`; the certificate is about it in any
        case.
    fc : FC store or DataArray, optional
        Matrices that are there already; otherwise they are computed.
    memory_gb : float
        For the similarities. If all samples do not fit, whole subjects are drawn as
        candidates; the scores are always those of all samples.
    n_jobs, seed : int
        For the engine; the seed also draws the candidates.

    Returns
    -------
    Panel
    """
    asked = [_question(cohort, task, PairRules()) for task in tasks]
    for question in asked:
        if question.degenerate:
            raise InputError(f"No core-set can be guided: {question.degenerate}")
    operators = panel_operators(spis)
    source, _ = as_source(
        cohort if fc is None else fc, cohort, spis=operators, n_jobs=n_jobs, seed=seed
    )
    rows = _candidates(cohort, len(operators), memory_gb, seed)
    scores = tuple(find_criterion(score, question.target).name for question in asked)
    return _gather(cohort, source, operators, asked, scores, rows)


def _question(cohort: Cohort, task: str | Target, rules: PairRules) -> Question:
    question = make_question(cohort.samples, task, rules=rules, n_timepoints=cohort.n_timepoints)
    if question.target.kind == "number":
        raise InputError(
            f"{question.target.name} is a number, and a core-set can only be guided by pairs of "
            "equal and different labels; choose another method, or leave the method out."
        )
    return question


def _gather(  # noqa: PLR0917
    cohort: Cohort,
    source: FCSource,
    operators: Sequence[str],
    asked: Sequence[Question],
    scores: tuple[str, ...],
    rows: Integers,
) -> Panel:
    places = source.samples.index.get_indexer(cohort.samples.index)
    if (places < 0).any():
        missing = [name for name, at in zip(cohort.sample_ids, places, strict=True) if at < 0]
        raise InputError(
            f"The panel is needed on all samples, but the matrices of {len(missing)} are not "
            f"there: {name_first(missing)}; compute the panel on the whole cohort."
        )
    targets = [question.target for question in asked]
    pooled = [_question(cohort, target, POOLED) for target in targets]
    wanted = [
        *((question, find_criterion(_searched(scores), question.target)) for question in pooled),
        *((question, find_criterion(PROXY, question.target)) for question in pooled),
        *((q, find_criterion(name, q.target)) for q, name in zip(asked, scores, strict=True)),
    ]
    similarity = np.empty((len(rows), len(rows), len(operators)), dtype=np.float32)
    found: list[Floats] = []
    kept: list[str] = []
    left_out: dict[str, str] = {}
    for name in track(_by_source(source, operators), "guiding operators"):
        kernel = make_kernel(np.asarray(source.matrices(name))[places])
        values, reason = _full_scores(kernel, wanted)
        if reason:
            left_out[name] = reason
            continue
        units = kernel.units[rows]
        np.matmul(units, units.T, out=similarity[:, :, len(kept)])
        found.append(values)
        kept.append(name)
    _check_enough(kept, left_out)
    samples = cohort.samples.iloc[rows]
    full, sizes, chosen = np.split(np.stack(found, axis=1), 3)  # each (task, operator)
    return Panel(
        operators=kept,
        families=_families(kept),
        similarity=_first(similarity, len(kept)),
        rows=rows,
        samples=samples,
        targets=targets,
        codes=[sample_codes(samples, t, POOLED, cohort.n_timepoints) for t in targets],
        full=full,
        asked=chosen,
        sizes=sizes,
        scores=scores,
        n_timepoints=cohort.n_timepoints,
        left_out=left_out,
    )


def _by_source(source: FCSource, operators: Sequence[str]) -> list[str]:
    """Return the operators in the order in which the source computes them."""
    place = {name: k for k, name in enumerate(source.operators)}
    return sorted(operators, key=lambda name: place.get(name, 0))


def _first(similarity: NDArray[np.float32], n_operators: int) -> NDArray[np.float32]:
    if n_operators == similarity.shape[2]:
        return similarity
    return np.ascontiguousarray(similarity[:, :, :n_operators])


def _full_scores(
    kernel: Kernel, wanted: Sequence[tuple[Question, Criterion]]
) -> tuple[Floats, str]:
    """Return the score of every question, and why the operator cannot guide (or nothing)."""
    unusable = ~kernel.screen.usable
    if unusable.any():
        return np.empty(0), f"{int(unusable.sum())} samples have no usable matrix"
    _ = kernel.similarity  # one product serves every question
    scores = np.array([score_of(kernel, question, criterion) for question, criterion in wanted])
    if not np.isfinite(scores).all():
        return scores, "its score does not exist"
    return scores, ""


def score_of(kernel: Kernel, question: Question, criterion: Criterion) -> float:
    """Return one score of an operator under a question about the samples of its kernel."""
    view = KernelView(kernel.take(question.rows), question)
    return float(criterion.compute(view)[0])


def _check_enough(kept: Sequence[str], left_out: dict[str, str]) -> None:
    families = set(_families(kept))
    if len(kept) >= FEWEST_OPERATORS and len(families) >= 3:
        return
    why = name_first((f"{name} ({reason})" for name, reason in left_out.items()), 5)
    raise InputError(
        f"Guiding needs at least {FEWEST_OPERATORS} operators of 3 families, but {len(kept)} of "
        f"{len(families)} can be used on this cohort"
        + (f"; left out: {why}" if left_out else "")
        + "; give a larger panel=."
    )


def panel_operators(spis: str | Sequence[str]) -> list[str]:
    """Return the operators asked for, one of each group that is bound to tie."""
    from sclcs.spi import catalogue, resolve

    groups = catalogue()["rank_group"]
    first: dict[str, str] = {}
    for name in resolve(spis):
        first.setdefault(str(groups[name]) or name, name)
    return list(first.values())


def _families(operators: Sequence[str]) -> list[str]:
    from sclcs.spi import catalogue

    families = catalogue()["family"]
    return [str(families[name]) for name in operators]


def most_candidates(n_operators: int, memory_gb: float) -> int:
    """Return how many candidates' similarities fit into the memory."""
    return int(np.sqrt(memory_gb * 1e9 / (4 * n_operators)))


def unseen_families(panel: Panel) -> list[int]:
    """Return the sizes of the families of the fast set that the panel has no operator of.

    If they are too few to be worth a ranking, those of all families.
    """
    from sclcs.spi import catalogue

    table = catalogue()
    sizes = table[table["paper_fast"]]["family"].value_counts()
    unseen = sizes[~sizes.index.isin(panel.families)]
    return [int(size) for size in (unseen if unseen.sum() >= FEWEST_UNSEEN else sizes)]


def _candidates(cohort: Cohort, n_operators: int, memory_gb: float, seed: int) -> Integers:
    """Return the samples that may be chosen: all, or those of randomly drawn subjects."""
    most = most_candidates(n_operators, memory_gb)
    if len(cohort) <= most:
        return np.arange(len(cohort))
    names, codes = np.unique(cohort.samples["subject"].to_numpy(dtype=str), return_inverse=True)
    lots = generator(seed, "guided", "candidates").permutation(len(names))[codes]
    order = np.argsort(lots, kind="stable")
    return np.sort(order[:most])
