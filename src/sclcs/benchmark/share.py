"""Explained share: how much of the variance of connectivity a target explains.

Distance-based regression (Anderson 2001; Zapala & Schork 2006; Shehzad et al. 2014) of the
kernel of cases on the target, beyond covariates, with the noise of every case taken out, so
that chance is 0 for any sizes of the classes (Anderson et al. 2017). For two classes without
covariates it is the unbiased kernel two-sample statistic (Gretton et al. 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sclcs.core.errors import InputError

__all__ = ["ShareModel", "independent_columns", "make_share_model"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SMALL = 1e-9  # relative size of what rounding leaves of zero
LEVERAGE_ONE = 1e-6  # a case that the design fits exactly says nothing about noise
BLOCK_NUMBERS = 4_000_000  # numbers in one block of draws: about 32 MB


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
        target = self.within_subjects(self.target)
        return _orthonormal(target - self._nuisance_basis @ (self._nuisance_basis.T @ target))

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
        n_cases, n_columns = self.columns.shape
        step = max(1, BLOCK_NUMBERS // (n_cases * n_columns))
        parts = [
            self._drawn_block(centred, multiplicity[start : start + step])
            for start in range(0, len(multiplicity), step)
        ]
        return np.concatenate(parts)

    def _drawn_block(self, kernel: Floats, times: Floats) -> Floats:
        columns, form = self.columns, self.contrast
        weighted = times[:, :, None] * columns  # draw, case, column
        inverse = _pseudo_inverses(columns.T @ weighted)
        sides = _times_kernel(kernel, weighted)
        inner = weighted.transpose(0, 2, 1) @ sides
        spread = columns @ inverse  # rows of X B
        fitted = np.einsum("dnq,dnq->dn", spread @ inner, spread)
        residual = np.diagonal(kernel) - 2 * np.einsum("dnq,dnq->dn", spread, sides) + fitted
        left = self._noise_left(times, weighted, spread)
        reach = times**2 * np.einsum("dnq,qr,dnr->dn", spread, form, spread)
        known = left > LEVERAGE_ONE
        noise = np.where(known, residual / np.where(known, left, 1.0), 0.0)
        distance = np.einsum("qr,drs,dsp,dpq->d", form, inverse, inner, inverse)
        distance = distance - (noise * reach).sum(axis=1)
        mean_noise, scale = self._mean_noise(times * known, noise), self._scale(times)
        lost = ((reach > SMALL * reach.max(axis=1, keepdims=True)) & ~known & (times > 0)).any(
            axis=1
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = scale * distance / mean_noise
            share = ratio / (1.0 + ratio)
        usable = self._estimable(times) & ~lost & (mean_noise > 0)
        return np.where(usable, share, np.nan)

    def _noise_left(self, times: Floats, weighted: Floats, spread: Floats) -> Floats:
        """Return the expected squared residual of a case whose noise is 1."""
        leverage = np.einsum("dnq,nq->dn", spread, self.columns)
        squares = weighted.transpose(0, 2, 1) @ weighted
        return np.asarray(
            self._kept_variance
            - 2 * times * leverage
            + np.einsum("dnq,dnq->dn", spread @ squares, spread)
        )

    def _mean_noise(self, times: Floats, noise: Floats) -> Floats:
        """Average the noise over cases; classes count alike."""
        if self.classes is None:
            return np.asarray((times * noise).sum(axis=1) / np.maximum(times.sum(axis=1), SMALL))
        member = (self.classes[:, None] == np.arange(self.target.shape[1] + 1)).astype(np.float64)
        totals = times @ member
        means = (times * noise) @ member / np.where(totals > 0, totals, np.nan)
        return np.asarray(means.mean(axis=1))

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

    def noise(self, kernel: Floats) -> Floats:
        """Return the squared distance of every case to what the model expects, without bias."""
        centred, columns = self.kernel_within_subjects(kernel), self.columns
        basis = _orthonormal(columns)
        centred = centred - basis @ (basis.T @ centred)
        residual = np.diagonal(centred) - np.einsum("nq,nq->n", centred @ basis, basis)
        left = self._kept_variance - (basis**2).sum(axis=1)
        return np.where(left > LEVERAGE_ONE, residual / np.maximum(left, SMALL), 0.0)

    def residual_kernel(self, kernel: Floats) -> Floats:
        """Take out of the features what covariates (and subjects, if repeated) explain."""
        nuisance = self._nuisance_basis
        centred = self.kernel_within_subjects(kernel)
        centred = centred - nuisance @ (nuisance.T @ centred)
        return np.asarray(centred - (centred @ nuisance) @ nuisance.T)

    def beyond_covariates(self, kernel: Floats) -> Floats:
        """Return the kernel of what the covariates leave of the features."""
        nuisance = self._nuisance_basis
        centred = self.kernel_within_subjects(kernel)
        centred = centred - nuisance @ (nuisance.T @ centred)
        return np.asarray(centred - (centred @ nuisance) @ nuisance.T)

    def statistics(self, kernel: Floats, permutations: Integers) -> Floats:
        """Return the test statistic as it is, and under permutations of the target.

        Residuals of the covariates are permuted (Freedman & Lane 1983; Winkler et al. 2014);
        the noise of every case is taken from the model without the target, so that one product
        of matrices serves all permutations.

        Parameters
        ----------
        kernel : array, shape (case, case)
        permutations : array of int, shape (permutation, case)

        Returns
        -------
        array, shape (1 + permutation,)
            The first is the observed one.
        """
        basis, nuisance = self.effect_basis, self._nuisance_basis
        centred = self.residual_kernel(kernel)
        left = self._kept_variance - (nuisance**2).sum(axis=1)
        noise = np.where(left > LEVERAGE_ONE, np.diagonal(centred) / np.maximum(left, SMALL), 0.0)
        orders = np.vstack([np.arange(len(kernel))[None, :], permutations])
        step = max(1, BLOCK_NUMBERS // basis.size)
        parts = []
        for start in range(0, len(orders), step):
            moved = basis[orders[start : start + step]]  # permutation, case, dimension
            sums = np.einsum("pnr,pnr->p", _times_kernel(centred, moved), moved)
            parts.append(sums - (moved**2).sum(axis=2) @ noise)
        return np.concatenate(parts)


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
    """Multiply every matrix of a stack (draw, case, column) by the kernel, in one product."""
    n_draws, n_cases, n_columns = stack.shape
    flat = np.ascontiguousarray(stack.transpose(1, 0, 2)).reshape(n_cases, n_draws * n_columns)
    product = (kernel @ flat).reshape(n_cases, n_draws, n_columns)
    return product.transpose(1, 0, 2)


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


def _pseudo_inverses(matrices: Floats) -> Floats:
    """Invert symmetric matrices; directions without any weight (a site not drawn) stay 0."""
    values, vectors = np.linalg.eigh(matrices)
    small = values <= SMALL * np.maximum(values.max(axis=1, keepdims=True), SMALL)
    inverse = np.where(small, 0.0, 1.0 / np.where(small, 1.0, values))
    return np.asarray((vectors * inverse[:, None, :]) @ vectors.transpose(0, 2, 1))
