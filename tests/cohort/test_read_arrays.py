"""The arrays reader: values of named scans and regions, and every kind of bad file."""

from pathlib import Path

import numpy as np
import pytest
from pipeline_trees import read_arrays

from sclcs._core import InputError, NotFoundError, UnknownNameError, UnreadableFileError

REAL_COHORT = Path(__file__).parents[2].parent / "shared/data/abide_dos160_dmn33.npz"

# Unequal sizes, so that swapped axes cannot pass.
N_SCANS, N_TIMES, N_REGIONS = 4, 23, 5
NAMES = ["vmPFC", "ACC", "IPL", "IPS", "precuneus"]


@pytest.fixture
def cube():
    """Signals (scan, time, region) without two equal values."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(N_SCANS, N_TIMES, N_REGIONS)).astype(np.float32)


def save_npz(path, cube, **more):
    np.savez_compressed(path, timeseries=cube, **more)
    return path


# npz


def test_npz_with_everything(tmp_path, cube):
    path = save_npz(
        tmp_path / "cohort.npz",
        cube,
        n_timepoints=np.array([23, 20, 21, 22], dtype=np.int16),
        roi_names=np.array(NAMES),
        roi_mean=np.ones((N_SCANS, N_REGIONS)),
        subject=np.array(["0012", "0013", "0013", "0014"]),
        file_id=np.array(["x1", "x2", "x3", "x4"]),
        diagnosis=np.array(["MDD", "HC", "HC", ""]),
        age=np.array([24.45, 30, np.nan, 51], dtype=np.float32),
        qc_pass=np.array([True, True, False, True]),
        session=np.array([1, 1, 2, 1], dtype=np.int8),
        tr=np.full(N_SCANS, 2.2, dtype=np.float32),
        source=np.array("somewhere"),
    )
    scans = read_arrays(path)
    assert scans.regions == tuple(NAMES)
    assert [scan.scan_id for scan in scans] == ["x1", "x2", "x3", "x4"]
    assert [scan.subject for scan in scans] == ["0012", "0013", "0013", "0014"]
    assert scans.tr == 2.2
    assert scans[0].metadata == {
        "diagnosis": "MDD",
        "age": 24.45,
        "qc_pass": True,
        "session": 1,
        "tr": 2.2,
    }
    assert type(scans[0].metadata["session"]) is int
    assert type(scans[0].metadata["qc_pass"]) is bool
    assert scans[2].metadata["age"] is None
    assert scans[3].metadata["diagnosis"] is None
    assert scans[1].signals().shape == (N_REGIONS, 20)  # padding is never read
    np.testing.assert_array_equal(scans[1].signals()[2], cube[1, :20, 2])
    assert scans.provenance["reader"] == "arrays"
    assert scans.provenance["source"] == str(path)


def test_npz_padding_may_hold_anything(tmp_path, cube):
    cube[0, 20:] = np.nan
    path = save_npz(tmp_path / "padded.npz", cube, n_timepoints=np.array([20, 23, 23, 23]))
    assert len(read_arrays(path).to_cohort(window=10, stride=10)) == 8


def test_npz_regions_by_name_and_other_layout(tmp_path, cube):
    turned = cube.transpose(0, 2, 1)
    path = tmp_path / "turned.npz"
    np.savez(path, X=turned, region_names=np.array(NAMES), subjects=np.arange(7, 7 + N_SCANS))
    scans = read_arrays(path, layout="region-time", regions="IPS,ACC", tr=2)
    assert scans.regions == ("IPS", "ACC")
    assert scans.tr == 2.0
    assert scans[3].subject == "10"
    np.testing.assert_array_equal(scans[3].signals(), cube[3][:, [3, 1]].T)


def test_npz_signals_are_found_or_named(tmp_path, cube):
    np.savez(tmp_path / "one.npz", mine=cube, other=cube[0])
    np.testing.assert_array_equal(read_arrays(tmp_path / "one.npz")[1].signals(), cube[1].T)
    np.savez(tmp_path / "two.npz", mine=cube, yours=2 * cube)
    with pytest.raises(UnknownNameError, match=r"found mine, yours; name the array with --key"):
        read_arrays(tmp_path / "two.npz")
    scans = read_arrays(tmp_path / "two.npz", key="yours")
    np.testing.assert_array_equal(scans[1].signals(), 2 * cube[1].T)
    assert scans[1].scan_id == "scan-0002"
    with pytest.raises(UnknownNameError, match="no array 'ours'"):
        read_arrays(tmp_path / "two.npz", key="ours")


def test_npz_mixed_tr_stays_a_fact(tmp_path, cube):
    path = save_npz(tmp_path / "c.npz", cube, tr=np.array([2.0, 2.0, 2.5, 2.0]))
    scans = read_arrays(path)
    assert scans.tr is None
    assert scans[2].metadata["tr"] == 2.5
    assert read_arrays(save_npz(tmp_path / "d.npz", cube, tr=np.array(1.5))).tr == 1.5


def test_npz_scans_of_one_subject_get_ids(tmp_path, cube):
    path = save_npz(tmp_path / "c.npz", cube, subject=np.array(["a", "b", "b", "c"]))
    ids = [scan.scan_id for scan in read_arrays(path)]
    assert ids == ["a", "b_scan-1", "b_scan-2", "c"]


def test_npz_with_a_label_table(tmp_path, cube):
    path = save_npz(tmp_path / "c.npz", cube, subject=np.array(["1", "2", "3", "4"]))
    (tmp_path / "labels.csv").write_text("participant_id,site\nsub-04,B\nsub-01,A\nsub-02,A\n")
    scans = read_arrays(path, labels=tmp_path / "labels.csv")
    assert [(scan.subject, scan.metadata["site"]) for scan in scans] == [
        ("1", "A"),
        ("2", "A"),
        ("4", "B"),
    ]
    assert [(p.kind, p.where) for p in scans.problems] == [("missing-label", "3")]
    np.testing.assert_array_equal(scans[2].signals(), cube[3].T)
    cohort = scans.to_cohort(window=10, stride=10, on_bad="skip")
    assert cohort.n_subjects == 3
    assert cohort.provenance["excluded"][0]["where"] == "3"


def test_npz_duplicate_ids_are_named(tmp_path, cube):
    path = save_npz(tmp_path / "c.npz", cube, file_id=np.array(["a", "b", "b", "c"]))
    with pytest.raises(InputError, match=r"more than one scan.*b \(2 scans\)"):
        read_arrays(path).to_cohort(window=10, stride=10, on_bad="skip")


def test_npz_not_finite_is_named(tmp_path, cube):
    cube[2, 4, 1] = np.nan
    scans = read_arrays(save_npz(tmp_path / "c.npz", cube, roi_names=np.array(NAMES)))
    with pytest.raises(InputError, match=r"NaN or infinite.*scan-0003 \(ACC\)"):
        scans.to_cohort(window=10, stride=10)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"roi_names": np.array(NAMES[:3])}, "Expected 5 region names .* found 3; correct"),
        ({"roi_names": np.arange(N_TIMES)}, "found 23; choose the other --layout"),
        ({"n_timepoints": np.array([23, 99, 23, -1])}, "found 99 at row 1, -1 at row 3"),
        ({"n_timepoints": np.array([23])}, "found 1 for 4 scans"),
        ({"subject": np.array(["a", "b"])}, "found 2 for 4 scans"),
        ({"subject": np.array(["a", "b", "", "d"])}, "empty in row 2"),
    ],
)
def test_npz_that_contradicts_itself(tmp_path, cube, more, message):
    with pytest.raises(InputError, match=message):
        read_arrays(save_npz(tmp_path / "c.npz", cube, **more), layout="time-region")


def test_npz_whose_region_names_fit_the_other_axis_is_turned(tmp_path, cube):
    turned = save_npz(tmp_path / "c.npz", cube.transpose(0, 2, 1), roi_names=np.array(NAMES))
    scans = read_arrays(turned)
    assert scans.regions == tuple(NAMES)
    np.testing.assert_array_equal(scans[1].signals(), cube[1].T)


def test_npz_with_a_pickle_is_never_opened(tmp_path, cube):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    path = save_npz(tmp_path / "c.npz", cube, diagnosis=np.array([Trap()] * N_SCANS))
    with pytest.raises(UnreadableFileError, match=r"pickled Python objects .*diagnosis"):
        read_arrays(path)
    np.save(tmp_path / "c.npy", np.array([Trap()]))
    with pytest.raises(UnreadableFileError, match="pickled Python objects"):
        read_arrays(tmp_path / "c.npy")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
@pytest.mark.parametrize("damage", ["truncated", "empty", "text"])
def test_damaged_array_files_are_named(tmp_path, cube, suffix, damage):
    path = tmp_path / f"cohort{suffix}"
    save_npz(path, cube) if suffix == ".npz" else np.save(path, cube)
    whole = path.read_bytes()
    path.write_bytes(
        {"truncated": whole[: len(whole) // 2], "empty": b"", "text": b"not an array"}[damage]
    )
    message = "truncated, damaged or of another"
    if (damage, suffix) == ("truncated", ".npy"):  # the header tells how much is missing
        message = "declares 1840 bytes of values, but only 984 are there; it is truncated"
    with pytest.raises(UnreadableFileError, match=rf"{path.name}.*{message}"):
        read_arrays(path)


def test_npz_with_one_damaged_byte_is_named(tmp_path, cube):
    path = save_npz(tmp_path / "c.npz", cube)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(UnreadableFileError, match=r"c\.npz"):
        read_arrays(path)


# npy


def test_npy_takes_the_rows_of_the_table_in_order(tmp_path, cube):
    np.save(tmp_path / "c.npy", cube)
    (tmp_path / "labels.tsv").write_text("subject\tsite\n01\tA\n02\tA\n02\tB\n03\tB\n")
    options = {"labels": tmp_path / "labels.tsv", "tr": 1.5}
    with pytest.raises(InputError, match=r"matched by their order only.*--by-position"):
        read_arrays(tmp_path / "c.npy", **options)
    scans = read_arrays(tmp_path / "c.npy", by_position=True, **options)
    assert [scan.subject for scan in scans] == ["01", "02", "02", "03"]
    assert [scan.metadata for scan in scans] == [{"site": s} for s in "AABB"]
    np.testing.assert_array_equal(scans[2].signals(), cube[2].T)
    assert len(scans.to_cohort(window=10, stride=10)) == 8


def test_npy_needs_one_row_per_scan(tmp_path, cube):
    np.save(tmp_path / "c.npy", cube)
    (tmp_path / "labels.csv").write_text("subject,site\n01,A\n")
    with pytest.raises(InputError, match="expected 4 rows, found 1"):
        read_arrays(tmp_path / "c.npy", labels=tmp_path / "labels.csv", by_position=True)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_matrix_is_one_scan(tmp_path, cube, suffix):
    path = tmp_path / f"c{suffix}"
    np.save(path, cube[0]) if suffix == ".npy" else np.savez(path, ts=cube[0], names=[1, 2])
    with pytest.raises(InputError, match="allow both"):
        read_arrays(path)
    (scan,) = read_arrays(path, layout="time-region")
    np.testing.assert_array_equal(scan.signals(), cube[0].T)
    np.save(tmp_path / "d.npy", cube[0, 0])
    with pytest.raises(InputError, match=r"3-D array of numbers .*\(5,\)"):
        read_arrays(tmp_path / "d.npy")


def test_nothing_to_read(tmp_path):
    with pytest.raises(NotFoundError, match="found none"):
        read_arrays(tmp_path)
    with pytest.raises(NotFoundError, match="nowhere"):
        read_arrays(tmp_path / "nowhere")
    (tmp_path / "a.doc").write_text("x")
    with pytest.raises(InputError, match=r"\.npz or \.npy file or a folder"):
        read_arrays(tmp_path / "a.doc")
    with pytest.raises(InputError, match=r"layout.*region-scan"):
        read_arrays(tmp_path, layout="region-scan")


# the real cohort


@pytest.mark.parametrize(
    ("stride", "truncate", "subjects", "windows", "sites"),
    [(35, 210, 307, 5, 7), (25, 145, 766, 4, 15)],
)
def test_the_real_cohort_imports(stride, truncate, subjects, windows, sites):
    if not REAL_COHORT.exists():
        pytest.skip(f"the real cohort is not at {REAL_COHORT}")
    scans = read_arrays(REAL_COHORT, regions="dosenbach-dmn33")
    assert len(scans) == 1035
    assert scans.table["diagnosis"].value_counts().to_dict() == {"TC": 530, "ASD": 505}
    cohort = scans.to_cohort(
        window=70, stride=stride, truncate=truncate, drop_first=1, on_bad="skip"
    )
    assert cohort.n_subjects == subjects
    assert (cohort.samples.groupby("subject").size() == windows).all()
    assert cohort.samples["site"].nunique() == sites
    with np.load(REAL_COHORT, allow_pickle=False) as real:
        row = int(np.flatnonzero(real["subject"] == cohort.samples["subject"].iloc[1])[0])
        start = 1 + stride
        expected = real["timeseries"][row, start : start + 70, 7]
    np.testing.assert_array_equal(np.asarray(cohort.signals[1, 7]), expected)
