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
from sclcs.spi.engine import compute_batch
from sclcs.spi.numerics.compiling import Array
from sclcs.spi.numerics.tangent import Tangent, covariances
from sclcs.spi.operators import operator_facts
from sclcs.spi.signals import MINIMUM_REGIONS, MINIMUM_TIMES
from sclcs.spi.versions import TANGENT, resolve

__all__ = ["FCTransformer"]


class FCTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """Turn time series into functional connectivity, with any operator of the catalogue.

    It takes what nilearn's ``ConnectivityMeasure`` takes, a list of arrays (time, region) whose
    lengths may differ, and fits where that fits: pipelines, grid searches, cross-validation.
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
    diagonal : float
        What stands on the diagonal, where no operator is defined.
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
        diagonal: float = float("nan"),
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
        samples = _check_samples(X)
        self.spis_ = _resolve(self.spi)
        plain = [name for name in self.spis_ if name != TANGENT]
        if plain and self.vectorize and not self.discard_diagonal and np.isnan(self.diagonal):
            raise InputError(
                "Vectors with the diagonal would hold NaN, because no operator is defined there; "
                "keep discard_diagonal=True or set diagonal to a number."
            )
        if TANGENT in self.spis_:
            self.tangent_ = Tangent.fit(covariances(samples))
        self.n_features_in_ = samples[0].shape[1]
        names = _region_names(X)
        if names is not None:
            self.feature_names_in_ = names
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
        samples = _check_samples(X)
        if samples[0].shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {samples[0].shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: the number of regions it was fitted on."
            )
        self._refuse_other_regions(X)
        matrices = self._compute(samples)
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

    def _refuse_other_regions(self, X: Sequence[ArrayLike]) -> None:
        """Raise if data frames have other columns, or another order, than those of the fit."""
        names, fitted = _region_names(X), getattr(self, "feature_names_in_", None)
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
        matrices[..., np.arange(size), np.arange(size)] = self.diagonal
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


def _check_samples(X: Sequence[ArrayLike]) -> list[Array]:
    """Return the samples as arrays, or name all that cannot be used."""
    several = isinstance(X, Sized) and isinstance(X, Iterable)
    if isinstance(X, pd.DataFrame | str | Mapping) or not several:
        raise InputError(
            f"Expected a list of arrays (time, region), got {type(X).__name__}; put a single scan "
            "into a list, and make one of a cohort: [sample.T for sample in cohort.signals]."
        )
    if len(X) == 0:
        raise InputError("Expected at least one sample, found 0 samples; X is empty.")
    read = [_array(sample) for sample in X]
    bad = [f"sample {place}: {problem}" for place, (_, problem) in enumerate(read) if problem]
    if bad:
        raise InputError(
            f"Expected arrays of shape (time, region) with finite real numbers, found "
            f"{name_first(bad)}. A single scan goes into a list."
        )
    samples = [sample for sample, _ in read]
    regions = sorted({sample.shape[1] for sample in samples})
    if len(regions) > 1:
        raise InputError(
            f"Expected the same regions in every sample, found samples with "
            f"{name_first(regions)} regions; the axes are (time, region)."
        )
    return [np.asarray(sample, dtype=np.float64) for sample in samples]


def _array(sample: ArrayLike) -> tuple[NDArray[Any], str]:
    """Return a sample as an array, and what is wrong with it."""
    if isinstance(sample, pd.DataFrame) and all(kind.kind in "fiu" for kind in sample.dtypes):
        array = sample.to_numpy(dtype=np.float64, na_value=np.nan)  # also of nullable types
        return array, _problem(array)
    try:
        array = np.asarray(sample)
    except (ValueError, RuntimeError):  # unequal lists; a tensor that is being differentiated
        return np.empty((0, 0)), f"no array, but {type(sample).__name__}"
    masked = isinstance(sample, np.ma.MaskedArray) and np.ma.is_masked(sample)
    return array, "masked values" if masked else _problem(array)


def _problem(sample: NDArray[Any]) -> str:
    if sample.ndim != 2:
        return f"{sample.ndim} dimensions"
    if sample.dtype.kind not in "fiu":
        return f"type {sample.dtype}"
    if sample.shape[0] < MINIMUM_TIMES or sample.shape[1] < MINIMUM_REGIONS:
        return f"{sample.shape[0]} time points x {sample.shape[1]} regions"
    return "" if np.isfinite(sample).all() else "NaN or infinity"


def _region_names(X: Sequence[ArrayLike]) -> NDArray[np.object_] | None:
    frames = [sample for sample in X if isinstance(sample, pd.DataFrame)]
    if len(frames) < len(X):
        return None
    names = [list(map(str, frame.columns.tolist())) for frame in frames]
    if any(other != names[0] for other in names):
        raise InputError("The samples' columns differ: every data frame needs the same regions.")
    return np.asarray(names[0], dtype=object)


def _warn(
    status: NDArray[Any], reason: NDArray[Any], spis: list[str], rows: NDArray[np.intp]
) -> None:
    places = np.argwhere(status != "ok")
    if len(places) == 0:
        return
    failures = [f"{spis[a]} on sample {rows[b]} ({reason[a, b]})" for a, b in places]
    warnings.warn(f"NaN in the result: {name_first(failures)}.", UserWarning, stacklevel=4)
