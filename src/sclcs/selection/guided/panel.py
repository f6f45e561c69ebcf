"""The panel: cheap operators known on the whole cohort, which guide the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sclcs.benchmark.design import PairDesign, make_design
from sclcs.benchmark.fc_source import FCSource, as_source
from sclcs.benchmark.pairs import OperatorPairs
from sclcs.benchmark.scores import find_score
from sclcs.benchmark.similarity import OperatorVectors, operator_vectors
from sclcs.benchmark.tasks import Codes, Task, make_task
from sclcs.cohort.cohort import Cohort
from sclcs.core.errors import InputError, name_first
from sclcs.core.progress import track
from sclcs.core.seeds import generator

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Panel", "make_panel", "most_candidates", "unseen_families"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEWEST_OPERATORS = 4  # a line through fewer scores says nothing about others
FEWEST_UNSEEN = 25
SCORE = "cohen_d"


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
    codes : list of Codes
        Class, block and subject of each candidate; one per task.
    full : array, shape (task, operator)
        Scores on the whole cohort.
    tasks : list of str
    left_out : dict of str to str
        Operators of the panel that could not be used, and why.
    """

    operators: list[str]
    families: list[str]
    similarity: NDArray[np.float32]
    rows: Integers
    codes: list[Codes]
    full: Floats
    tasks: list[str]
    left_out: dict[str, str]

    @property
    def classes(self) -> Integers:
        """Class of each candidate (task, candidate)."""
        return np.stack([codes.classes for codes in self.codes])

    @property
    def blocks(self) -> Integers:
        """Block of each candidate (task, candidate)."""
        return np.stack([codes.blocks for codes in self.codes])

    def only(self, places: Integers) -> Panel:
        """Return the panel with some of its operators."""
        return Panel(
            [self.operators[place] for place in places],
            [self.families[place] for place in places],
            np.ascontiguousarray(self.similarity[:, :, places]),
            self.rows,
            self.codes,
            self.full[:, places],
            self.tasks,
            self.left_out,
        )


def make_panel(
    cohort: Cohort,
    tasks: Sequence[str | Task],
    spis: str | Sequence[str] = "panel",
    *,
    fc: FCSource | xr.DataArray | None = None,
    memory_gb: float = 3.0,
    n_jobs: int = 1,
    seed: int = 0,
) -> Panel:
    """Compute the panel on a cohort.

    Parameters
    ----------
    cohort : Cohort
    tasks : sequence of str or Task
        What the operators are ranked for.
    spis : str or sequence of str
        The operators, see :func:`sclcs.spi.resolve`; of operators that are bound to tie, the
        first is used.
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
    known = [make_task(task) for task in tasks]
    designs = [make_design(cohort.samples, task) for task in known]
    for design in designs:
        if design.degenerate:
            raise InputError(f"No core-set can be guided: {design.degenerate}")
    operators = panel_operators(spis)
    source, _ = as_source(
        cohort if fc is None else fc, cohort, spis=operators, n_jobs=n_jobs, seed=seed
    )
    return _gather(cohort, source, operators, designs, known, memory_gb, seed)


def _gather(  # noqa: PLR0917
    cohort: Cohort,
    source: FCSource,
    operators: Sequence[str],
    designs: Sequence[PairDesign],
    tasks: Sequence[Task],
    memory_gb: float,
    seed: int,
) -> Panel:
    places = source.samples.index.get_indexer(cohort.samples.index)
    if (places < 0).any():
        missing = [name for name, at in zip(cohort.sample_ids, places, strict=True) if at < 0]
        raise InputError(
            f"The panel is needed on all samples, but the matrices of {len(missing)} are not "
            f"there: {name_first(missing)}; compute the panel on the whole cohort."
        )
    rows = _candidates(cohort, len(operators), memory_gb, seed)
    similarity = np.empty((len(rows), len(rows), len(operators)), dtype=np.float32)
    full: list[Floats] = []
    kept: list[str] = []
    left_out: dict[str, str] = {}
    for name in track(_by_source(source, operators), "guiding operators"):
        vectors = operator_vectors(np.asarray(source.matrices(name))[places])
        scores, reason = _full_scores(vectors, designs)
        if reason:
            left_out[name] = reason
            continue
        units = vectors.units[rows]
        np.matmul(units, units.T, out=similarity[:, :, len(kept)])
        full.append(scores)
        kept.append(name)
    _check_enough(kept, left_out)
    codes = [_codes_of(task, cohort, rows) for task in tasks]
    names = [task.name for task in tasks]
    return Panel(
        kept, _families(kept), _first(similarity, len(kept)), rows, codes,
        np.stack(full, axis=1), names, left_out,
    )  # fmt: skip


def _by_source(source: FCSource, operators: Sequence[str]) -> list[str]:
    """Return the operators in the order in which the source computes them."""
    place = {name: k for k, name in enumerate(source.operators)}
    return sorted(operators, key=lambda name: place.get(name, 0))


def _first(similarity: NDArray[np.float32], n_operators: int) -> NDArray[np.float32]:
    if n_operators == similarity.shape[2]:
        return similarity
    return np.ascontiguousarray(similarity[:, :, :n_operators])


def _full_scores(vectors: OperatorVectors, designs: Sequence[PairDesign]) -> tuple[Floats, str]:
    """Return the score under each design, and why the operator cannot guide (or nothing)."""
    unusable = ~vectors.screen.usable
    if unusable.any():
        return np.empty(0), f"{int(unusable.sum())} samples have no usable matrix"
    compute = find_score(SCORE).compute
    scores = np.array(
        [compute(OperatorPairs(vectors.take(design.rows), design))[0] for design in designs]
    )
    if not np.isfinite(scores).all():
        return scores, "its score does not exist"
    return scores, ""


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


def _codes_of(task: Task, cohort: Cohort, rows: Integers) -> Codes:
    codes = task.codes(cohort.samples)
    return Codes(codes.classes[rows], codes.blocks[rows], codes.subjects[rows])
