"""UK Biobank's tables, region x time."""

import gzip

import numpy as np
import pytest
from pipeline_trees import REGIONS, read_ukb, series, write_ukb

from sclcs._core import InputError, UnknownNameError


def test_participants_instances_and_labels(tmp_path):
    (tmp_path / "labels.csv").write_text("eid,sex\n1000012,0\n1000027,1\n")
    scans = read_ukb(write_ukb(tmp_path / "bulk"), labels=tmp_path / "labels.csv")
    assert scans.regions == REGIONS
    assert scans.tr == 0.735
    assert [(scan.subject, scan.metadata["session"]) for scan in scans] == [
        ("1000012", "2"), ("1000012", "3"), ("1000027", "2"),
    ]  # fmt: skip
    assert [scan.metadata["sex"] for scan in scans] == [0, 0, 1]
    np.testing.assert_allclose(scans[2].signals(), series(2).T, rtol=1e-6)
    assert len(read_ukb(tmp_path / "bulk", session="2")) == 2


def test_several_atlases_and_mistakes(tmp_path):
    root = write_ukb(write_ukb(tmp_path / "bulk"), atlas="Schaefer7n100p")
    with pytest.raises(
        InputError, match=r"found 2: Schaefer7n100p \(3 scans\), Tian_Subcortex_S1_3T"
    ):
        read_ukb(root)
    with pytest.raises(UnknownNameError, match="no atlas 'AAL'"):
        read_ukb(root, atlas="AAL")
    with pytest.raises(UnknownNameError, match="no session 9 here; choose one of 2, 3"):
        read_ukb(root, atlas="Schaefer7n100p", session="9")
    with pytest.raises(InputError, match="<id>_<instance>/fMRI"):
        read_ukb(tmp_path / "bulk" / "1000012_2")


def test_a_table_of_another_kind_is_named(tmp_path):
    root = write_ukb(tmp_path / "bulk")
    path = root / "1000027_2" / "fMRI" / "fMRI.Tian_Subcortex_S1_3T.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n"))
    with pytest.raises(InputError, match=r"1000027_2.*first column names the regions"):
        read_ukb(root).to_cohort(window=20, stride=10)
