"""The reader of XCP-D time series, on folders laid out as XCP-D and fMRIPrep write them."""

import json

import numpy as np
import pytest
from pipeline_trees import read_bids

from sclcs._core import InputError, NotFoundError, UnknownNameError, UnreadableFileError

REGIONS = ("LH_Vis_1", "LH_Vis_2", "RH_Default_PFC_1", "Left-Hippocampus")
SPACE = "MNI152NLin2009cAsym"


def signals_of(seed, length=11):
    """Time x region, as in the file."""
    return np.random.default_rng(seed).normal(size=(length, len(REGIONS)))


def write_table(path, values, regions=REGIONS):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ["\t".join("n/a" if np.isnan(x) else repr(float(x)) for x in row) for row in values]
    path.write_text("\n".join(["\t".join(regions), *rows]) + "\n")
    return path


def scan_file(folder, subject, *, session=None, run=None, tail=f"space-{SPACE}_seg-Tian_stat-mean"):
    ses = [] if session is None else [f"ses-{session}"]
    parts = [f"sub-{subject}", *ses, "task-rest", *([] if run is None else [f"run-{run}"])]
    name = "_".join([*parts, tail, "timeseries.tsv"])
    return folder.joinpath(f"sub-{subject}", *ses, "func", name)


@pytest.fixture
def dataset(tmp_path):
    """Two subjects, two sessions, two runs; labels at the root, XCP-D in derivatives."""
    xcp = tmp_path / "study" / "derivatives" / "xcp_d"
    (xcp / "sub-01").mkdir(parents=True)
    (xcp / "dataset_description.json").write_text('{"Name": "XCP-D", "DatasetType": "derivative"}')
    for subject in ("01", "02"):
        for session in ("1", "2"):
            for run in ("1", "2"):
                seed = int(subject + session + run)
                path = scan_file(xcp, subject, session=session, run=run)
                write_table(path, signals_of(seed, 10 + seed % 7))
                func = path.parent
                source = f"sub-{subject}_ses-{session}_task-rest_run-{run}"
                (func / f"{source}_motion.tsv").write_text("trans_x\n0.1\n")
                (func / f"{source}_outliers.tsv").write_text("framewise_displacement\n0\n")
                (func / f"{source}_desc-confounds_timeseries.tsv").write_text("csf\n1.0\n")
    root = xcp.parent.parent
    (root / "task-rest_bold.json").write_text(json.dumps({"RepetitionTime": 2.5}))
    (root / "participants.tsv").write_text(
        "participant_id\tdiagnosis\tage\tsession\nsub-01\tMDD\t31\tignored\nsub-02\tHC\tn/a\tx\n"
    )
    return xcp


def test_values_facts_and_labels(dataset):
    scans = read_bids(dataset)
    assert scans.regions == REGIONS
    assert scans.tr == 2.5, "inherited from the root of the dataset"
    assert list(scans.table.index) == [
        f"sub-{s}_ses-{v}_task-rest_run-{r}" for s in ("01", "02") for v in "12" for r in "12"
    ]
    for scan in scans:
        facts = scan.metadata
        seed = int(scan.subject.removeprefix("sub-") + facts["session"] + facts["run"])
        np.testing.assert_array_equal(
            scan.load(), signals_of(seed, 10 + seed % 7).T, err_msg=scan.scan_id
        )
        assert facts["task"] == "rest"
        assert facts["diagnosis"] == {"sub-01": "MDD", "sub-02": "HC"}[scan.subject]
    assert scans.table["session"].tolist() == ["1", "1", "2", "2"] * 2, "names beat the table"
    assert scans[0].metadata["age"] == 31
    assert scans[4].metadata["age"] is None
    assert not scans.problems
    assert scans.provenance["reader"] == "bids"
    assert scans.provenance["options"]["atlas"] == "Tian"
    assert scans.provenance["labels"]["source"].endswith("participants.tsv")


def test_becomes_a_cohort(dataset):
    cohort = read_bids(dataset, session="2", run="1").to_cohort(window=5, stride=5)
    assert cohort.samples["subject"].unique().tolist() == ["sub-01", "sub-02"]
    np.testing.assert_array_equal(cohort.signals[0], signals_of(121).T[:, :5].astype(np.float32))


@pytest.mark.parametrize(
    ("choice", "kept"),
    [({"session": "1"}, 4), ({"session": "ses-1", "run": "02"}, 2), ({"run": ["1", "2"]}, 8)],
)
def test_choosing_scans(dataset, choice, kept):
    scans = read_bids(dataset, **choice)
    assert len(scans) == kept
    assert not scans.problems, "subjects not chosen are no extra rows"


