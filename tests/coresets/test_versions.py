"""A method that chooses otherwise than before has a new version: old folders then choose again."""

import pytest

from sclcs._core.identity import text_digest
from sclcs.coresets import SELECTORS, select

# What methods that look at nothing but names chose, by their version. Numbers of signals are not
# the same on every processor to the last bit; ids are.
CHOICES = {
    ("random", 1): "269d70976bd3",
    ("subjects", 1): "c0a83b2109b0",
    ("pairs", 1): "cf0434874398",
    ("stratified", 2): "c9ba55dd099f",
}


@pytest.mark.parametrize(("method", "version"), CHOICES)
def test_a_changed_choice_needs_a_new_version(small_cohort, method, version):
    chosen = select(small_cohort, method, 0.37, seed=5).sample_ids
    found = text_digest("\n".join(chosen), 12)
    assert SELECTORS[method].version == version
    assert found == CHOICES[method, version], "raise the version of this method"
