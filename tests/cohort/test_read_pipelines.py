"""XCP-D, C-PAC, HALFpipe and HCP: trees as these pipelines leave them."""

import numpy as np
import pandas as pd
import pytest
from pipeline_trees import (
    REGIONS,
    compress,
    read_arrays,
    read_bids,
    series,
    write_cpac,
    write_halfpipe,
    write_hcp,
    write_ptseries,
    write_xcp_d,
)

from sclcs._core import InputError, UnknownNameError, UnreadableFileError
from sclcs.cohort.regions import choose_regions, drop_regions, drop_uncovered, parse_share


def values_of(scans):
    return [scan.signals() for scan in scans]


def test_xcp_d_tables_are_read_once_although_cifti_lies_beside(tmp_path):
    scans = read_bids(write_xcp_d(tmp_path / "study"))
    assert scans.regions == REGIONS
    assert scans.tr == 2.0
    assert [scan.metadata["diagnosis"] for scan in scans] == ["MDD", "HC", "MDD", "HC"]
    for number, found in enumerate(values_of(scans)):
        np.testing.assert_allclose(found, series(number).T, rtol=1e-6)


@pytest.mark.parametrize("left", [".ptseries.nii", ".tsv.gz"])
def test_xcp_d_cifti_and_compressed_tables_hold_the_same(tmp_path, left):
    folder = write_xcp_d(tmp_path / "study")
    for path in folder.glob("sub-*/func/*_timeseries.tsv"):
        if left == ".tsv.gz":
            compress(path)
        else:
            path.unlink()
    for path in folder.glob("sub-*/func/*.json"):
        path.unlink()
    scans = read_bids(folder)
    assert scans.regions == REGIONS
    assert scans.tr == (2.0 if left == ".ptseries.nii" else None), "CIFTI tells its own TR"
    np.testing.assert_allclose(scans[2].signals(), series(2).T, rtol=1e-6)