def test_unknown_choices_list_the_known(dataset):
    with pytest.raises(UnknownNameError, match=r"ses found are 1, 2"):
        read_bids(dataset, session="9")
    with pytest.raises(UnknownNameError, match="found: Tian"):
        read_bids(dataset, atlas="Glasser")


def test_old_atlas_entity_and_columns_in_another_order(tmp_path):
    old = f"space-{SPACE}_atlas-Tian"
    write_table(scan_file(tmp_path, "a", tail=old), signals_of(1))
    swapped = [2, 0, 3, 1]
    write_table(
        scan_file(tmp_path, "b", tail=old),
        signals_of(2)[:, swapped],
        [REGIONS[i] for i in swapped],
    )
    scans = read_bids(tmp_path)
    assert scans.regions == REGIONS
    np.testing.assert_array_equal(scans[1].load(), signals_of(2).T)
    assert scans.tr is None
    assert "session" not in scans[0].metadata, "no name has a session"


def test_several_atlases_need_a_choice(dataset):
    write_table(
        scan_file(dataset, "01", session="1", run="1", tail=f"space-{SPACE}_seg-Gordon"),
        signals_of(0)[:, :2],
        ["x", "y"],
    )
    with pytest.raises(
        InputError, match=r"found 2: Gordon \(1 scans\), Tian \(8 scans\); .*--atlas"
    ):
        read_bids(dataset)
    assert read_bids(dataset, atlas="Gordon").regions == ("x", "y")
    assert len(read_bids(dataset, atlas="Tian")) == 8


def test_two_spaces_need_a_choice(dataset):
    other = scan_file(dataset, "01", session="1", run="1", tail="space-fsLR_seg-Tian_den-91k")
    write_table(other, signals_of(5))
    with pytest.raises(InputError, match=r"space \(MNI152NLin2009cAsym, fsLR\).*--space LABEL"):
        read_bids(dataset)
    np.testing.assert_array_equal(read_bids(dataset, space="fsLR")[0].load(), signals_of(5).T)
    assert len(read_bids(dataset, entity={"den": "91k"})) == 1


def test_joined_runs_are_not_counted_twice(dataset):
    write_table(scan_file(dataset, "01", session="1"), signals_of(77))
    with pytest.raises(InputError, match="run='combined' or run='separate'"):
        read_bids(dataset)
    assert len(read_bids(dataset, run="separate")) == 8
    (joined,) = read_bids(dataset, run="combined")
    assert joined.scan_id == "sub-01_ses-1_task-rest"
    np.testing.assert_array_equal(joined.load(), signals_of(77).T)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"RepetitionTime": 0.8}, 0.8),
        ({"SamplingFrequency": 0.5}, 2.0),
        ({"SamplingFrequency": "TR"}, 2.5),  # as some versions wrote; the root's value holds
    ],
)
def test_repetition_time_of_the_sidecar(dataset, content, expected):
    path = scan_file(dataset, "01", session="1", run="1")
    path.with_suffix(".json").write_text(json.dumps(content))
    scans = read_bids(dataset)
    if expected == 2.5:
        assert scans.tr == 2.5
    else:
        assert scans.tr is None
        assert scans.table["tr"].tolist() == [expected] + [2.5] * 7
    assert read_bids(dataset, tr=1.5).tr == 1.5


def test_repetition_time_of_the_denoised_image_beside(dataset):
    for path in dataset.rglob(f"*_space-{SPACE}_*_timeseries.tsv"):
        start = path.name.partition("_space")[0]
        (path.parent / f"{start}_space-{SPACE}_desc-denoised_bold.json").write_text(
            '{"RepetitionTime": 3}'
        )
    assert read_bids(dataset).tr == 3.0


def test_damaged_sidecar(dataset):
    scan_file(dataset, "01", session="1", run="1").with_suffix(".json").write_text("{")
    with pytest.raises(UnreadableFileError, match=r"stat-mean_timeseries\.json.*--tr"):
        read_bids(dataset)
    assert read_bids(dataset, tr=2).tr == 2.0


