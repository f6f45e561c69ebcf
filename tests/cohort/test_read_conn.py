"""CONN projects: cell arrays in MATLAB files of both formats."""

import numpy as np
import pytest
from pipeline_trees import read_conn, write_conn

from sclcs._core import InputError, UnknownNameError, UnreadableFileError
from sclcs.cohort import read_scans


def expected(number):
    rng = np.random.default_rng(number)
    sizes = [1, 16, 1, 1, 1, 1]
    return np.concatenate([rng.normal(size=(40, n)) for n in sizes], axis=1)[:, [18, 19, 20]].T


@pytest.mark.parametrize("version", ["v5", "v7.3"])
def test_regions_without_tissues_and_time_points_of_the_condition(tmp_path, version):
    scans = read_conn(write_conn(tmp_path, version=version), atlas="all", tr=2.0)
    assert scans.regions == ("atlas.PCC", "atlas.MPFC", "networks.DMN.LP")
    assert [scan.subject for scan in scans] == ["Subject001", "Subject002", "Subject003"]
    for number, scan in enumerate(scans, start=1):
        np.testing.assert_allclose(scan.signals(), expected(number)[:, :35], rtol=1e-6)
    whole = read_conn(tmp_path / "conn_study", atlas="all", condition="0", regions="atlas.*")
    np.testing.assert_allclose(whole[1].signals(), expected(2)[:2], rtol=1e-6)


def test_conditions_by_name_and_number(tmp_path):
    project = write_conn(tmp_path, conditions=(0, 1, 2))
    with pytest.raises(InputError, match=r"found 2: 1 \(rest\), 2 \(task\); choose"):
        read_conn(project, atlas="all")
    assert (
        read_conn(project, atlas="all", condition="task").provenance["options"]["condition"]
        == "002"
    )
    assert len(read_conn(project / "results" / "preprocessing", atlas="all", condition="1")) == 3
    with pytest.raises(UnknownNameError, match=r"no condition 'sleep'.*rest, task"):
        read_conn(project, atlas="all", condition="sleep")


@pytest.mark.parametrize("ids", [("1", "2", "3"), ("Subject001", "Subject002", "Subject003")])
def test_labels_by_number_or_name(tmp_path, ids):
    project = write_conn(tmp_path)
    rows = [f"{name},{site}" for name, site in zip(ids, "ABA", strict=True)]
    (tmp_path / "labels.csv").write_text("\n".join(["subject,site", *rows]))
    scans = read_conn(project, atlas="all", labels=tmp_path / "labels.csv")
    assert [scan.metadata["site"] for scan in scans] == ["A", "B", "A"]


def test_files_of_several_projects_in_one_folder_and_one_file(tmp_path):
    names = []
    for group in ("HC", "TBI_tp1"):
        project = write_conn(tmp_path / group, 1, conditions=(0,))
        path = project / "results" / "preprocessing" / "ROI_Subject001_Condition000.mat"
        names.append(path.rename(tmp_path / f"{group}_{path.name}"))
    scans = read_conn(tmp_path, atlas="atlas")
    assert [scan.subject for scan in scans] == ["HC_Subject001", "TBI_tp1_Subject001"]
    (scan,) = read_scans(names[1], atlas="networks")  # its name says what it is
    assert scan.signals().shape == (1, 40)


def test_what_goes_wrong_is_named(tmp_path):
    with pytest.raises(InputError, match="after its denoising step"):
        read_conn(tmp_path)
    project = write_conn(tmp_path)
    path = project / "results" / "preprocessing" / "ROI_Subject002_Condition001.mat"
    path.write_bytes(path.read_bytes()[:500])
    scans = read_conn(project, atlas="all")
    with pytest.raises(UnreadableFileError, match="Subject002"):
        scans.to_cohort(window=20, stride=10)
    assert len(scans.to_cohort(window=20, stride=10, on_bad="skip")) == 2 * 2
