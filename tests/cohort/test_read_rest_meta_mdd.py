"""REST-meta-MDD: files laid out as in the release, down to the column."""

import h5py
import numpy as np
import openpyxl
import pytest
import scipy.io
from pipeline_trees import read_mdd

from sclcs._core import InputError, NotFoundError, UnknownNameError, UnreadableFileError
from sclcs.cohort.regions import region_set

N_TIMES = 12
IDS = ["S1-1-0001", "S15-1-0001", "S15-2-0003", "S20-1-0001", "S20-2-0251"]
LENGTHS = dict(zip(IDS, range(N_TIMES, N_TIMES + len(IDS)), strict=True))


def matrix_of(subject, n_columns=1833):
    """Return a matrix whose value says the column (from 1): column + something below one."""
    n_times = LENGTHS[subject]
    noise = np.random.default_rng(IDS.index(subject)).uniform(0, 0.9, size=(n_times, n_columns))
    return np.arange(1, n_columns + 1) + noise


def write_v5(path, matrix, name="ROISignals"):
    scipy.io.savemat(path, {name: matrix}, do_compression=True)


def write_v73(path, matrix, name="ROISignals"):
    """Write as MATLAB does: a 512-byte user block and the transposed matrix."""
    with h5py.File(path, "w", userblock_size=512) as file:
        stored = file.create_dataset(name, data=matrix.T)
        stored.attrs["MATLAB_class"] = np.bytes_("double")
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    with path.open("r+b") as file:
        file.write(header)


@pytest.fixture
def release(tmp_path):
    """The release as unpacked: Results, two variants, other outputs of DPABI beside the signals."""
    root = tmp_path / "REST-meta-MDD-Phase1-Sharing"
    for variant, shift in (("FunImgARglobalCWF", 0), ("FunImgARCWF", 500)):
        folder = root / "Results" / f"ROISignals_{variant}"
        folder.mkdir(parents=True)
        for subject in IDS:
            write = write_v73 if subject.startswith("S20") else write_v5
            write(folder / f"ROISignals_{subject}.mat", matrix_of(subject) + shift)
        write_v5(folder / f"ROICorrelation_{IDS[0]}.mat", np.eye(3), "ROICorrelation")
    return root


@pytest.fixture
def phenotype(tmp_path):
    """The consortium's workbook: a sheet of patients, a sheet of controls with fewer columns."""
    book = openpyxl.Workbook()
    book.active.title = "MDD"
    patients = [
        ["ID", "Sex", "Age", "Education (years)", "If first episode?", "HAMD"],
        ["S1-1-0001", 2, 33, 12, 1, 24],
        ["S15-1-0001", 1, 41, 9, -9999, "[]"],
        ["S20-1-0001", 2, 28.5, 16, -1, 21],
    ]
    controls = [
        ["ID", "Sex", "Age", "Education (years)"],
        ["S15-2-0003", 1, 39, 12],
        ["S20-2-0251", 2, 25, 15],
    ]
    sheet = book.create_sheet("Controls")
    for rows, target in ((patients, book.active), (controls, sheet)):
        for row in rows:
            target.append(row)
    path = tmp_path / "REST-meta-MDD-PhenotypicData_WithHAMDSubItem_V4.xlsx"
    book.save(path)
    return path


def write_csv(path, *rows):
    path.write_text("\n".join(rows) + "\n")
    return path


def test_the_papers_regions_by_default(release):
    scans = read_mdd(release, tr=2)
    assert [scan.scan_id for scan in scans] == IDS
    assert scans.regions == region_set("dosenbach-dmn33").names
    assert scans.tr == 2.0
    for scan in scans:
        matrix = matrix_of(scan.subject)
        signals = scan.signals()
        assert signals.shape == (33, LENGTHS[scan.subject])
        for row, number in enumerate(region_set("dosenbach-dmn33").numbers):
            expected = matrix[:, 1408 + number - 1].astype(np.float32)
            np.testing.assert_array_equal(signals[row], expected)
            assert int(signals[row, 0]) == 1408 + number  # the column, counted from 1


def test_facts_come_from_the_ids(release):
    facts = {scan.subject: dict(scan.metadata) for scan in read_mdd(release)}
    assert facts["S1-1-0001"] == {"site": "1", "diagnosis": "MDD"}
    assert facts["S20-2-0251"] == {"site": "20", "diagnosis": "HC"}


