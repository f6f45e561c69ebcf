"""Explained share: how much of the variance of connectivity a target explains.

Distance-based regression (Anderson 2001; Zapala & Schork 2006; Shehzad et al. 2014) of the
kernel of cases on the target, beyond covariates, with the noise of every case taken out, so
that chance is 0 for any sizes of the classes (Anderson et al. 2017). For two classes without
covariates it is the unbiased kernel two-sample statistic (Gretton et al. 2012).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sclcs._core import InputError
from sclcs.stats.memory import memory_budget, row_blocks

__all__ = [
    "DrawForms",
    "Last",
    "Scatter",
    "ShareModel",
    "independent_columns",
    "make_share_model",
    "scatter_of",
]


Floats = NDArray[np.float64]
T = TypeVar("T")
MOST_COPIED = 8_000_000  # numbers of a kernel that are copied to leave out cases without weight


class Last(Generic[T]):
    """What was made of the last array; for an equal one it is not made again."""

    def __init__(self) -> None:
        self._kept: tuple[NDArray[Any], list[T]] | None = None

    def of(self, array: NDArray[Any]) -> list[T] | None:
        """Return what was made of an equal array; None if the last one was another."""
        kept = self._kept  # read once: other threads may put theirs there
        return kept[1] if kept is not None and np.array_equal(kept[0], array) else None

    def keep(self, array: NDArray[Any], parts: list[T]) -> None:
        """Remember what was made of an array."""
        self._kept = array, parts


@dataclass(frozen=True, eq=False)
class DrawForms:
    """Effect and noise of every draw as forms of a kernel.

    Both are linear in the kernel: sums over pairs of cases with weights that depend on the draws
    and columns alone. They are made once for all operators, and the weights have so few columns
    that products of the kernel with these are all that is left to do.

    Parameters
    ----------
    rows : list of array of int
        By column, the cases where it is not 0: a site has few.
    weighted, effect, noise : array, shape (column, case, draw)
        Columns as the draws weigh them, and the two forms on the other side.
    effect_alone, noise_alone : array, shape (draw, case)
        What the similarity of a case with itself counts.
    scale : array, shape (draw,)
        Variance of the target.
    usable : array of bool, shape (draw,)
    """

    rows: list[NDArray[np.intp]]
    weighted: Floats
    effect: Floats
    noise: Floats
    effect_alone: Floats
    noise_alone: Floats
    scale: Floats
    usable: NDArray[np.bool_]

    def share(self, kernel: Floats) -> Floats:
        """Return the explained share of every draw; NaN where nothing is left to compare."""
        own = np.diagonal(kernel)
        effect, noise = self.effect_alone @ own, self.noise_alone @ own
        for column, rows in enumerate(self.rows):
            few = len(rows) < len(kernel) and len(rows) * len(kernel) <= MOST_COPIED
            weighted = self.weighted[column]
            sides = kernel[:, rows] @ weighted[rows] if few else kernel @ weighted
            effect += np.einsum("nd,nd->d", self.effect[column], sides)
            noise += np.einsum("nd,nd->d", self.noise[column], sides)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.scale * effect / noise
            share = ratio / (1.0 + ratio)
        return np.where(self.usable & (noise > 0), share, np.nan)


Integers = NDArray[np.int64]
SMALL = 1e-9  # relative size of what rounding leaves of zero
LEVERAGE_ONE = 1e-6  # a case that the design fits exactly says nothing about noise
BLOCK_NUMBERS = 4_000_000  # numbers in one block of draws: about 32 MB
KEPT_SHARE = 2  # one part in so many of the memory may hold what is kept for the next operator


@dataclass(frozen=True, eq=False)
class ShareModel:
    """A target and covariates as columns, ready for the kernel of any operator.

    Parameters
    ----------
    nuisance : array, shape (case, column)
        Covariates with an intercept; independent columns.
    target : array, shape (case, column)
        A contrast for every class but the first, or the number itself.
    classes : array of int, optional
        The class of each case; None for a number.
    subjects : array of int, optional
        If cases are compared within subjects only: the subject of each case.
    """

    nuisance: Floats
    target: Floats
    classes: Integers | None
    subjects: Integers | None = None

    @cached_property
    def columns(self) -> Floats:
        """Covariates and target, within subjects if these are taken out."""
        return self.within_subjects(np.hstack([self.nuisance, self.target]))

    @cached_property
    def contrast(self) -> Floats:
        """The mean over pairs of classes of the squared difference, as a form of coefficients."""
        n_nuisance, n_target = self.nuisance.shape[1], self.target.shape[1]
        size = n_nuisance + n_target
        form = np.zeros((size, size))
        if self.classes is None:
            form[-1, -1] = 1.0
            return form
        # Coefficients of the first class are 0: sum over pairs = C sum(b^2) - sum(b)^2.
        n_classes = n_target + 1
        part = n_classes * np.eye(n_target) - np.ones((n_target, n_target))
        form[n_nuisance:, n_nuisance:] = part / (n_classes * (n_classes - 1) / 2)
        return form

    @cached_property
    def effect_basis(self) -> Floats:
        """Orthonormal basis of the target beyond the covariates, shape (case, dimension)."""
        return _orthonormal(self.residual_columns(self.target))

    @cached_property
    def _nuisance_basis(self) -> Floats:
        return _orthonormal(self.within_subjects(self.nuisance))

    @cached_property
    def _kept_variance(self) -> Floats:
        """The share of a case's variance that is left within its subject; one without."""
        if self.subjects is None:
            return np.ones(len(self.target))
        return 1.0 - 1.0 / np.bincount(self.subjects)[self.subjects]

    def within_subjects(self, values: Floats) -> Floats:
        """Take the mean of every subject out, if subjects are compared with themselves."""
        if self.subjects is None:
            return values
        sizes = np.bincount(self.subjects)
        sums = np.zeros((len(sizes), values.shape[1]))
        np.add.at(sums, self.subjects, values)
        return values - (sums / sizes[:, None])[self.subjects]

    def kernel_within_subjects(self, kernel: Floats) -> Floats:
        """Take the mean features of every subject out, if they are compared with themselves."""
        if self.subjects is None:
            return kernel
        return self.within_subjects(self.within_subjects(kernel).T)

    def point(self, kernel: Floats) -> float:
        """Return the explained share; negative values mean chance."""
        return float(self.drawn(kernel, np.ones((1, len(kernel))))[0])

    def drawn(self, kernel: Floats, multiplicity: Floats) -> Floats:
        """Return the explained share of every draw of cases.

        Parameters
        ----------
        kernel : array, shape (case, case)
        multiplicity : array, shape (draw, case)
            How often each case counts. A case that is drawn twice weighs double and is still
            one person: it is never compared with itself.

        Returns
        -------
        array, shape (draw,)
            NaN where a draw leaves nothing to compare.
        """
        centred = self.kernel_within_subjects(kernel)
        return np.concatenate([forms.share(centred) for forms in self._forms(multiplicity)])

    def _forms(self, multiplicity: Floats) -> Iterable[DrawForms]:
        """Return the draws block by block."""
        step = max(1, BLOCK_NUMBERS // self.columns.size)
        keep = len(multiplicity) > 1 and _fits(3 * len(multiplicity) * self.columns.size)
        starts = range(0, len(multiplicity), step)
        forms = (self._prepare(multiplicity[start : start + step]) for start in starts)
        return _remembered(self._last_forms, multiplicity, forms, keep=keep)

    @cached_property
    def _last_forms(self) -> Last[DrawForms]:
        return Last()

    @cached_property
    def _last_effects(self) -> Last[Floats]:
        return Last()

    @cached_property
    def _last_targets(self) -> Last[Floats]:
        return Last()

    def _prepare(self, times: Floats) -> DrawForms:
        """Write effect and noise of draws as forms of the kernel."""
        columns = self.columns
        weighted = times[:, :, None] * columns  # draw, case, column
        inverse = _pseudo_inverses(columns.T @ weighted)
        spread = columns @ inverse  # rows of X B
        left = self._noise_left(times, weighted, spread)
        known = left > LEVERAGE_ONE
        contrast = inverse @ self.contrast @ inverse
        reach = times**2 * np.einsum("dnq,qr,dnr->dn", spread, self.contrast, spread)
        # The noise of a case is its squared residual by what the fit leaves of it.
        unbiased = np.where(known, 1.0 / np.where(known, left, 1.0), 0.0)
        counted, whole = self._noise_weights(times * known)
        own, mean = reach * unbiased, counted * unbiased
        lost = ((reach > SMALL * reach.max(axis=1, keepdims=True)) & ~known & (times > 0)).any(
            axis=1
        )
        effect = weighted @ (contrast - _squares(spread, own)) + 2 * own[:, :, None] * spread
        noise = weighted @ _squares(spread, mean) - 2 * mean[:, :, None] * spread
        return DrawForms(
            [np.flatnonzero(column) for column in columns.T],
            np.ascontiguousarray(weighted.transpose(2, 1, 0)),
            np.ascontiguousarray(effect.transpose(2, 1, 0)),
            np.ascontiguousarray(noise.transpose(2, 1, 0)),
            -own,
            mean,
            self._scale(times),
            self._estimable(times) & ~lost & whole,
        )

    def _noise_left(self, times: Floats, weighted: Floats, spread: Floats) -> Floats:
        """Return the expected squared residual of a case whose noise is 1."""
        leverage = np.einsum("dnq,nq->dn", spread, self.columns)
        squares = weighted.transpose(0, 2, 1) @ weighted
        return np.asarray(
            self._kept_variance
            - 2 * times * leverage
            + np.einsum("dnq,dnq->dn", spread @ squares, spread)
        )

    def _noise_weights(self, times: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return what the noise of a case counts in the mean, and where there is a mean.

        Classes count alike.
        """
        if self.classes is None:
            totals = times.sum(axis=1, keepdims=True)
            return times / np.maximum(totals, SMALL), totals[:, 0] > 0
        member = self.classes[:, None] == np.arange(self.target.shape[1] + 1)
        totals = times @ member.astype(np.float64)
        each = np.where(totals > 0, totals, 1.0) * totals.shape[1]
        return times / each[:, self.classes], (totals > 0).all(axis=1)

    def _scale(self, times: Floats) -> Floats:
        """Return the target's variance: that of two equal classes, or of the number."""
        if self.classes is not None:
            return np.full(len(times), 0.25)
        values, total = self.target[:, 0], times.sum(axis=1)
        mean = times @ values / total
        return np.asarray((times @ values**2 - total * mean**2) / np.maximum(total - 1, 1))

    def _estimable(self, times: Floats) -> NDArray[np.bool_]:
        """Say which draws have every class, or a target that varies, beyond the covariates."""
        basis = self.effect_basis
        if self.classes is None:
            moved = (np.abs(basis[:, 0]) > SMALL).astype(np.float64)
            return np.asarray((times > 0) @ moved >= 2)
        member = self.classes[:, None] == np.arange(self.target.shape[1] + 1)
        return np.asarray(((times > 0) @ member.astype(np.float64) >= 2).all(axis=1))

    def residual_kernel(self, kernel: Floats) -> Floats:
        """Take out of the features what covariates (and subjects, if repeated) explain.

        Parameters
        ----------
        kernel : array, shape (case, case)

        Returns
        -------
        array, shape (case, case)
        """
        basis, centred = self._nuisance_basis, self.kernel_within_subjects(kernel)
        explained = basis.T @ centred
        rest = np.empty_like(centred)  # one more table of all pairs, and not four
        for block in row_blocks(len(rest)):
            rest[block] = centred[block] - basis[block] @ explained
        explained = rest @ basis
        for block in row_blocks(len(rest)):
            rest[block] -= explained[block] @ basis.T
        return rest

    def residual_columns(self, columns: Floats) -> Floats:
        """Take out of columns what covariates (and subjects, if repeated) explain.

        Parameters
        ----------
        columns : array, shape (case, column)

        Returns
        -------
        array, shape (case, column)
        """
        basis, centred = self._nuisance_basis, self.within_subjects(columns)
        return centred - basis @ (basis.T @ centred)

    def statistics(self, kernel: Floats, permutations: Integers) -> Floats:
        """Return the test statistic as it is, and under permutations of the target.

        What the covariates leave of the target is permuted, and what they explain of *that* is
        taken out again (Smith; Winkler et al. 2014, table 1; on kernels the twin of Freedman &
        Lane 1983). Without the second step a permuted target has less left to explain than the
        real one, and every covariate makes the test find more than it should. The noise of
        every case is taken from the model without the target, so that one product of matrices
        serves all permutations.

        Parameters
        ----------
        kernel : array, shape (case, case)
        permutations : array of int, shape (permutation, case)

        Returns
        -------
        array, shape (1 + permutation,)
            The first is the observed one.
        """
        centred, left = self.residual_kernel(kernel), self._left_by_covariates
        noise = np.where(left > LEVERAGE_ONE, np.diagonal(centred) / np.maximum(left, SMALL), 0.0)
        parts = []
        for moved in self._permuted(self.effect_basis, permutations, self._last_effects):
            sums = np.einsum("npr,npr->p", _times_kernel(centred, moved), moved)
            parts.append(sums - noise @ (moved**2).sum(axis=2))
        return np.concatenate(parts)

    def permuted_noise(self, kernel: Floats, permutations: Integers) -> Floats:
        """Return the squared distance of every case to what the model expects, without bias.

        As it is, and under models whose target is permuted.

        Parameters
        ----------
        kernel : array, shape (case, case)
        permutations : array of int, shape (permutation, case)

        Returns
        -------
        array, shape (1 + permutation, case)
            NaN where a model fits a case exactly, which then says nothing about noise.
        """
        centred, parts = self.residual_kernel(kernel), []
        target = self.within_subjects(self.target)
        for moved in self._permuted(target, permutations, self._last_targets):
            sides = _times_kernel(centred, moved)
            inner = moved.transpose(1, 2, 0) @ sides.transpose(1, 0, 2)
            residual = np.diagonal(centred)[:, None] - 2 * np.einsum("npr,npr->np", moved, sides)
            residual += np.einsum("npq,pqr,npr->np", moved, inner, moved, optimize=True)
            left = self._left_by_covariates[:, None] - (moved**2).sum(axis=2)
            known = left > LEVERAGE_ONE
            parts.append(np.where(known, residual / np.where(known, left, 1.0), np.nan).T)
        return np.concatenate(parts)

    @cached_property
    def _left_by_covariates(self) -> Floats:
        """The share of a case's variance that covariates leave."""
        return np.asarray(self._kept_variance - (self._nuisance_basis**2).sum(axis=1))

    def _permuted(
        self, columns: Floats, permutations: Integers, last: Last[Floats]
    ) -> Iterable[Floats]:
        """Permute columns, take the covariates out of them again, and make them orthonormal.

        The columns as they are come first; blocks of (case, permutation, dimension).
        """
        nuisance, step = self._nuisance_basis, max(1, BLOCK_NUMBERS // columns.size)

        def make() -> Iterator[Floats]:
            orders = np.vstack([np.arange(len(columns))[None, :], permutations])
            for start in range(0, len(orders), step):
                moved = columns[orders[start : start + step]]
                moved = moved - nuisance @ (nuisance.T @ moved)
                moved = moved @ _pseudo_inverses(moved.transpose(0, 2, 1) @ moved, 0.5)
                yield np.ascontiguousarray(moved.transpose(1, 0, 2))

        keep = _fits(len(permutations) * columns.size)
        return _remembered(last, permutations, make(), keep=keep)


def _remembered(
    last: Last[T], array: NDArray[Any], parts: Iterator[T], *, keep: bool
) -> Iterable[T]:
    """Return what was made of an equal array, or the parts, which are kept if they are small."""
    known = last.of(array)
    if known is None and keep:
        known = list(parts)
        last.keep(array, known)
    return parts if known is None else known


def make_share_model(
    target: Floats | Integers,
    covariates: Floats,
    *,
    number: bool,
    subjects: Integers | None = None,
) -> ShareModel:
    """Prepare the columns of a target and covariates.

    Parameters
    ----------
    target : array, shape (case,)
        Codes of classes from 0 without gaps, or numbers.
    covariates : array, shape (case, column)
        With an intercept; columns may depend on each other.
    number : bool
        What the target is.
    subjects : array of int, optional
        Compare cases within these subjects only.

    Returns
    -------
    ShareModel
    """
    n_classes = 2 if number else int(np.max(target)) + 1
    if n_classes < 2 or (number and np.ptp(target) == 0):
        raise InputError("The target has one value only; there is nothing to explain.")
    if number:
        values = np.asarray(target, dtype=np.float64)
        columns, classes = ((values - values.mean()) / values.std())[:, None], None
    else:
        classes = np.asarray(target, dtype=np.int64)
        columns = (classes[:, None] == np.arange(1, n_classes)).astype(np.float64)
    model = ShareModel(independent_columns(covariates), columns, classes, subjects)
    if model.effect_basis.shape[1] < columns.shape[1]:
        raise InputError(
            "The covariates explain the target completely, or leave too few subjects to tell "
            "its values apart; leave a covariate out."
        )
    return model


def _times_kernel(kernel: Floats, stack: Floats) -> Floats:
    """Multiply every matrix of a stack (case, draw, column) by the kernel, in one product."""
    return np.asarray((kernel @ stack.reshape(len(stack), -1)).reshape(stack.shape))


def _fits(numbers: int) -> bool:
    """Say whether so many numbers may stay in memory. It changes how fast, not what comes out."""
    return 8 * numbers <= memory_budget() // KEPT_SHARE


def _squares(spread: Floats, weights: Floats) -> Floats:
    """Return the sums of squares of columns of every draw, with weights of cases."""
    return np.asarray((weights[:, :, None] * spread).transpose(0, 2, 1) @ spread)


def _orthonormal(columns: Floats) -> Floats:
    """Return an orthonormal basis of the space of some columns."""
    if not columns.shape[1]:
        return columns
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    limit = SMALL * max(float(np.linalg.norm(columns)), float(np.sqrt(len(columns))))
    return np.asarray(basis[:, sizes > limit])


def independent_columns(columns: Floats) -> Floats:
    """Leave out columns that the ones before them explain."""
    kept = np.empty((len(columns), 0))
    for column in columns.T:
        basis = _orthonormal(kept)
        rest = column - basis @ (basis.T @ column)
        if float(np.linalg.norm(rest)) > SMALL * max(float(np.linalg.norm(column)), SMALL):
            kept = np.hstack([kept, column[:, None]])
    return kept


def _pseudo_inverses(matrices: Floats, power: float = 1.0) -> Floats:
    """Invert symmetric matrices (or their roots); directions without any weight stay 0.

    A site that is not drawn has none.
    """
    values, vectors = np.linalg.eigh(matrices)
    small = values <= SMALL * np.maximum(values.max(axis=1, keepdims=True), SMALL)
    inverse = np.where(small, 0.0, np.where(small, 1.0, values) ** -power)
    return np.asarray((vectors * inverse[:, None, :]) @ vectors.transpose(0, 2, 1))


DISPERSION_BLOCK_NUMBERS = (
    500_000  # numbers in one block of permutations: four of them stay in a cache
)
DISPERSION_SMALL = 1e-300  # instead of a zero to divide by


@dataclass(frozen=True, eq=False)
class Scatter:
    """How cases scatter around the mean of their class.

    Parameters
    ----------
    ratio : float
        Variance of the most scattered class by that of the least scattered one.
    widest : int
        The most scattered class.
    statistics : array, shape (1 + permutation,)
        Differences between classes of the mean distance to the centre, by their spread inside
        classes; the observed one first.
    """

    ratio: float
    widest: int
    statistics: Floats


def scatter_of(noise: Floats, classes: Integers, permutations: Integers) -> Scatter:
    """Compare the scatter of classes.

    Under every permutation cases are measured from what a model of the *permuted* classes
    expects: a case of a small class has a large part in its own mean, and measuring from the
    means as they are would find scatter where there is none. The means of the real classes are
    left in, so that cases without any difference are exchangeable and the test is exact,
    however small a class is. A difference of the means hides some scatter and never makes any.

    Parameters
    ----------
    noise : array, shape (1 + permutation, case)
        Squared distance of every case to what the model expects, without bias, from
        :meth:`sclcs.stats.share.ShareModel.permuted_noise`.
    classes : array of int, shape (case,)
        From 0 without gaps.
    permutations : array of int, shape (permutation, case)
        Of exchangeable cases.

    Returns
    -------
    Scatter
    """
    known = np.isfinite(noise[0])
    n_classes = int(classes.max()) + 1
    sizes = np.bincount(classes[known], minlength=n_classes)
    variances = np.bincount(classes[known], noise[0, known], n_classes) / np.maximum(sizes, 1)
    orders = np.vstack([np.arange(len(classes))[None, :], permutations])
    step = max(1, DISPERSION_BLOCK_NUMBERS // len(classes))
    parts = [
        _ratios(noise[start : start + step], classes[orders[start : start + step]], n_classes)
        for start in range(0, len(orders), step)
    ]
    widest, least = int(variances.argmax()), float(variances.min())
    ratio = float(variances[widest] / least) if least > 0 else float("inf")
    return Scatter(ratio, widest, np.concatenate(parts))


def _ratios(noise: Floats, labels: Integers, n_classes: int) -> Floats:
    """Return variance of the mean distances between classes by that inside, per permutation."""
    known = np.isfinite(noise)
    distances = np.sqrt(np.maximum(np.where(known, noise, 0.0), 0.0))
    grand = distances.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    between, explained = np.zeros(len(noise)), np.zeros(len(noise))
    for code in range(n_classes):
        member = known & (labels == code)
        size = member.sum(axis=1)
        mean = (distances * member).sum(axis=1) / np.maximum(size, 1)
        between += size * (mean - grand) ** 2 / max(n_classes - 1, 1)
        explained += size * mean**2
    inside = ((distances**2).sum(axis=1) - explained) / np.maximum(known.sum(axis=1) - n_classes, 1)
    return np.asarray(between / np.maximum(inside, DISPERSION_SMALL))
