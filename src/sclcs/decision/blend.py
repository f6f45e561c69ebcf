"""The blend: the mean of the kernels of all operators, with tangent space, as an estimator.

Nothing is selected, so there is no winner's curse. Families of operators count alike, both
views count alike, and tangent space has half of the weight. Everything that is learned (ranks of
edges, the reference of tangent space, covariates, the penalty) is learned in `fit`, so
cross-validating the estimator is honest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sclcs._core import InputError, name_first
from sclcs.decision.kernels import VIEWS, ScoreMap, equal_weights
from sclcs.decision.operator_features import Scans, operator_edges, read_scans, view_features
from sclcs.decision.ridge import (
    apply_columns,
    calibrate,
    fit_ridge,
    learn_columns,
    probabilities,
)
from sclcs.spi import Tangent, covariances, operator_facts, resolve
from sclcs.stats import CovariateColumns

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Blend", "blend_similarity"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
FORMAT = 1
TANGENT = "tangent"


@dataclass(frozen=True, eq=False)
class _Part:
    """One view of one operator: what its features are worth.

    Parameters
    ----------
    spi, view : str
    scale : float
        What its kernel is multiplied with.
    weights : array of float32, shape (feature, column)
        Of the features, once the model is fitted.
    usual : array, shape (column,)
        The mean over training scans of features times weights; for scans without the operator.
    """

    spi: str
    view: str
    scale: float
    weights: Singles
    usual: Floats


class Blend(BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """Predict labels or numbers of scans from all operators together.

    A classifier if `y` is text or booleans, a regressor if it holds numbers; `kind` decides
    where that is wrong (classes coded as numbers), and makes scikit-learn stratify its folds.

    Parameters
    ----------
    spis : str or list of str
        Operators to blend, see :func:`sclcs.spi.resolve`.
    views : sequence of {"pattern", "values"}
        Ranks within a scan's matrix; every edge ranked across training scans.
    tangent : float
        Weight of tangent space, from 0 to 1. It needs series, so it is left out where only
        matrices are given.
    weights : {"families", "operators"}
        What counts alike.
    kind : {"auto", "classes", "number"}
    edges : int
        Of more edges than these a random part of every operator is used.
    seed : int
        Of operators that draw random numbers.
    n_jobs : int
        Threads.

    Attributes
    ----------
    classes_ : array
        Of a classifier.
    spis_ : list of str
        The operators that could be computed on every training scan.
    weights_ : dict of str to float
        The weight of every operator, tangent space included.
    penalty_ : float
    left_out_ : array, shape (scan, column)
        Predictions of every training scan by a model without it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scans = [rng.normal(size=(60, 5)) for _ in range(24)]  # (time, region)
    >>> group = np.repeat(["control", "patient"], 12)
    >>> model = Blend(["pearson", "kendalltau"]).fit(scans, group)
    >>> model.predict_proba(scans[:2]).shape
    (2, 2)
    """

    def __init__(
        self,
        spis: str | Sequence[str] = "paper-fast",
        *,
        views: Sequence[str] = VIEWS,
        tangent: float = 0.5,
        weights: str = "families",
        kind: str = "auto",
        edges: int = 2000,
        seed: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.spis = spis
        self.views = views
        self.tangent = tangent
        self.weights = weights
        self.kind = kind
        self.edges = edges
        self.seed = seed
        self.n_jobs = n_jobs

    def fit(
        self,
        X: object,
        y: ArrayLike,
        covariates: object = None,
        *,
        matrices: xr.DataArray | None = None,
    ) -> Self:
        """Learn from training scans.

        Parameters
        ----------
        X : list of array (time, region), array (scan, time, region), Cohort, or DataArray
            A DataArray holds matrices (spi, scan, source, target), as :func:`sclcs.spi.compute`
            returns them.
        y : array_like, shape (scan,)
        covariates : DataFrame or array_like, shape (scan, column), optional
            Text (a site) is taken as classes. They are fitted beside connectivity, so what they
            explain is not credited to it.
        matrices : DataArray, optional
            Of the same scans, to spare computing them again.

        Returns
        -------
        Blend
        """
        self._check()
        scans = read_scans(X, matrices)
        target, classes = self._target(np.asarray(y), scans.count)
        self.columns_, numbers = learn_columns(covariates, scans.count)
        basis = _orthonormal(numbers)
        kernel, features, parts = self._kernel(scans, basis)
        model = fit_ridge(kernel, target, basis)
        self.penalty_, self.left_out_ = model.penalty, model.left_out
        self.parts_, decision = list[_Part](), np.zeros_like(target)
        dual = model.dual.astype(np.float32)
        for part, seen in zip(parts, features, strict=True):
            weights = np.float32(part.scale) * (seen.T @ dual)
            said = (seen @ weights).astype(np.float64)
            decision += said
            self.parts_.append(_Part(part.spi, part.view, part.scale, weights, said.mean(axis=0)))
        self.slopes_ = np.linalg.lstsq(numbers, target - decision, rcond=None)[0]
        self.calibration_ = np.empty(0) if classes is None else calibrate(model.left_out, classes)
        self.n_features_in_ = scans.n_regions
        return self

    def _check(self) -> None:
        wrong = [view for view in self.views if view not in VIEWS]
        if wrong or not self.views:
            raise InputError(f"views are among {VIEWS}, got {list(self.views)}.")
        if self.weights not in ("families", "operators"):
            raise InputError(f"weights is 'families' or 'operators', got {self.weights!r}.")
        if self.kind not in ("auto", "classes", "number"):
            raise InputError(f"kind is 'auto', 'classes' or 'number', got {self.kind!r}.")
        if not 0 <= self.tangent <= 1:
            raise InputError(f"tangent is a weight from 0 to 1, got {self.tangent}.")

    def _target(self, y: NDArray[Any], count: int) -> tuple[Floats, NDArray[np.int64] | None]:
        if y.shape != (count,):
            raise InputError(f"Expected y of {count} scans, found the shape {y.shape}.")
        number = y.dtype.kind in "iuf" if self.kind == "auto" else self.kind == "number"
        if number:
            values = y.astype(np.float64)
            if not np.isfinite(values).all():
                raise InputError("y holds NaN or infinite values; leave these scans out.")
            self.level_, self.spread_ = float(values.mean()), float(values.std())
            if not self.spread_ > 0:
                raise InputError("y is the same for all scans; there is nothing to learn.")
            self.__dict__.pop("classes_", None)
            return ((values - self.level_) / self.spread_)[:, None], None
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"Expected at least 2 classes in y, found {list(self.classes_)}.")
        codes = codes.astype(np.int64)
        return (codes[:, None] == np.arange(len(self.classes_))).astype(np.float64), codes

    def _kernel(self, scans: Scans, basis: Floats) -> tuple[Floats, list[Singles], list[_Part]]:
        """Compute features, learn their maps, and add up kernels beyond the covariates."""
        facts = operator_facts()
        names = [] if self.tangent == 1 else self._operators(scans)
        found: dict[str, list[Singles]] = {}
        self.maps_: dict[str, ScoreMap] = {}
        for spi, edges in operator_edges(
            scans, names, most=self.edges, seed=self.seed, n_jobs=self.n_jobs
        ):
            if not np.isfinite(edges).all() or not float(edges.std(axis=0).max()) > 0:
                continue
            if "values" in self.views:
                self.maps_[spi] = ScoreMap.fit(edges)
            found[spi] = [view_features(edges, self._map(spi, view)) for view in self.views]
        self.spis_ = [name for name in names if name in found]
        shares = equal_weights({n: facts[n].family for n in self.spis_}, by=self.weights)
        whole = self.tangent if scans.series else 0.0
        if not found and whole == 0:
            raise InputError(
                "No operator could be computed on every scan, and tangent space needs series."
            )
        whole = 1.0 if not found else whole
        self.weights_ = {name: share * (1 - whole) for name, share in shares.items()}
        self.tangent_ = None
        features, parts = list[Singles](), list[_Part]()
        kernel = np.zeros((scans.count, scans.count), dtype=np.float32)
        for name in self.spis_:
            for view, seen in zip(self.views, found.pop(name), strict=True):
                scale = _add(kernel, seen, basis, self.weights_[name] / len(self.views))
                features.append(seen)
                parts.append(_Part(name, view, scale, np.empty(0, np.float32), np.empty(0)))
        if whole > 0:
            matrices = covariances(scans.series)
            self.tangent_ = Tangent.fit(matrices)
            self.weights_[TANGENT] = whole
            seen = self.tangent_.features(matrices)
            scale = _add(kernel, seen, basis, whole)
            features.append(seen)
            parts.append(_Part(TANGENT, TANGENT, scale, np.empty(0, np.float32), np.empty(0)))
        return kernel.astype(np.float64), features, parts

    def _map(self, spi: str, view: str) -> ScoreMap | None:
        return self.maps_[spi] if view == "values" else None

    def _operators(self, scans: Scans) -> list[str]:
        names = [name for name in resolve(self.spis) if name != TANGENT]
        if scans.matrices is None:
            return names
        there = {str(name) for name in scans.matrices.coords[scans.matrices.dims[0]].values}
        return [name for name in names if name in there]

    def _decide(self, X: object, covariates: object, matrices: xr.DataArray | None) -> Floats:
        check_is_fitted(self)
        scans = read_scans(X, matrices)
        if scans.n_regions != self.n_features_in_:
            raise InputError(
                f"X has {scans.n_regions} regions, but Blend was fitted on {self.n_features_in_}."
            )
        if self.tangent_ is not None and not scans.series:
            raise InputError("This blend has tangent space in it and needs series, not matrices.")
        found = apply_columns(self.columns_, covariates, scans.count) @ self.slopes_
        by_name: dict[str, list[_Part]] = {}
        for part in self.parts_:
            by_name.setdefault(part.spi, []).append(part)
        failed = list[str]()
        for spi, edges in operator_edges(
            scans, self.spis_, most=self.edges, seed=self.seed, n_jobs=self.n_jobs
        ):
            fine = np.isfinite(edges).all(axis=1)
            failed += [] if fine.all() else [spi]
            for part in by_name[spi]:
                found[~fine] += part.usual
                seen = view_features(edges[fine], self._map(spi, part.view))
                found[fine] += seen @ part.weights
        if self.spis_ and len(failed) == len(self.spis_):
            raise InputError(f"No operator could be computed: {name_first(failed)}.")
        if self.tangent_ is not None:
            (part,) = by_name[TANGENT]
            found += self.tangent_.features(covariances(scans.series)) @ part.weights
        return np.asarray(found)

    def decision_function(
        self, X: object, covariates: object = None, *, matrices: xr.DataArray | None = None
    ) -> Floats:
        """Return what classes are decided by: (scan,) for two classes, else (scan, class)."""
        found = self._decide(X, covariates, matrices)
        if not hasattr(self, "classes_"):
            raise InputError("A regressor has no decision function; call predict.")
        return found[:, 1] - found[:, 0] if found.shape[1] == 2 else found

    def predict(
        self, X: object, covariates: object = None, *, matrices: xr.DataArray | None = None
    ) -> NDArray[Any]:
        """Return classes, or numbers, of scans.

        Parameters
        ----------
        X : as in fit
        covariates : as in fit, optional
            Without them, and for sites that were not there in training, their average is taken.
        matrices : DataArray, optional
        """
        found = self._decide(X, covariates, matrices)
        if hasattr(self, "classes_"):
            return np.asarray(self.classes_[probabilities(found, self.calibration_).argmax(1)])
        return np.asarray(found[:, 0] * self.spread_ + self.level_)

    def predict_proba(
        self, X: object, covariates: object = None, *, matrices: xr.DataArray | None = None
    ) -> Floats:
        """Return probabilities of classes, calibrated on leave-one-out predictions."""
        found = self._decide(X, covariates, matrices)
        if not hasattr(self, "classes_"):
            raise InputError("A regressor has no probabilities; call predict.")
        return probabilities(found, self.calibration_)

    def score(self, X: object, y: ArrayLike, covariates: object = None) -> float:
        """Return accuracy of classes, or R² of numbers, as scikit-learn's estimators do."""
        from sklearn.metrics import accuracy_score, r2_score

        predicted = self.predict(X, covariates)
        return float((accuracy_score if hasattr(self, "classes_") else r2_score)(y, predicted))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        from sklearn.utils import ClassifierTags, RegressorTags

        tags = super().__sklearn_tags__()
        classes = hasattr(self, "classes_") if self.kind == "auto" else self.kind == "classes"
        if classes:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif self.kind == "number" or hasattr(self, "spread_"):
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted model to one file: arrays and JSON, nothing that can run code."""
        check_is_fitted(self)
        arrays: dict[str, NDArray[Any]] = {
            "slopes": self.slopes_,
            "calibration": self.calibration_,
            "left_out": self.left_out_,
            "usual": self.columns_.usual,
        }
        for place, part in enumerate(self.parts_):
            arrays[f"weights-{place}"], arrays[f"usual-{place}"] = part.weights, part.usual
        for name, learned in self.maps_.items():
            arrays[f"knots/{name}"], arrays[f"scores/{name}"] = learned.knots, learned.scores
        if self.tangent_ is not None:
            arrays["tangent"] = self.tangent_.mean
        if hasattr(self, "classes_"):
            arrays["classes"] = self.classes_
        parameters = self.get_params()
        parameters["views"] = list(self.views)
        about = {
            "format": FORMAT,
            "parameters": parameters,
            "parts": [[part.spi, part.view, part.scale] for part in self.parts_],
            "spis": self.spis_,
            "weights": self.weights_,
            "penalty": self.penalty_,
            "regions": self.n_features_in_,
            "covariates": {
                "names": self.columns_.names,
                "levels": self.columns_.levels,
                "knots": self.columns_.knots,
            },
            "level": getattr(self, "level_", None),
            "spread": getattr(self, "spread_", None),
        }
        target = Path(path)
        with target.open("wb") as stream:
            np.savez_compressed(stream, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Blend:
        """Read a model that :meth:`save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            if "about" not in stored:
                raise InputError(f"{path} is not a saved Blend.")
            about = json.loads(str(stored["about"]))
            if about["format"] != FORMAT:
                raise InputError(
                    f"{path} has format {about['format']}, this version reads {FORMAT}; fit again."
                )
            model = cls(**about["parameters"])
            model.spis_, model.weights_ = about["spis"], about["weights"]
            model.penalty_, model.n_features_in_ = about["penalty"], about["regions"]
            model.parts_ = [
                _Part(spi, view, scale, stored[f"weights-{k}"], stored[f"usual-{k}"])
                for k, (spi, view, scale) in enumerate(about["parts"])
            ]
            model.maps_ = {
                name: ScoreMap(stored[f"knots/{name}"], stored[f"scores/{name}"])
                for name in model.spis_
                if f"knots/{name}" in stored
            }
            model.tangent_ = Tangent(stored["tangent"]) if "tangent" in stored else None
            known = about["covariates"]
            model.columns_ = CovariateColumns(
                known["names"], known["levels"], known["knots"], stored["usual"]
            )
            model.slopes_, model.left_out_ = stored["slopes"], stored["left_out"]
            model.calibration_ = stored["calibration"]
            if "classes" in stored:
                model.classes_ = stored["classes"]
            else:
                model.level_, model.spread_ = about["level"], about["spread"]
        return model


def _orthonormal(columns: Floats) -> Floats:
    vectors, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(vectors[:, sizes > 1e-9 * sizes.max()])


def _add(kernel: Singles, features: Singles, basis: Floats, weight: float) -> float:
    """Add a kernel beyond the covariates to a sum; return what its features are scaled with."""
    hat = basis.astype(np.float32)
    beyond = features - hat @ (hat.T @ features)
    trace = float(np.einsum("nf,nf->", beyond, beyond))
    if not trace > 0:
        return 0.0
    scale = weight * len(kernel) / trace
    kernel += np.float32(scale) * (beyond @ beyond.T)
    return scale


def blend_similarity(similarities: Sequence[NDArray[np.floating]]) -> Floats:
    """Return the mean of standardised similarities of scans, for fingerprinting.

    Parameters
    ----------
    similarities : sequence of array, shape (scan, other scan)
        One per operator. Each is brought to mean 0 and deviation 1 over all entries off the
        diagonal of a square one (a scan with itself), then averaged.
    """
    if not similarities:
        raise InputError("There is nothing to blend: give at least one similarity.")
    total = np.zeros(similarities[0].shape)
    for one in similarities:
        square = one.shape[0] == one.shape[1]
        values = one[~np.eye(len(one), dtype=bool)] if square else one.ravel()
        total += (one - values.mean()) / max(float(values.std()), 1e-12)
    return total / len(similarities)
