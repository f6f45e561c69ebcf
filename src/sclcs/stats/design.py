"""What a question makes of the features of any operator: weights, prepared once.

Every statistic is a sum over edges of products of *weights times features*: a permutation of
the target is one row of weights for each of its dimensions, a redraw of the subjects is one
regression. See :mod:`sclcs.stats.effects` for the products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError
from sclcs.stats.share import ShareModel, make_share_model

__all__ = ["EffectDesign", "Redraws", "apart", "make_design"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Weights = Literal["weights", "target_weights"]
SMALL = 1e-9  # relative size of what rounding leaves of zero
LEVERAGE_ONE = 1e-6  # a case that the design fits exactly says nothing about noise
BLOCK_NUMBERS = 4_000_000  # numbers in one block of permuted targets: about 32 MB


@dataclass(frozen=True, eq=False)
class EffectDesign:
    """A target beyond covariates, its permutations and redraws of the subjects.

    Parameters
    ----------
    model : ShareModel
        Target and covariates as columns.
    permutations : array of int, shape (permutation, case)
        Row p says whose target each case gets. Whoever draws them knows what may be exchanged:
        cases of one site, whole families, halves of the cohort (:func:`apart`).
    draws : array, shape (draw, case)
        How often each case counts: ones and zeros for halves, numbers for a bootstrap.
    rows : array of int, optional
        The cases that are looked at, if not all are.
    """

    model: ShareModel
    permutations: Integers
    draws: Floats
    rows: Integers | None = None

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.model.target)

    @property
    def n_permutations(self) -> int:
        """Number of permutations, the target as it is not counted."""
        return len(self.permutations)

    @cached_property
    def basis(self) -> Floats:
        """Orthonormal basis of the target beyond the covariates, shape (case, dimension)."""
        return self.model.effect_basis

    @cached_property
    def nuisance(self) -> Floats:
        """Orthonormal basis of the covariates, shape (case, column)."""
        columns = self.model.within_subjects(self.model.nuisance)
        basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
        limit = SMALL * max(float(np.linalg.norm(columns)), float(np.sqrt(len(columns))))
        return np.asarray(basis[:, sizes > limit])

    @cached_property
    def degrees(self) -> int:
        """Degrees of freedom that covariates and target leave."""
        taken = self.nuisance.shape[1] + self.basis.shape[1]
        if self.model.subjects is not None:
            taken += int(self.model.subjects.max()) + 1
        return int(self.n_cases - taken)

    def residual(self, features: NDArray[np.floating]) -> NDArray[np.floating]:
        """Take out of features (case, edge) what covariates (and repeated subjects) explain."""
        centred = features
        if self.model.subjects is not None:
            whole = self.model.within_subjects(np.asarray(features, dtype=np.float64))
            centred = whole.astype(features.dtype)
        basis = self.nuisance.astype(features.dtype)
        return np.asarray(centred - basis @ (basis.T @ centred))

    @cached_property
    def left(self) -> Floats:
        """The share of a case's variance that covariates leave."""
        return np.asarray(kept_variance(self.model) - (self.nuisance**2).sum(axis=1))

    @cached_property
    def unbiased(self) -> Floats:
        """What a squared residual counts, so that it is the noise of its case."""
        return np.where(self.left > LEVERAGE_ONE, 1.0 / np.maximum(self.left, SMALL), 0.0)

    @cached_property
    def weights(self) -> Floats:
        """The permuted target beyond covariates, shape (1 + permutation, dimension, case).

        The first is the target as it is. What the covariates leave of the target is permuted,
        and what they explain of *that* is taken out again (Smith; Winkler et al. 2014, table 1:
        the twin of Freedman & Lane 1983). Without the second step a permuted target has less
        left to explain than the real one, and every covariate makes the test find too much.
        """
        return self._permuted(self.basis)

    @cached_property
    def target_weights(self) -> Floats:
        """The same for the target as it is given: the models of which scatter is measured."""
        return self._permuted(self.model.within_subjects(self.model.target))

    def flat(self, name: Weights, dtype: np.dtype[np.floating]) -> NDArray[np.floating]:
        """Return one row per permutation and dimension, made once for all operators.

        Parameters
        ----------
        name : {"weights", "target_weights"}
        dtype : dtype

        Returns
        -------
        array, shape ((1 + permutation) * dimension, case)
        """
        if (name, dtype) not in self._flat:
            table: Floats = getattr(self, name)
            rows = table.reshape(-1, table.shape[2])
            self._flat[name, dtype] = np.ascontiguousarray(rows, dtype=dtype)
        return self._flat[name, dtype]

    @cached_property
    def _flat(self) -> dict[tuple[str, np.dtype[np.floating]], NDArray[np.floating]]:
        return {}

    @cached_property
    def squares(self) -> Floats:
        """How much of every case is in each permuted target, shape (1 + permutation, case)."""
        return np.asarray((self.weights**2).sum(axis=1))

    def _permuted(self, columns: Floats) -> Floats:
        orders = np.vstack([np.arange(self.n_cases)[None, :], self.permutations])
        step = max(1, BLOCK_NUMBERS // columns.size)
        starts = range(0, len(orders), step)
        return np.concatenate([self._left(columns[orders[i : i + step]]) for i in starts])

    def _left(self, moved: Floats) -> Floats:
        """Take the covariates out of permuted columns and make them orthonormal."""
        moved = moved - self.nuisance @ (self.nuisance.T @ moved)
        if moved.shape[2] == 1:
            size = np.linalg.norm(moved, axis=1, keepdims=True)
            return np.asarray(moved / np.where(size > SMALL, size, np.inf)).transpose(0, 2, 1)
        roots = _pseudo_inverses(moved.transpose(0, 2, 1) @ moved, 0.5)
        return np.asarray((moved @ roots).transpose(0, 2, 1))

    @cached_property
    def redraws(self) -> Redraws:
        """All cases once, and the draws of :attr:`draws`."""
        return Redraws(self.model, np.vstack([np.ones((1, self.n_cases)), self.draws]))

    def of(self, rows: Integers) -> EffectDesign:
        """Return the question on some of its cases: the half that did not choose, a core-set.

        Parameters
        ----------
        rows : array of int
            They must have been chosen without their target, or by the other cases; and the
            permutations must not lead out of them, see :func:`apart`.

        Returns
        -------
        EffectDesign
            Its permutations are those of the whole restricted to these cases, so that statistics
            of operators on all and on some cases make one family of tests.
        """
        rows = np.sort(rows)
        place = np.full(self.n_cases, -1)
        place[rows] = np.arange(len(rows))
        moved = place[self.permutations[:, rows]]
        if (moved < 0).any():
            raise InputError(
                "Expected permutations that keep these cases among themselves; permute inside "
                "apart(blocks, rows)."
            )
        model, subjects = self.model, None
        if model.subjects is not None:
            subjects = np.unique(model.subjects[rows], return_inverse=True)[1]
        number = model.classes is None
        target = model.target[rows, 0] if model.classes is None else model.classes[rows]
        smaller = make_share_model(target, model.nuisance[rows], number=number, subjects=subjects)
        whole = rows if self.rows is None else self.rows[rows]
        return replace(
            self, model=smaller, permutations=moved, draws=self.draws[:, rows], rows=whole
        )


def make_design(
    model: ShareModel, permutations: Integers | None = None, draws: Floats | None = None
) -> EffectDesign:
    """Prepare a question for the features of any operator.

    Parameters
    ----------
    model : ShareModel
        Of the question (``question.model``).
    permutations : array of int, shape (permutation, case), optional
        For tests (``question.permutations(1000)``).
    draws : array, shape (draw, case), optional
        For redraws of the share, by case
        (``question.halves(100)[:, question.cases.subjects]``).

    Returns
    -------
    EffectDesign
    """
    n_cases = len(model.target)
    moved = np.empty((0, n_cases), np.int64) if permutations is None else permutations
    drawn = np.empty((0, n_cases)) if draws is None else draws
    for name, table in (("permutations", moved), ("draws", drawn)):
        if table.ndim != 2 or table.shape[1] != n_cases:
            raise InputError(
                f"Expected {name} with one column for each of {n_cases} cases, got shape "
                f"{table.shape}."
            )
    return EffectDesign(model, moved, drawn)


def apart(blocks: Integers, rows: Integers) -> Integers:
    """Cut exchangeable blocks in two: some cases, and the others.

    Parameters
    ----------
    blocks : array of int, shape (case,)
    rows : array of int
        Cases on which some operators are tested alone.

    Returns
    -------
    array of int, shape (case,)
        Permutations inside these blocks serve the whole cohort and these cases alike.
    """
    inside = np.zeros(len(blocks), dtype=np.int64)
    inside[rows] = 1
    return np.asarray(2 * np.unique(blocks, return_inverse=True)[1] + inside)


@dataclass(frozen=True, eq=False)
class Redraws:
    """One weighted regression per draw of the cases, on target and covariates.

    Parameters
    ----------
    model : ShareModel
    times : array, shape (draw, case)
        A case that is drawn twice weighs double and is still one person: it is never compared
        with itself.
    """

    model: ShareModel
    times: Floats

    def __len__(self) -> int:
        return len(self.times)

    @property
    def columns(self) -> Floats:
        """Covariates and target, shape (case, column)."""
        return self.model.columns

    @cached_property
    def rows(self) -> list[NDArray[np.intp]]:
        """By column, the cases where it is not 0: a site has few."""
        return [np.flatnonzero(column) for column in self.columns.T]

    @cached_property
    def inverse(self) -> Floats:
        """From sums of products with the columns to coefficients (draw, column, column)."""
        return _pseudo_inverses(self._sums(self.times))

    @cached_property
    def own_sums(self) -> Floats:
        """Sums of products of columns with the weights of :attr:`own` (draw, column, column)."""
        return self._sums(self.own)

    @cached_property
    def mean_sums(self) -> Floats:
        """The same with those of :attr:`mean`."""
        return self._sums(self.mean)

    def _sums(self, weights: Floats) -> Floats:
        return np.stack([self.columns.T @ (each[:, None] * self.columns) for each in weights])

    @cached_property
    def _left(self) -> Floats:
        """The expected squared residual of a case whose noise is 1, shape (draw, case)."""
        # By case: 1 - 2 times h + x' A (sum of times^2 x x') A x, h = x' A x its leverage.
        spread = self._forms(self.inverse)
        doubled = self._forms(self.inverse @ self._sums(self.times**2) @ self.inverse)
        kept = kept_variance(self.model)
        return np.asarray(kept - 2 * self.times * spread + doubled)

    def _forms(self, matrices: Floats) -> Floats:
        """Return x' M x of every draw and case."""
        return np.stack([((self.columns @ each) * self.columns).sum(axis=1) for each in matrices])

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        return self._left > LEVERAGE_ONE

    @cached_property
    def _unbiased(self) -> Floats:
        return np.where(self._known, 1.0 / np.where(self._known, self._left, 1.0), 0.0)

    @cached_property
    def own(self) -> Floats:
        """What the squared residual of a case adds to the effect by itself (draw, case)."""
        return self._reach * self._unbiased

    @cached_property
    def _reach(self) -> Floats:
        inner = self.inverse @ self.model.contrast @ self.inverse
        return np.asarray(self.times**2 * self._forms(inner))

    @cached_property
    def mean(self) -> Floats:
        """What it counts in the mean noise; classes count alike (draw, case)."""
        times = self.times * self._known
        if self.model.classes is None:
            weights = times / np.maximum(times.sum(axis=1, keepdims=True), SMALL)
        else:
            totals = times @ self._member
            each = np.where(totals > 0, totals, 1.0) * totals.shape[1]
            weights = times / each[:, self.model.classes]
        return np.asarray(weights * self._unbiased)

    @cached_property
    def scale(self) -> Floats:
        """The target's variance: that of two equal classes, or of the number (draw,)."""
        if self.model.classes is not None:
            return np.full(len(self), 0.25)
        values, total = self.model.target[:, 0], self.times.sum(axis=1)
        mean = self.times @ values / total
        spread = self.times @ values**2 - total * mean**2
        return np.asarray(spread / np.maximum(total - 1, 1))

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Draws that have every class, or a target that varies, beyond the covariates."""
        reach, drawn = self._reach, self.times > 0
        lost = (reach > SMALL * reach.max(axis=1, keepdims=True)) & ~self._known & drawn
        if self.model.classes is None:
            moved = np.abs(self.model.effect_basis[:, 0]) > SMALL
            member = moved.astype(np.float64)[:, None]
            counted = np.ones((len(moved), 1))
        else:
            member = counted = self._member
        enough = (drawn @ member >= 2).all(axis=1)
        whole = ((self.times * self._known) @ counted > 0).all(axis=1)
        return np.asarray(enough & whole & ~lost.any(axis=1))

    @cached_property
    def _member(self) -> Floats:
        codes = np.arange(self.model.target.shape[1] + 1)
        classes = self.model.classes
        if classes is None:
            raise AssertionError("Numbers have no classes.")
        return np.asarray(classes[:, None] == codes, dtype=np.float64)


def kept_variance(model: ShareModel) -> Floats:
    """Return the share of a case's variance that is left within its subject; one without."""
    if model.subjects is None:
        return np.ones(len(model.target))
    return np.asarray(1.0 - 1.0 / np.bincount(model.subjects)[model.subjects])


def _pseudo_inverses(matrices: Floats, power: float = 1.0) -> Floats:
    """Invert symmetric matrices (or their roots); directions without any weight stay 0."""
    values, vectors = np.linalg.eigh(matrices)
    small = values <= SMALL * np.maximum(values.max(axis=1, keepdims=True), SMALL)
    inverse = np.where(small, 0.0, np.where(small, 1.0, values) ** -power)
    return np.asarray((vectors * inverse[:, None, :]) @ vectors.transpose(0, 2, 1))
