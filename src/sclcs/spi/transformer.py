"""Operators as a step of a scikit-learn pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sclcs._core import InputError, check_arguments, name_first
from sclcs.cohort import Series, read_series
from sclcs.spi.engine import compute_batch
from sclcs.spi.numerics.compiling import Array
from sclcs.spi.numerics.tangent import Tangent, covariances
from sclcs.spi.operators import operator_facts
from sclcs.spi.signals import MINIMUM_REGIONS, MINIMUM_TIMES
from sclcs.spi.versions import TANGENT, resolve

__all__ = ["FCTransformer"]

CORRELATIONS = ("pearson", "partial", "spearmanr", "kendalltau")


class FCTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """Turn time series into functional connectivity, with any operator of the catalogue.

    It takes what nilearn's ``ConnectivityMeasure`` takes, a list of arrays (time, region) whose
    lengths may differ (or data frames, or named data arrays), and fits where that fits:
    pipelines, grid searches, cross-validation.
    Every sample is transformed by itself; only ``tangent`` is learned from the samples of `fit`
    (the geometric mean of their Ledoit-Wolf covariances, as nilearn's), without labels.

    Parameters
    ----------
    spi : str or list of str
        An operator, a set, or several of them; see :func:`sclcs.spi.resolve`. Or ``tangent``,
        tangent-space connectivity, whose diagonal is kept.
    vectorize : bool
        Return one row of features per sample: of symmetric operators the lower triangle, row
        by row, as nilearn's ``sym_matrix_to_vec`` orders it; of all others every entry off the
        diagonal, row by row. Several operators follow one another.
    discard_diagonal : bool
        Whether vectors leave the diagonal out.
    diagonal : float, optional
        What stands on the diagonal, where no operator is defined. By default 1 for correlations
        (Pearson, Spearman, Kendall, partial), as in nilearn, and NaN for the others.
    seed : int
        Of operators that draw random numbers.
    n_jobs : int
        Threads; -1 for one per processor.

    Attributes
    ----------
    spis_ : list of str
        The operators.
    n_features_in_ : int
        Number of regions.
    feature_names_in_ : array of str
        Names of the regions, if the samples are data frames.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scans = [rng.normal(size=(length, 5)) for length in (80, 95, 80)]  # (time, region)
    >>> FCTransformer("kendalltau", vectorize=True).fit_transform(scans).shape
    (3, 10)
    """

    def __init__(
        self,
        spi: str | Sequence[str] = "pearson",
        *,
        vectorize: bool = False,
        discard_diagonal: bool = True,
        diagonal: float | None = None,
        seed: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.spi = spi
        self.vectorize = vectorize
        self.discard_diagonal = discard_diagonal
        self.diagonal = diagonal
        self.seed = seed
        self.n_jobs = n_jobs

    def fit(self, X: Sequence[ArrayLike], y: object = None) -> Self:  # noqa: ARG002
        """Check the samples and the operators; learn the reference of ``tangent``.

        Parameters
        ----------
        X : sequence of array_like, shape (time, region)
            The samples, or one array (sample, time, region).
        y : object
            Not used.

        Returns
        -------
        FCTransformer
        """
        # scikit-learn's constructors take anything; parameters are checked when they are used.
        check_arguments(FCTransformer.__init__, (self,), self.get_params())
        given = _read(X)
        self.spis_ = _resolve(self.spi)
        undefined = [name for name in self.spis_ if np.isnan(self._on_diagonal(name))]
        if undefined and self.vectorize and not self.discard_diagonal:
            raise InputError(
                f"Vectors with the diagonal would hold NaN, because {name_first(undefined)} is not "
                "defined there; keep discard_diagonal=True or set diagonal to a number."
            )
        if TANGENT in self.spis_:
            self.tangent_ = Tangent.fit(covariances(given.scans))
        self.n_features_in_ = given.scans[0].shape[1]
        if given.regions is not None:
            self.feature_names_in_ = np.asarray(given.regions, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def transform(self, X: Sequence[ArrayLike]) -> Array:
        """Compute the operators.

        Parameters
        ----------
        X : sequence of array_like, shape (time, region)
            The samples, or one array (sample, time, region).

        Returns
        -------
        array
            (sample, region, region); with several operators (sample, operator, region,
            region); with `vectorize` (sample, feature). NaN, with a warning that says why, where
            an operator cannot be computed.
        """
        check_is_fitted(self)
        given = _read(X)
        n_regions = given.scans[0].shape[1]
        if n_regions != self.n_features_in_:
            raise InputError(
                f"X has {n_regions} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: the number of regions it was fitted on."
            )
        self._refuse_other_regions(given.regions)
        matrices = self._compute([np.asarray(scan, dtype=np.float64) for scan in given.scans])
        if self.vectorize:
            parts = [
                matrices[:, place][:, self._mask(name)] for place, name in enumerate(self.spis_)
            ]
            return np.concatenate(parts, axis=1)
        return matrices if len(self.spis_) > 1 else matrices[:, 0]

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Name the features of vectors, for example ``kendalltau:PCC--mPFC``.

        Parameters
        ----------
        input_features : array_like of str, optional
            Names of the regions; by default those of the data frames, or x0, x1, ...

        Returns
        -------
        array of str
            ``a--b`` for symmetric operators, ``a->b`` (row to column) for the others.
        """
        check_is_fitted(self)
        if not self.vectorize:
            raise InputError("Only vectors have feature names; set vectorize=True.")
        usual = getattr(self, "feature_names_in_", None)
        if input_features is None:
            given = [f"x{k}" for k in range(self.n_features_in_)] if usual is None else list(usual)
        else:
            given = [str(name) for name in np.asarray(input_features, dtype=object)]
        if len(given) != self.n_features_in_:
            raise InputError(
                f"input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(given)}."
            )
        names = [
            f"{spi}:{given[row]}{'--' if _symmetric(spi) else '->'}{given[column]}"
            for spi in self.spis_
            for row, column in np.argwhere(self._mask(spi))
        ]
        return np.asarray(names, dtype=object)

    def _refuse_other_regions(self, names: Sequence[str] | None) -> None:
        """Raise if data frames have other columns, or another order, than those of the fit."""
        fitted = getattr(self, "feature_names_in_", None)
        if names is None or fitted is None or list(names) == list(fitted):
            return
        other = [name for name in names if name not in set(fitted)]
        told = f"these were not there: {name_first(other)}" if other else "their order is another"
        raise InputError(
            "The feature names should match those that were passed during fit: the columns "
            f"(regions) of the data frames differ, {told}; give the same columns."
        )

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def _on_diagonal(self, spi: str) -> float:
        if self.diagonal is not None:
            return self.diagonal
        return 1.0 if spi == TANGENT or spi.startswith(CORRELATIONS) else float("nan")

    def _mask(self, spi: str) -> NDArray[np.bool_]:
        """Return which entries of an operator's matrix are features, read row by row."""
        size = self.n_features_in_
        everything = np.ones((size, size), dtype=bool)
        mask = np.tril(everything) if _symmetric(spi) else everything
        return mask & ~np.eye(size, dtype=bool) if self.discard_diagonal else mask

    def _compute(self, samples: list[Array]) -> Array:
        """Compute samples of equal length together, and put them back in order."""
        lengths = np.array([len(sample) for sample in samples])
        size = self.n_features_in_
        plain = [name for name in self.spis_ if name != TANGENT]
        places = np.array([self.spis_.index(name) for name in plain], dtype=np.int64)
        matrices = np.empty((len(samples), len(self.spis_), size, size))
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            batch = np.stack([samples[row].T for row in rows])
            if plain:
                found = compute_batch(batch, plain, self.n_jobs, seed=self.seed)
                _warn(found["status"].to_numpy(), found["reason"].to_numpy(), plain, rows)
                matrices[np.ix_(rows, places)] = found.to_numpy().swapaxes(0, 1)
        for place, name in enumerate(self.spis_):
            known = np.isfinite(matrices[:, place]).any(axis=-1)  # a constant region has nothing
            diagonal = np.where(known, self._on_diagonal(name), np.nan)
            matrices[:, place, np.arange(size), np.arange(size)] = diagonal
        if TANGENT in self.spis_:
            matrices[:, self.spis_.index(TANGENT)] = self.tangent_.transform(covariances(samples))
        return matrices


def _resolve(spi: str | Sequence[str]) -> list[str]:
    """Resolve operators, among which `tangent` may be."""
    texts = [spi] if isinstance(spi, str) else list(spi)
    if not any(isinstance(text, str) and TANGENT in text.split(",") for text in texts):
        return resolve(spi)
    found: dict[str, None] = {}
    for text in texts:
        for name in text.split(","):
            known = [TANGENT] if name.strip() == TANGENT else resolve(name)
            found.update(dict.fromkeys(known))
    return list(found)


def _symmetric(spi: str) -> bool:
    return spi == TANGENT or operator_facts()[spi].symmetric


def _read(X: object) -> Series:
    """Return the samples, or name all that cannot be used."""
    one = isinstance(X, pd.DataFrame | str | Mapping) or getattr(X, "ndim", 3) == 2
    if one or not (isinstance(X, Sized) and isinstance(X, Iterable)):
        raise InputError(
            f"Expected a list of arrays (time, region), got {type(X).__name__}; put a single scan "
            "into a list, and make one of a cohort: [sample.T for sample in cohort.signals]."
        )
    found = read_series(X)
    bad = [f"sample {place}: {_problem(scan)}" for place, scan in enumerate(found.scans)]
    bad = [text for text in bad if not text.endswith(": ")]
    if bad:
        raise InputError(
            f"Expected arrays of shape (time, region) with finite real numbers, found "
            f"{name_first(bad)}. A single scan goes into a list."
        )
    return found


def _problem(scan: NDArray[Any]) -> str:
    if scan.shape[0] < MINIMUM_TIMES or scan.shape[1] < MINIMUM_REGIONS:
        return f"{scan.shape[0]} time points x {scan.shape[1]} regions"
    return "" if np.isfinite(scan).all() else "NaN or infinity"


def _warn(
    status: NDArray[Any], reason: NDArray[Any], spis: list[str], rows: NDArray[np.intp]
) -> None:
    places = np.argwhere(status != "ok")
    if len(places) == 0:
        return
    failures = [f"{spis[a]} on sample {rows[b]} ({reason[a, b]})" for a, b in places]
    warnings.warn(f"NaN in the result: {name_first(failures)}.", UserWarning, stacklevel=4)