def test_regions_outside_coverage_are_non_finite(dataset):
    values = signals_of(3)
    values[:, 3] = np.nan
    write_table(scan_file(dataset, "02", session="1", run="1"), values)
    scans = read_bids(dataset)
    assert np.isnan(scans[4].load()[3]).all()
    with pytest.raises(InputError, match=r"NaN.*sub-02_ses-1_task-rest_run-1 \(Left-Hippocampus\)"):
        scans.to_cohort(window=5, stride=5)
    cohort = scans.to_cohort(window=5, stride=5, on_bad="skip")
    assert cohort.provenance["excluded"][0]["kind"] == "non-finite"
    assert len(read_bids(dataset, regions=list(REGIONS[:3])).to_cohort(window=5, stride=5)) > len(
        cohort
    )


def test_other_regions_are_named_and_skipped(dataset):
    write_table(
        scan_file(dataset, "01", session="1", run="2"), signals_of(0)[:, :3], (*REGIONS[:2], "new")
    )
    scans = read_bids(dataset)
    assert len(scans) == 7
    with pytest.raises(InputError, match=r"run-2 \(3 regions, expected 4: lacks .* has also new"):
        scans.to_cohort(window=5, stride=5)
    assert (
        scans.to_cohort(window=5, stride=5, on_bad="skip").provenance["excluded"][0]["kind"]
        == "region-count"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\t".join(REGIONS) + "\n1\t2\t3\t4\n1\t2\t3", "found 3 in line 3"),
        ("\t".join(REGIONS) + "\n1\t2\tx\t4\n", "Expected numbers only"),
        ("", "rows of numbers"),
        (b"\xff\xfe\x00\x01", "found binary data"),
    ],
)
def test_damaged_tables(dataset, text, found):
    path = scan_file(dataset, "01", session="1", run="1")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    scans = read_bids(dataset)
    with pytest.raises(UnreadableFileError, match=found) as caught:
        scans.to_cohort(window=5, stride=5)
    assert path.name in str(caught.value)
    cohort = scans.to_cohort(window=5, stride=5, on_bad="skip")
    assert [p["kind"] for p in cohort.provenance["excluded"]] == ["unreadable"]
    assert "sub-01_ses-1_task-rest_run-1" not in set(cohort.samples["scan"])


def test_a_region_that_comes_twice_is_never_chosen_from(dataset):
    path = scan_file(dataset, "01", session="1", run="1")
    names = [*REGIONS, REGIONS[0]]
    path.write_text("\t".join(names) + "\n" + "1\t2\t3\t4\t5\n" * 3)
    with pytest.raises(InputError, match=f"5 regions, expected 4: has also {REGIONS[0]}"):
        read_bids(dataset).to_cohort(window=5, stride=5)


def test_missing_and_extra_participants(dataset, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("subject,group\n02,b\n03,c\n")
    scans = read_bids(dataset, labels=table)
    assert {scan.subject for scan in scans} == {"sub-02"}
    with pytest.raises(InputError, match=r"without a row.*\(4\).*sub-01"):
        scans.to_cohort(window=5, stride=5)
    cohort = scans.to_cohort(window=5, stride=5, on_bad="skip")
    assert cohort.samples["group"].unique().tolist() == ["b"]


def test_labels_of_the_derivative_come_first(dataset):
    (dataset / "participants.tsv").write_text("participant_id\tgroup\nsub-01\tp\nsub-02\tq\n")
    scans = read_bids(dataset)
    assert scans[0].metadata["group"] == "p"
    assert "diagnosis" not in scans[0].metadata


def test_table_of_an_unrelated_parent_is_not_used(tmp_path):
    (tmp_path / "participants.tsv").write_text("participant_id\tx\nother\t1\n")
    write_table(scan_file(tmp_path / "xcp_d", "a"), signals_of(1))
    assert "labels" not in read_bids(tmp_path / "xcp_d").provenance


def test_region_choice_by_name(dataset):
    scans = read_bids(dataset, regions=[REGIONS[2], REGIONS[0]])
    assert scans.regions == (REGIONS[2], REGIONS[0])
    np.testing.assert_array_equal(scans[0].load(), signals_of(111, 16).T[[2, 0]])


def test_nothing_found(dataset, tmp_path):
    with pytest.raises(NotFoundError, match="nowhere"):
        read_bids(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"give one of its derivatives: .*xcp_d"):
        read_bids(dataset.parent.parent)
    fmriprep = tmp_path / "fmriprep" / "sub-1" / "func"
    fmriprep.mkdir(parents=True)
    (fmriprep / "sub-1_task-rest_desc-confounds_timeseries.tsv").write_text("csf\n1\n")
    with pytest.raises(InputError, match="Expected region time series"):
        read_bids(tmp_path / "fmriprep")