@pytest.mark.parametrize("path", [".", "Results", "Results/ROISignals_FunImgARCWF"])
def test_variant_is_found_from_any_level(release, path):
    scans = read_mdd(release / path, variant="FunImgARCWF")
    assert int(scans[0].signals()[0, 0]) == 500 + 1409
    options = scans.provenance["options"]
    assert scans.provenance["reader"] == "rest-meta-mdd"
    assert options["variant"] == "FunImgARCWF"
    assert options["atlas"] == "dosenbach"
    assert options["regions"] == "dosenbach-dmn33"


def test_release_inside_another_folder(release):
    assert len(read_mdd(release.parent)) == len(IDS)


def test_missing_variant_lists_those_present(release):
    with pytest.raises(NotFoundError, match=r"'FunImgXYZ'.*found FunImgARCWF, FunImgARglobalCWF"):
        read_mdd(release, variant="FunImgXYZ")
    folder = release / "Results/ROISignals_FunImgARCWF"
    with pytest.raises(NotFoundError, match="found FunImgARCWF; choose one"):
        read_mdd(folder)
    (folder / "empty").mkdir()
    with pytest.raises(NotFoundError, match=r"no folder ROISignals_\*"):
        read_mdd(folder / "empty")


@pytest.mark.parametrize(
    ("atlas", "size", "first", "last"),
    [
        ("aal", 116, 1, 116),
        ("harvard-oxford-cortical", 96, 117, 212),
        ("harvard-oxford-subcortical", 16, 213, 228),
        ("craddock", 200, 229, 428),
        ("zalesky", 980, 429, 1408),
        ("global", 1, 1569, 1569),
        ("power", 264, 1570, 1833),
    ],
)
def test_other_atlases(release, atlas, size, first, last):
    scans = read_mdd(release, atlas=atlas, sites=["20"])
    signals = scans[0].signals()
    assert len(scans.regions) == len(signals) == size == last - first + 1
    assert (int(signals[0, 0]), int(signals[-1, 0])) == (first, last)
    assert scans.regions[0] == f"{atlas}_001"


def test_regions_of_an_atlas_by_name(release):
    scans = read_mdd(release, atlas="aal", regions="aal_116,aal_007")
    assert [int(row[0]) for row in scans[0].signals()] == [116, 7]
    whole = read_mdd(release, regions="all")
    assert whole.regions == region_set("dosenbach-160").names
    with pytest.raises(InputError, match="all 160 regions of the dosenbach atlas"):
        read_mdd(release, atlas="aal", regions="dosenbach-dmn33")
    with pytest.raises(UnknownNameError, match="Unknown atlas 'yeo'; known ones are aal"):
        read_mdd(release, atlas="yeo")


def test_phenotype_workbook_is_joined(release, phenotype):
    scans = read_mdd(release, labels=phenotype)
    assert not scans.problems
    facts = {scan.subject: dict(scan.metadata) for scan in scans}
    assert facts["S20-1-0001"] == {
        "site": "20",
        "diagnosis": "MDD",
        "sex": 2,
        "age": 28.5,
        "education_years": 16,
        "if_first_episode": -1,
        "hamd": 21,
    }
    assert facts["S15-1-0001"]["if_first_episode"] is None  # -9999
    assert facts["S15-1-0001"]["hamd"] is None  # []
    assert facts["S15-2-0003"]["hamd"] is None  # no such column in the sheet
    cohort = scans.to_cohort(window=6, stride=6)
    assert cohort.samples.loc["S20-2-0251_w1", "age"] == 25.0


def test_sites_apply_to_scans_and_table(release, phenotype):
    scans = read_mdd(release, labels=phenotype, sites=["15", "20"])
    assert [scan.subject for scan in scans] == IDS[1:]
    assert not scans.problems
    assert scans.provenance["options"]["sites"] == ["15", "20"]
    assert len(read_mdd(release, sites="S15,20")) == 4
    with pytest.raises(UnknownNameError, match=r"Unknown sites: 17.*has 1, 15, 20"):
        read_mdd(release, sites="15,17,20")


def test_csv_with_site_and_group_that_agree(release, tmp_path):
    rows = ["SubID,Site,Dx,Age"]
    rows += [f"{i},{i[1:].split('-')[0]},{1 if '-1-' in i else -1},30" for i in IDS]
    scans = read_mdd(release, labels=write_csv(tmp_path / "info.csv", *rows))
    assert dict(scans[2].metadata) == {"site": "15", "diagnosis": "HC", "age": 30}


def test_csv_that_contradicts_the_ids(release, tmp_path):
    path = write_csv(
        tmp_path / "info.csv",
        "SubID,Site,Group",
        "S1-1-0001,1,MDD",
        "S15-1-0001,16,MDD",
        "S15-2-0003,15,1",
    )
    with pytest.raises(InputError, match=r"S15-1-0001 \(site 16\), S15-2-0003 \(Group 1\)"):
        read_mdd(release, labels=path)


