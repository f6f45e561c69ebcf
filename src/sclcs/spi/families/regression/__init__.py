"""How badly one region predicts another: mean squared errors of simple regressions.

``lmfit_*`` are linear models, ``gpfit_*`` Gaussian processes with optimised hyper-parameters, all
with scikit-learn's defaults, with the error on the data they were fitted to. The row is the
regressor, the column the response.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

import numpy as np

from sclcs.numerics import gaussian_process as process
from sclcs.numerics.arrays import Array
from sclcs.spi.context import FamilyContext
from sclcs.spi.families.regression import linear_fits as linear

__all__ = ["MEMBERS", "compute"]

MEMBERS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "lmfit_Ridge": linear.ridge,
        "lmfit_Lasso": linear.lasso,
        "lmfit_SGDRegressor": linear.gradient_descent,
        "lmfit_ElasticNet": linear.elastic_net,
        "lmfit_BayesianRidge": linear.bayesian_ridge,
        "gpfit_DotProduct": process.linear_errors,
        "gpfit_RBF": process.squared_exponential_errors,
    }
)


def compute(signals: Array, members: Collection[str], context: FamilyContext) -> dict[str, Array]:
    """Compute regression errors, row on column.

    Parameters
    ----------
    signals : array, shape (sample, region, time)
        z-scored along time.
    members : collection of str
        Keys of `MEMBERS`.
    context : FamilyContext
        Not needed: pairs are fitted one after the other.

    Returns
    -------
    dict of str to array, shape (sample, region, region)
    """
    del context
    return {
        name: np.stack([MEMBERS[name](np.ascontiguousarray(rows)) for rows in signals])
        for name in members
    }