def test_a_cifti_file_of_something_else_is_named(tmp_path):
    import nibabel as nib
    from nibabel.cifti2 import Cifti2Image, ScalarAxis

    path = write_ptseries(tmp_path / "a.ptseries.nii", series(0))
    parcels = nib.load(path).header.get_axis(1)
    nib.save(Cifti2Image(np.ones((1, 5), np.float32), (ScalarAxis(["x"]), parcels)), path)
    with pytest.raises(UnreadableFileError, match="found ScalarAxis x ParcelsAxis"):
        read_arrays(tmp_path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(UnreadableFileError, match=r"CIFTI file in .*truncated, damaged"):
        read_arrays(tmp_path)


def test_hcp_runs_by_the_folders_of_their_files(tmp_path):
    scans = read_arrays(
        write_hcp(tmp_path / "hcp"),
        pattern="**/*.ptseries.nii",
        file_names="{subject}/MNINonLinear/Results/{run}/*",
    )
    assert scans.tr == pytest.approx(0.72)
    assert [scan.subject for scan in scans] == ["100307", "100307", "100408", "100408"]
    assert scans[1].metadata == {"run": "rfMRI_REST2_LR"}
    np.testing.assert_allclose(scans[3].signals(), series(11, 32).T, rtol=1e-6)
    assert scans.to_cohort().lengths.tolist() == [30, 32, 30, 32]


def test_cpac_sets_of_regressors_are_chosen_by_their_entity(tmp_path):
    folder = write_cpac(tmp_path)
    with pytest.raises(InputError, match=r"they differ in reg .*--entity reg=LABEL"):
        read_bids(folder)
    scans = read_bids(folder, atlas="CC200", entity={"reg": "aCompCor"}, tr=2.0)
    assert [scan.scan_id for scan in scans] == [
        f"sub-{s}_ses-1_task-rest_run-1" for s in ("0050952", "0050953")
    ]
    assert scans.regions == tuple("12345")
    np.testing.assert_allclose(scans[1].signals(), series(101).T, rtol=1e-6)


@pytest.mark.parametrize("ending", ["tsv", "txt"])
def test_halfpipe_tables_without_a_header(tmp_path, ending):
    scans = read_bids(write_halfpipe(tmp_path / "study", ending=ending))
    assert scans.tr == 2.0, "from the rate in the JSON"
    assert scans.regions == tuple(f"region-{k}" for k in range(5))
    assert scans[0].coverage()["region-3"] == pytest.approx(0.2)
    np.testing.assert_allclose(scans[1].signals(), series(1).T, rtol=1e-6)


def test_a_missing_participants_table_is_said_loudly_and_looked_for_one_folder_up(tmp_path, caplog):
    study = tmp_path / "study"
    folder = write_xcp_d(study)
    (study / "participants.tsv").rename(tmp_path / "elsewhere.tsv")
    with caplog.at_level("WARNING", logger="sclcs"):
        scans = read_bids(folder)
    assert f"there is no {folder}/participants.tsv or {study}/participants.tsv" in caplog.text
    assert "--labels" in scans.to_cohort(window=20, stride=10).provenance["notes"][0]
    moved = folder.rename(tmp_path / "xcp_d")  # not in a dataset any more
    (tmp_path / "elsewhere.tsv").rename(tmp_path / "participants.tsv")
    assert read_bids(moved)[0].metadata["diagnosis"] == "MDD"


# ---- regions that scans do not cover


def test_one_uncovered_parcel_is_left_out_for_everybody_and_recorded(tmp_path):
    scans = read_bids(write_xcp_d(tmp_path / "study", missing=("02", "03")))
    with pytest.raises(InputError, match=r"RH_Limbic_1.*--max-missing-subjects 5%"):
        scans.to_cohort(window=20, stride=10)
    kept = drop_uncovered(scans, most_subjects=0.25)
    assert "RH_Limbic_1" not in kept.regions
    cohort = kept.to_cohort(window=20, stride=10)
    assert cohort.n_subjects == 4
    assert cohort.provenance["coverage"]["regions_dropped"] == [
        {"region": "RH_Limbic_1", "subjects_missing": 2}
    ]
    np.testing.assert_allclose(cohort.signals[-1], series(3)[10:30, [0, 1, 2, 4]].T, rtol=1e-6)


def test_a_region_that_few_lack_costs_their_scans_instead(tmp_path):
    scans = read_bids(write_xcp_d(tmp_path / "study", missing=("02",)))
    kept = drop_uncovered(scans, most_subjects=1)
    assert kept.regions == REGIONS
    assert kept.to_cohort(window=20, stride=10, on_bad="skip").n_subjects == 3


def test_coverage_below_the_minimum_counts_as_missing(tmp_path):
    scans = read_bids(write_xcp_d(tmp_path / "study", low_coverage=("01",)))
    assert len(scans.to_cohort(window=20, stride=10)) == 8, "the signals themselves are fine"
    with pytest.raises(InputError, match=r"sub-01_task-rest \(RH_Default_1\)"):
        drop_uncovered(scans, min_coverage=0.5).to_cohort(window=20, stride=10)
    kept = drop_uncovered(scans, min_coverage=0.5, most_subjects=0.05)
    assert kept.regions == tuple(name for name in REGIONS if name != "RH_Default_1")


def test_a_scan_where_half_a_region_is_enough_stays(tmp_path):
    folder = write_xcp_d(tmp_path / "study", low_coverage=("01",))
    kept = drop_uncovered(read_bids(folder), min_coverage=0.2)
    assert len(kept.to_cohort(window=20, stride=10)) == 8


def test_mistakes_about_coverage(tmp_path):
    scans = read_bids(write_xcp_d(tmp_path / "study", missing=("01",)))
    with pytest.raises(InputError, match="at least 2 regions"):
        drop_uncovered(drop_regions(scans, "*_1"), min_coverage=1.0, most_subjects=0)
    for text in ("much", "120%", "-1", "1.5"):
        with pytest.raises(InputError, match="share of the subjects"):
            parse_share(text)
    table = next(tmp_path.glob("**/sub-01*_stat-coverage_bold.tsv"))
    table.write_text("a\tb\n1\t2\n")
    with pytest.raises(UnreadableFileError, match="columns Node and coverage"):
        drop_uncovered(scans, min_coverage=0.5)


def test_regions_by_pattern(tmp_path):
    scans = read_bids(write_xcp_d(tmp_path / "study"))
    assert choose_regions(scans, "*Default*,Hippocampus").regions == (
        "LH_Default_1", "RH_Default_1", "Hippocampus",
    )  # fmt: skip
    dropped = drop_regions(scans, ["*Limbic*", "LH_Vis_1"])
    assert dropped.regions == ("LH_Default_1", "RH_Default_1", "Hippocampus")
    assert dropped.provenance["regions_unwanted"] == ["LH_Vis_1", "RH_Limbic_1"]
    with pytest.raises(UnknownNameError, match=r"No region matches 'X\*'"):
        drop_regions(scans, "X*")
    with pytest.raises(UnknownNameError, match="Did you mean Hippocampus"):
        drop_regions(scans, "Hipocampus")
    with pytest.raises(InputError, match="drops all 5"):
        drop_regions(scans, "*")


def test_names_nearly_right_are_suggested(tmp_path):
    write_xcp_d(tmp_path / "study")
    cohort = read_bids(tmp_path / "study" / "derivatives" / "xcp_d").to_cohort(window=20, stride=10)
    with pytest.raises(UnknownNameError, match=r"Did you mean diagnosis\?"):
        cohort.labels("Diagnosys")
    labels = tmp_path / "labels.csv"
    pd.DataFrame({"participant": ["01"], "age": [3]}).to_csv(labels, index=False)
    with pytest.raises(UnknownNameError, match=r"Did you mean participant\?"):
        read_bids(tmp_path / "study/derivatives/xcp_d", labels=labels, id_column="particpant")