def test_missing_and_extra_rows(release, tmp_path):
    rows = ["ID,Age", *(f"{subject},30" for subject in IDS[1:]), "S21-2-0009,30"]
    scans = read_mdd(release, labels=write_csv(tmp_path / "info.csv", *rows))
    found = [(problem.kind, problem.where) for problem in scans.problems]
    assert found == [("missing-label", "S1-1-0001"), ("extra-label", "S21-2-0009")]
    assert scans.to_cohort(window=6, stride=6, on_bad="skip").n_subjects == 4


def test_ids_of_another_form(release, tmp_path):
    path = write_csv(tmp_path / "info.csv", "ID,Age", "S1-1-0001,30", "S1-3-0001,30", "p7,30")
    with pytest.raises(InputError, match="found S1-3-0001, p7"):
        read_mdd(release, labels=path)
    write_csv(tmp_path / "twice.csv", "ID,Age", "S1-1-0001,30", "S1-1-0001,31")
    with pytest.raises(InputError, match="repeated: S1-1-0001"):
        read_mdd(release, labels=tmp_path / "twice.csv")
    folder = release / "Results/ROISignals_FunImgARglobalCWF"
    write_v5(folder / "ROISignals_sub01.mat", np.eye(3))
    with pytest.raises(InputError, match=r"S20-1-0001\.mat .*found ROISignals_sub01\.mat"):
        read_mdd(release)


def test_folder_without_signals(tmp_path):
    (tmp_path / "ROISignals_FunImgARglobalCWF").mkdir()
    with pytest.raises(NotFoundError, match=r"ROISignals_<SubID>\.mat"):
        read_mdd(tmp_path)
    with pytest.raises(NotFoundError, match="nowhere"):
        read_mdd(tmp_path / "nowhere")


@pytest.mark.parametrize("subject", ["S15-1-0001", "S20-1-0001"], ids=["v5", "v7.3"])
@pytest.mark.parametrize("damage", ["truncated", "empty", "text", "header only"])
def test_damaged_files_cost_one_scan(release, subject, damage):
    path = release / f"Results/ROISignals_FunImgARglobalCWF/ROISignals_{subject}.mat"
    whole = path.read_bytes()
    path.write_bytes(
        {
            "truncated": whole[: len(whole) // 2],
            "empty": b"",
            "text": b"not a MATLAB file, " * 20,
            "header only": whole[:128],
        }[damage]
    )
    scans = read_mdd(release)
    with pytest.raises(UnreadableFileError, match=rf"{subject} \(Expected .*{path.name}"):
        scans.to_cohort(window=6, stride=6)
    cohort = scans.to_cohort(window=6, stride=6, on_bad="skip")
    assert cohort.n_subjects == len(IDS) - 1
    assert cohort.provenance["excluded"][0]["kind"] == "unreadable"


@pytest.mark.parametrize("write", [write_v5, write_v73], ids=["v5", "v7.3"])
@pytest.mark.parametrize(
    ("name", "n_columns", "message"),
    [
        ("Signals", 1833, "Expected a variable ROISignals in .* found Signals"),
        ("ROISignals", 116, r"at least 1568 columns .*dosenbach is 1409 to 1568.* found 116"),
    ],
)
def test_files_of_another_content(release, write, name, n_columns, message):
    folder = release / "Results/ROISignals_FunImgARglobalCWF"
    write(folder / f"ROISignals_{IDS[0]}.mat", matrix_of(IDS[0], n_columns), name)
    with pytest.raises(UnreadableFileError, match=message):
        read_mdd(release).to_cohort(window=6, stride=6)


def test_older_scans_without_power_are_named(release):
    folder = release / "Results/ROISignals_FunImgARglobalCWF"
    write_v5(folder / f"ROISignals_{IDS[0]}.mat", matrix_of(IDS[0], 1568))
    assert len(read_mdd(release).to_cohort(window=6, stride=6)) == 10
    with pytest.raises(UnreadableFileError, match=r"\(1\): S1-1-0001 .*found 1568"):
        read_mdd(release, atlas="power").to_cohort(window=6, stride=6)


def test_region_outside_the_field_of_view_is_named(release):
    matrix = matrix_of(IDS[0])
    matrix[:, 1408 + 137 - 1] = 0
    folder = release / "Results/ROISignals_FunImgARglobalCWF"
    write_v5(folder / f"ROISignals_{IDS[0]}.mat", matrix)
    with pytest.raises(InputError, match=r"S1-1-0001 \(occipital_137\)"):
        read_mdd(release).to_cohort(window=6, stride=6)
