"""Motion: from files beside the scans, from tables, under one name; and a limit on it."""

import numpy as np
import pytest
from pipeline_trees import read_bids

from sclcs._core import InputError, UnreadableFileError
from sclcs.cohort.build import without_motion
from sclcs.cohort.labels import attach_labels, read_label_table, with_mean_fd
from sclcs.cohort.scans import Scan, Scans


@pytest.fixture
def derivative(tmp_path):
    """Three subjects: motion by XCP-D, by fMRIPrep's confounds, and unknown."""
    rng = np.random.default_rng(0)
    for number in (1, 2, 3):
        folder = tmp_path / f"sub-0{number}" / "func"
        folder.mkdir(parents=True)
        rows = "\n".join("\t".join(f"{v:.4f}" for v in row) for row in rng.normal(size=(30, 2)))
        name = folder / f"sub-0{number}_task-rest_space-MNI_seg-A_stat-mean_timeseries.tsv"
        name.write_text(f"left\tright\n{rows}\n")
    moved = "framewise_displacement\n0.0\n0.2\n0.4\n"
    (tmp_path / "sub-01/func/sub-01_task-rest_motion.tsv").write_text(moved)
    (tmp_path / "sub-01/func/sub-01_task-other_motion.tsv").write_text(moved.replace("0.4", "9"))
    confounds = "csf\tframewise_displacement\n1.0\tn/a\n1.0\t0.5\n2.0\t0.7\n"
    (tmp_path / "sub-02/func/sub-02_task-rest_desc-confounds_timeseries.tsv").write_text(confounds)
    return tmp_path


def test_motion_is_read_from_files_beside_the_scan(derivative):
    scans = read_bids(derivative)
    assert [scan.metadata["mean_fd"] for scan in scans] == pytest.approx([0.2, 0.6, None])
    kept = without_motion(scans, 0.5)
    assert [scan.subject for scan in kept] == ["sub-01"]
    found = {p.where: p.detail for p in kept.problems if p.kind == "high-motion"}
    assert found["sub-02_task-rest"] == "mean_fd 0.6 mm, limit 0.5 mm"
    assert found["sub-03_task-rest"] == "mean_fd unknown, limit 0.5 mm"
    cohort = kept.to_cohort()  # asked for, so no error
    assert [row["kind"] for row in cohort.provenance["excluded"]] == ["high-motion"] * 2
    assert cohort.samples["mean_fd"].dtype == np.float64


def test_tables_of_phenotypes_name_it_in_many_ways(tmp_path):
    assert with_mean_fd({"MeanFD": 1.0, "func_mean_fd": 2.0}) == {
        "mean_fd": 1.0,
        "func_mean_fd": 2.0,
    }
    assert with_mean_fd({"mean_fd": 1.0, "MeanFD": 2.0}) == {"mean_fd": 1.0, "MeanFD": 2.0}
    assert with_mean_fd({"fdr": 0.1}) == {"fdr": 0.1}
    (tmp_path / "p.csv").write_text("subject,func_mean_fd\na,0.25\nb,n/a\n")
    scans = Scans([Scan(n, n, lambda: np.zeros((2, 9))) for n in "ab"], ["x", "y"])
    labelled = attach_labels(scans, read_label_table(tmp_path / "p.csv"))
    assert [scan.metadata for scan in labelled] == [{"mean_fd": 0.25}, {"mean_fd": None}]


def test_bad_motion_is_said(tmp_path, derivative):
    path = tmp_path / "sub-01/func/sub-01_task-rest_motion.tsv"
    path.write_text("framewise_displacement\nmuch\n")
    with pytest.raises(UnreadableFileError, match="Expected numbers in the column framewise"):
        read_bids(derivative)
    path.write_text("rmsd\n0.1\n")
    assert read_bids(derivative)[0].metadata["mean_fd"] is None
    with pytest.raises(InputError, match="`max_fd` must be a number above 0"):
        read_bids(derivative).to_cohort(max_fd=0.0)
    scans = Scans([Scan("a", "a", lambda: np.zeros((2, 9)))], ["x", "y"])
    with pytest.raises(InputError, match="no scan has it"):
        without_motion(scans, 0.5)
