"""Every method runs on real signals, where the project's shared data are beside the clone."""

import pytest

from sclcs.cohort.readers.arrays import read_arrays
from sclcs.coresets import SELECTORS, select


@pytest.fixture(scope="module")
def real_cohort(real_cohort_file):
    whole = read_arrays(real_cohort_file).to_cohort(
        window=70, stride=35, truncate=210, drop_first=1, on_bad="skip"
    )
    assert (whole.n_subjects, len(whole)) == (307, 1535)
    people = whole.samples["subject"].unique()[::8]
    return whole.where(subject=list(people))


@pytest.mark.slow
@pytest.mark.parametrize("method", list(SELECTORS))
def test_every_method_works_on_real_signals(method, real_cohort):
    parameters = {"epochs": 2} if SELECTORS[method].needs_training else {}
    core = select(real_cohort, method, 0.1, **parameters)
    assert len(set(core.sample_ids)) == 19
