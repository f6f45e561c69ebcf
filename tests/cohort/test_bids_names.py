"""BIDS names: what is taken apart can be put together again."""

import pytest
from hypothesis import given, strategies as st

from sclcs.cohort.readers.bids_names import BidsName, parse_bids_name

LABELS = st.from_regex(r"[A-Za-z0-9+.]+", fullmatch=True)
KEYS = st.from_regex(r"[a-z][a-zA-Z0-9]*", fullmatch=True)
SUFFIXES = st.from_regex(r"[A-Za-z0-9]+", fullmatch=True)
EXTENSIONS = st.sampled_from(["", ".tsv", ".json", ".nii.gz", ".ptseries.nii", ".dtseries.nii"])


@given(st.dictionaries(KEYS, LABELS, min_size=1, max_size=8), SUFFIXES, EXTENSIONS)
def test_round_trip(entities, suffix, extension):
    name = BidsName(entities, suffix, extension)
    parsed = parse_bids_name(f"folder/sub-x/{name}")
    assert parsed == name
    assert list(parsed.entities) == list(entities), "the order of entities is kept"
    assert str(parsed) == str(name)


@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused(text):
    name = parse_bids_name(text)
    if name is not None:
        assert parse_bids_name(str(name)) == name


@pytest.mark.parametrize(
    ("text", "scan_id", "parcellation"),
    [
        (
            "sub-01_ses-2_task-rest_run-1_space-fsLR_seg-Glasser_den-91k_stat-mean_timeseries.tsv",
            "sub-01_ses-2_task-rest_run-1",
            "Glasser",
        ),
        ("sub-01_task-rest_space-MNI_atlas-4S156Parcels_timeseries.tsv", "sub-01_task-rest",
         "4S156Parcels"),
        ("sub-9_task-rest_dir-AP_space-MNI_res-2_desc-preproc_bold.nii.gz",
         "sub-9_task-rest_dir-AP", None),
    ],
)  # fmt: skip
def test_identity_is_what_was_scanned(text, scan_id, parcellation):
    name = parse_bids_name(text)
    assert name.scan_id == scan_id
    assert name.parcellation == parcellation


@pytest.mark.parametrize(
    "text",
    ["README.md", "dataset_description.json", "sub-01", "sub-01_sub-02_bold.nii", "_bold.nii",
     "sub-_bold.nii", "sub-01_.tsv", "sub-01_task-rest.json", "-x_bold.nii", ""],
)  # fmt: skip
def test_other_names_are_refused(text):
    assert parse_bids_name(text) is None
