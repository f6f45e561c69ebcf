"""Every layout goes from a fresh folder to a cohort in one command that recognises it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pipeline_trees import (
    REGIONS,
    series,
    write_conn,
    write_cpac,
    write_dpabi,
    write_fmriprep,
    write_gretna,
    write_halfpipe,
    write_hcp,
    write_own_mat,
    write_participants,
    write_ukb,
    write_xcp_d,
)
from scipy.io import savemat
from typer.testing import CliRunner

import sclcs
from sclcs import Cohort
from sclcs._core import InputError, NotFoundError
from sclcs.cli.main import app
from sclcs.cohort import describe_cohort, recognise
from sclcs.store import compute_store, export_matrices

REAL_CONN = Path("/work/shared/data/conn")


def imported(root, folder, *options):
    """Import a folder; return what was printed and the cohort."""
    out = root / "c.zarr"
    words = ["import", folder, "--out", out, *options]
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split()), Cohort.open(out)


LAYOUTS = {
    # what makes it, what it is taken for, options, scans, regions, sessions
    "xcp_d": (write_xcp_d, "regional series of a BIDS derivative", [], 4, 5, None),
    "cpac": (write_cpac, "BIDS derivative", ["--entity", "reg=aCompCor"], 2, 5, ["1"]),
    "halfpipe": (write_halfpipe, "BIDS derivative", ["--min-coverage", "0.1"], 2, 5, None),
    "conn": (write_conn, "a CONN project", ["--atlas", "atlas"], 3, 2, None),
    "hcp": (write_hcp, "the HCP tree", [], 4, 5, ["1", "2"]),
    "ukb": (write_ukb, "UK Biobank", [], 3, 5, ["2", "3"]),
    "dpabi": (write_dpabi, "one file per scan", [], 3, 5, None),
    "gretna": (write_gretna, "one file per scan", [], 2, 5, None),
    "own": (write_own_mat, "one file per scan", [], 3, 5, None),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_one_command_imports_a_layout(tmp_path, name):
    write, words, options, n_scans, n_regions, sessions = LAYOUTS[name]
    text, cohort = imported(tmp_path, write(tmp_path / name), *options)
    assert "is taken for" in text
    assert words in text
    assert len(cohort) == n_scans
    assert cohort.n_regions == n_regions
    if sessions is not None:
        assert sorted(cohort.samples["session"].unique()) == sessions
    expected = series(0, cohort.lengths[0])
    row = cohort.signals[0][:, : cohort.lengths[0]]
    if name not in {"conn", "cpac"}:
        np.testing.assert_allclose(row, expected.T, rtol=1e-5)


def test_the_data_set_above_a_derivative_will_do_and_brings_its_table(tmp_path):
    write_xcp_d(tmp_path / "study")
    (tmp_path / "study" / "code").mkdir()
    description = {"Name": "x", "GeneratedBy": [{"Name": "XCP-D"}]}
    path = tmp_path / "study" / "derivatives" / "xcp_d" / "dataset_description.json"
    path.write_text(json.dumps(description))
    text, cohort = imported(tmp_path, tmp_path / "study")
    assert "derivatives/xcp_d is taken for output of XCP-D" in text
    assert cohort.samples["diagnosis"].tolist() == ["MDD", "HC", "MDD", "HC"]


def test_matrices_of_xcp_d_go_back_under_its_names(tmp_path):
    cohort = sclcs.load(write_xcp_d(tmp_path / "study"))
    store = compute_store(cohort, tmp_path / "fc", spis="pearson")
    export_matrices(store, tmp_path / "derivative", "relmat")
    name = "sub-01_task-rest_space-fsLR_seg-4S156Parcels_stat-pearsoncorrelation_relmat.tsv"
    path = tmp_path / "derivative" / "sub-01" / "func" / name
    table = pd.read_csv(path, sep="\t", index_col="Node", na_values="n/a")
    np.testing.assert_allclose(
        table.to_numpy()[1, 0], np.corrcoef(series(0)[:, :2].T)[1, 0], rtol=1e-5
    )
    assert list(table.index) == list(table.columns) == list(REGIONS)


def test_several_things_are_listed_and_nothing_is_said(tmp_path):
    write_xcp_d(tmp_path / "study")
    write_ukb(tmp_path / "study" / "derivatives" / "ukb")
    with pytest.raises(InputError, match=r"ukb \(UK Biobank\), .*xcp_d \(regional.*--kind"):
        recognise(tmp_path / "study")
    dense = tmp_path / "100307/MNINonLinear/Results/rfMRI_REST1_LR/rfMRI.dtseries.nii"
    dense.parent.mkdir(parents=True)
    dense.write_bytes(b"")
    with pytest.raises(NotFoundError, match=r"dense CIFTI.*-cifti-parcellate"):
        recognise(tmp_path / "100307")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFoundError, match="CONN project: ROI_Subject"):
        recognise(tmp_path / "empty")
    with pytest.raises(InputError, match=r"--confounds is no option for regional series"):
        sclcs.load(tmp_path / "study" / "derivatives" / "xcp_d", confounds="simple")


def test_people_without_a_scan_and_a_parcel_few_lack_need_no_second_attempt(tmp_path):
    regions = [f"parcel-{k}" for k in range(12)]
    folder = write_xcp_d(tmp_path / "study", missing=("02",), regions=regions)
    write_participants(tmp_path / "study", ("01", "02", "03", "04", "05"))
    text, cohort = imported(tmp_path, folder)
    assert cohort.n_regions == 11
    assert "1 regions left out of all scans" in text
    assert "Rows of the label table without a scan (1)" in text
    assert "1 regions that some scans do not cover left out" in text
    assert "labels from participants.tsv" in text


def test_images_take_the_confounds_beside_them_and_say_so(tmp_path):
    pytest.importorskip("nilearn")
    folder = write_fmriprep(tmp_path / "study")
    with pytest.raises(InputError, match=r"need an atlas: --atlas schaefer100"):
        sclcs.load(folder)
    atlas = tmp_path / "study" / "atlas.nii.gz"
    text, cohort = imported(tmp_path, folder, "--atlas", atlas)
    assert "is taken for output of fMRIPrep" in text
    assert "white matter and CSF regressed out, high-pass by cosines" in text
    assert "repetition time 2 s" in text
    assert cohort.samples["volumes_removed"].tolist() == [0, 0]
    plain = sclcs.load(folder, atlas=atlas, confounds="none")
    assert not np.allclose(plain.signals, cohort.signals)
    assert "no nuisance signals removed" in describe_cohort(plain)["preparation"]
    for path in folder.rglob("*confounds_timeseries.tsv"):
        path.unlink()
    with pytest.raises(InputError, match=r"desc-confounds_timeseries\.tsv.*--confounds none"):
        sclcs.load(folder, atlas=atlas)


def test_sessions_of_conn_are_scans_of_their_own(tmp_path):
    project = write_conn(tmp_path, subjects=2, conditions=(0,), sessions=2)
    _, cohort = imported(tmp_path, project, "--atlas", "atlas", "--window", "15")
    assert cohort.samples["session"].tolist() == ["1", "2", "1", "2"]
    assert cohort.sample_ids[1] == "Subject001_ses-2_w0"
    whole = sclcs.load(project, atlas="atlas")
    assert whole.lengths.tolist() == [20] * 4
    np.testing.assert_array_equal(cohort.signals[1], whole.signals[1][:, :15])
    assert len(sclcs.load(project, atlas="atlas", session="2")) == 2
    with pytest.raises(InputError, match=r"atlas \(2 regions\), networks \(1 regions\)"):
        sclcs.load(project)


@pytest.mark.skipif(not REAL_CONN.exists(), reason="no real files of CONN here")
def test_real_files_of_conn(tmp_path):
    name = "ROI_Subject001_Condition000.mat"
    folder = tmp_path / "conn_tbi" / "results" / "preprocessing"
    folder.mkdir(parents=True)
    (folder / name).symlink_to(REAL_CONN / f"TBI_sch1000_{name}")
    with pytest.raises(InputError, match=r"Schaefer1000RSN7 \(1000 regions\), atlas \(132"):
        sclcs.load(tmp_path / "conn_tbi")
    text, cohort = imported(tmp_path, REAL_CONN, "--atlas", "atlas", "--tr", "2")
    assert "5 scans of 3 subjects" in text
    assert cohort.n_regions == 132
    who = cohort.samples["subject"] == "TBI_sch1000_Subject001"
    assert cohort.samples["session"][who].tolist() == ["1", "2", "3"]
    assert cohort.provenance["columns"]["session"]["kind"] == "classes"
    assert cohort.lengths.tolist() == [144] * 5


def test_a_mat_file_with_several_matrices_asks_for_its_variable(tmp_path):
    for number in range(3):
        values = series(number, 40 + number)
        content = {"before": values, "after": values[2:] + 1}
        savemat(tmp_path / f"s{number}.mat", content)
    with pytest.raises(InputError, match=r"before \(40 x 5\).*after \(38 x 5\).*--key"):
        sclcs.load(tmp_path)
    cohort = sclcs.load(tmp_path, key="after")
    assert cohort.lengths.tolist() == [38, 39, 40]
    np.testing.assert_allclose(cohort.signals[0][:, :38], series(0, 40)[2:].T + 1, rtol=1e-6)


def test_names_of_regions_tell_the_axis_of_a_mat_file(tmp_path):
    cohort = sclcs.load(write_own_mat(tmp_path / "own"))
    assert cohort.regions == REGIONS
    assert cohort.samples["subject"].tolist() == ["p01", "p02", "p03"]
    one = sclcs.load(tmp_path / "own" / "p02" / "roi.mat")
    np.testing.assert_array_equal(one.signals[0], cohort.signals[1][:, :31])


def test_runs_of_the_hcp_are_chosen_by_task_and_atlas(tmp_path):
    runs = ("rfMRI_REST1_LR", "rfMRI_REST2_RL", "tfMRI_WM_LR")
    root = write_hcp(tmp_path / "hcp", runs=runs)
    cohort = sclcs.load(root, task="rest")
    assert cohort.samples["run"].unique().tolist() == ["rfMRI_REST1_LR", "rfMRI_REST2_RL"]
    assert cohort.tr == pytest.approx(0.72)
    both = sclcs.load(root)
    assert both.samples["task"].tolist() == ["rest", "rest", "wm"] * 2
    assert "several tasks (rest, wm)" in both.provenance["notes"][0]
    other = next(root.rglob("*.ptseries.nii"))
    other.with_name(f"{other.parent.name}_Schaefer.ptseries.nii").write_bytes(other.read_bytes())
    with pytest.raises(InputError, match=r"Schaefer \(1 scans\)"):
        sclcs.load(root)


def test_the_kind_in_front_and_json_still_work(tmp_path):
    out = tmp_path / "c.zarr"
    words = ["cohort", "import", "ukb", write_ukb(tmp_path / "ukb"), "--out", out, "--json"]
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    facts = json.loads(done.output)
    assert facts["samples"] == 3
    assert "3 scans of 2 subjects" in facts["preparation"]
    assert sclcs.load(out).fingerprint == facts["fingerprint"]
    with pytest.raises(InputError, match="is a cohort already"):
        sclcs.load(out, window=10)
