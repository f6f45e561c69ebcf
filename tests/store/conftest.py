import numpy as np
import pandas as pd
import pytest
from store_content import OPERATORS

from sclcs.cohort import Cohort
from sclcs.store import compute_store


@pytest.fixture(scope="session")
def saved_cohort(tmp_path_factory):
    """Thirty-one samples: 6 regions, 60 time points; on disk."""
    rng = np.random.default_rng(7)
    samples = pd.DataFrame(
        {"subject": [f"p{i // 2}" for i in range(31)], "window": [i % 2 for i in range(31)]},
        index=[f"s{i:02d}" for i in range(31)],
    )
    cohort = Cohort(rng.normal(size=(31, 6, 60)), samples, tr=2.0)
    return cohort.save(tmp_path_factory.mktemp("cohort") / "c.zarr")


@pytest.fixture(scope="session")
def undisturbed(saved_cohort, tmp_path_factory):
    """The store of a run that nothing disturbed, in blocks of two samples."""
    out = tmp_path_factory.mktemp("undisturbed") / "fc"
    return compute_store(saved_cohort, out, OPERATORS, block_size=2)
