"""Geometry: how operators lie to each other. It needs no labels and is the same for every question.

Two operators are alike if they call the same pairs of samples alike. A table measured on
simulated and open data ships with the package; a handful of scans of the cohort at hand, its
core-set, sharpens it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from sclcs._core import SUBJECTS_WORTH_THE_TABLE, InputError, checked, name_first

__all__ = [
    "Geometry",
    "blend_geometries",
    "complete_geometry",
    "gather_geometry",
    "map_operators",
    "measure_geometry",
    "shipped_geometry",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TABLE = "geometry.npz"
NEAR = 1e-6  # of the middle of a map


@dataclass(frozen=True, eq=False)
class Geometry:
    """How alike operators are, and what their kernels look like.

    Parameters
    ----------
    operators : tuple of str
    similarity : array, shape (operator, operator)
        Cosine of two operators' similarities over pairs of samples; 1 on the diagonal.
    level, spread : array, shape (operator,)
        Mean and standard deviation of an operator's similarities of different subjects.
    n_subjects : float
        How many subjects it was measured on; 0 for the shipped table.
    """

    operators: tuple[str, ...]
    similarity: Floats
    level: Floats
    spread: Floats
    n_subjects: float

    @property
    def share_scale(self) -> Floats:
        """What turns an explained share into something that geometry carries over.

        A share is an effect by the variance around it. The effect is linear in the kernel and
        grows with the spread of the similarities; the variance is one minus their level.
        """
        return np.asarray((1.0 - self.level) / np.maximum(self.spread, np.finfo(np.float64).eps))

    def take(self, operators: Sequence[str]) -> Geometry:
        """Return the geometry of some operators, in the order given."""
        place = {name: k for k, name in enumerate(self.operators)}
        missing = [name for name in operators if name not in place]
        if missing:
            raise InputError(f"The geometry of {name_first(missing)} was never measured.")
        rows = np.array([place[name] for name in operators], dtype=np.int64)
        return Geometry(
            tuple(operators),
            self.similarity[np.ix_(rows, rows)],
            self.level[rows],
            self.spread[rows],
            self.n_subjects,
        )


def gather_geometry(
    operators: Sequence[str], columns: Sequence[Floats], n_subjects: float
) -> Geometry:
    """Make a geometry of the similarities of every operator.

    Parameters
    ----------
    operators : sequence of str
    columns : sequence of array, shape (pair,)
        Of each operator, over the same pairs of samples of different subjects.
    n_subjects : float
        How many subjects form the pairs.

    Returns
    -------
    Geometry
    """
    table = np.stack(columns, axis=1).astype(np.float64)
    lengths = np.maximum(np.linalg.norm(table, axis=0), np.finfo(np.float64).eps)
    similarity = (table / lengths).T @ (table / lengths)
    np.fill_diagonal(similarity, 1.0)
    return Geometry(tuple(operators), similarity, table.mean(axis=0), table.std(axis=0), n_subjects)


@checked
def measure_geometry(
    operators: Sequence[str], kernels: Sequence[NDArray[np.floating]], subjects: Integers
) -> Geometry:
    """Measure geometry on the samples of a core-set.

    Parameters
    ----------
    operators : sequence of str
    kernels : sequence of array, shape (sample, sample)
        Similarities of the core-set's samples under each operator.
    subjects : array of int, shape (sample,)
        Pairs of samples of one subject do not count.

    Returns
    -------
    Geometry
    """
    size = len(subjects)
    if len(kernels) != len(operators) or any(k.shape != (size, size) for k in kernels):
        raise InputError(
            f"Geometry needs one kernel of {size} x {size} samples per operator, got shapes "
            f"{name_first([kernel.shape for kernel in kernels]) or 'none'}."
        )
    first, second = np.triu_indices(size, k=1)
    apart = subjects[first] != subjects[second]
    first, second = first[apart], second[apart]
    if len(first) < 3:
        raise InputError("Geometry needs at least three subjects in the core-set.")
    columns = [np.asarray(kernel[first, second], dtype=np.float64) for kernel in kernels]
    return gather_geometry(operators, columns, float(len(np.unique(subjects))))


def blend_geometries(measured: Geometry, table: Geometry | None) -> Geometry:
    """Sharpen the shipped table by what was measured on the cohort at hand.

    Parameters
    ----------
    measured : Geometry
    table : Geometry, optional
        Operators that are not in it (a user's own) keep what was measured.

    Returns
    -------
    Geometry
        Of the measured operators. Level and spread are always those of the cohort.
    """
    if table is None:
        return measured
    known = np.array([name in set(table.operators) for name in measured.operators])
    if not known.any():
        return measured
    names = [name for name, there in zip(measured.operators, known, strict=True) if there]
    prior = measured.similarity.copy()
    prior[np.ix_(known, known)] = table.take(names).similarity
    weight = SUBJECTS_WORTH_THE_TABLE / (SUBJECTS_WORTH_THE_TABLE + measured.n_subjects)
    similarity = _nearest_similarity((1 - weight) * measured.similarity + weight * prior)
    return Geometry(
        measured.operators, similarity, measured.level, measured.spread, measured.n_subjects
    )


@checked
def complete_geometry(
    operators: Sequence[str], measured: Geometry | None, table: Geometry | None
) -> Geometry:
    """Put what was measured on the cohort and what the shipped table says together.

    Parameters
    ----------
    operators : sequence of str
        All that are asked about.
    measured : Geometry, optional
        Of some of them, on the core-set.
    table : Geometry, optional
        The shipped one: it sharpens what was measured, and speaks alone for the others.

    Returns
    -------
    Geometry
        An operator that neither knows is a stranger: unlike all others.
    """
    count = len(operators)
    if not count:
        raise InputError("Geometry needs at least one operator, got none.")
    similarity, known = np.eye(count), np.zeros(count, dtype=bool)
    level, spread = np.full(count, np.nan), np.full(count, np.nan)
    parts = [] if table is None else [_among(_at_home(table, measured), operators)]
    if measured is not None:
        parts.append(blend_geometries(_among(measured, operators), table))
    for part in parts:  # what was measured comes last and counts
        place = {name: k for k, name in enumerate(part.operators)}
        rows = np.array([k for k, name in enumerate(operators) if name in place], dtype=np.int64)
        inner = np.array([place[operators[k]] for k in rows], dtype=np.int64)
        similarity[np.ix_(rows, rows)] = part.similarity[np.ix_(inner, inner)]
        level[rows], spread[rows], known[rows] = part.level[inner], part.spread[inner], True
    level[~known], spread[~known] = _usual(level), _usual(spread)
    size = 0.0 if measured is None else measured.n_subjects
    return Geometry(tuple(operators), _nearest_similarity(similarity), level, spread, size)


def _at_home(table: Geometry, measured: Geometry | None) -> Geometry:
    """Bring level and spread of the table to the cohort at hand.

    Both depend on how many regions and time points there are. What the operators that were
    measured have more or less than in the table is expected of the others, too.
    """
    if measured is None:
        return table
    both = [name for name in measured.operators if name in set(table.operators)]
    if not both:
        return table
    here, there = measured.take(both), table.take(both)
    least = np.finfo(np.float64).eps
    apart = np.median(np.maximum(1 - here.level, least) / np.maximum(1 - there.level, least))
    wider = np.median(np.maximum(here.spread, least) / np.maximum(there.spread, least))
    level = 1 - (1 - table.level) * apart
    return Geometry(
        table.operators, table.similarity, level, table.spread * wider, table.n_subjects
    )


def _among(geometry: Geometry, operators: Sequence[str]) -> Geometry:
    wanted = set(operators)
    return geometry.take([name for name in geometry.operators if name in wanted])


def _usual(values: Floats) -> float:
    return float(np.nanmedian(values)) if np.isfinite(values).any() else 1.0


def _nearest_similarity(matrix: Floats) -> Floats:
    """Make a blended table a possible one: no direction may have a negative size."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values[0] >= 0:
        return matrix
    fixed = (vectors * np.maximum(values, 0.0)) @ vectors.T
    size = np.sqrt(np.diagonal(fixed))
    return np.asarray(fixed / np.outer(size, size))


@cache
def shipped_geometry() -> Geometry:
    """Return the table that comes with the package; ``tools/make_geometry.py`` makes it."""
    with (files("sclcs.decision") / TABLE).open("rb") as stream:
        stored = np.load(stream, allow_pickle=False)
        return Geometry(
            tuple(str(name) for name in stored["operators"]),
            stored["similarity"].astype(np.float64),
            stored["level"].astype(np.float64),
            stored["spread"].astype(np.float64),
            0.0,
        )


@checked
def map_operators(similarity: Floats) -> Floats:
    """Draw a map: operators that are alike lie close (classical scaling).

    Parameters
    ----------
    similarity : array, shape (operator, operator)

    Returns
    -------
    array, shape (operator, 2)
        The signs are chosen so that the first operator that is not in the middle lies to the
        upper right.
    """
    if not np.isfinite(similarity).all():
        raise InputError("Expected finite similarities, but some are NaN or infinite.")
    distance = np.maximum(2 - 2 * similarity, 0.0)
    centre = np.eye(len(distance)) - 1 / len(distance)
    values, vectors = np.linalg.eigh(-0.5 * centre @ distance @ centre)
    places = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    if places.shape[1] < 2:
        places = np.column_stack([places, np.zeros(len(places))])
    for axis in range(2):
        far = places[np.abs(places[:, axis]) > NEAR, axis]
        if len(far) and far[0] < 0:
            places[:, axis] *= -1
    return np.asarray(places)
