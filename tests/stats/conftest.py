import pytest
from small_fc import make_cohort, make_fc

from sclcs.stats.sources import ArraySource


@pytest.fixture
def labelled_cohort():
    """Fourteen samples of five subjects, unequal numbers of samples, two classes, two sites."""
    subjects = list("aaabbbbccddeee")
    diagnosis = {"a": "MDD", "b": "MDD", "c": "HC", "d": "HC", "e": "HC"}
    site = {"a": "x", "b": "y", "c": "x", "d": "y", "e": "y"}
    return make_cohort(
        subjects,
        diagnosis=[diagnosis[s] for s in subjects],
        site=[site[s] for s in subjects],
    )


@pytest.fixture
def source(labelled_cohort, rng):
    names = ["kendalltau", "cov_EmpiricalCovariance", "pec", "gwtau", "prec_OAS", "mi_gaussian"]
    return ArraySource(make_fc(labelled_cohort, len(names), rng), names, labelled_cohort)
